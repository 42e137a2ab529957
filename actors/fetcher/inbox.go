package fetcher

import "sync"

// inbox is what the outside tells one goroutine. put never blocks, because reply functions run on the
// goroutines of actors; what waits in it is bounded by what was asked.
type inbox struct {
	mu    sync.Mutex
	queue []any
	ready chan struct{}
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

func (b *inbox) put(m any) {
	b.mu.Lock()
	b.queue = append(b.queue, m)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue
	b.queue = nil
	return q
}
