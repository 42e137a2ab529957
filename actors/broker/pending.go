package broker

import "sync"

// pending counts what must have ended before something else may begin. Unlike a sync.WaitGroup it may be raised again while
// somebody comes out of wait. The zero value counts nothing. Safe for concurrent use.
type pending struct {
	mu    sync.Mutex
	n     int
	ended chan struct{} // closed when n is 0 again; nil while nobody waits
}

func (p *pending) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n += n; p.n == 0 && p.ended != nil {
		close(p.ended)
		p.ended = nil
	}
}

func (p *pending) done() { p.add(-1) }

// any reports whether something is under way.
func (p *pending) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n > 0
}

// wait returns once nothing was under way at some instant after the call.
func (p *pending) wait() {
	p.mu.Lock()
	if p.n == 0 {
		p.mu.Unlock()
		return
	}
	if p.ended == nil {
		p.ended = make(chan struct{})
	}
	ended := p.ended
	p.mu.Unlock()
	<-ended
}
