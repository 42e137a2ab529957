package suites

import (
	"fmt"
	"sync"
	"time"
)

// progress says every quarter of a minute how far a suite is, and each failure at once.
type progress struct {
	name  string
	began time.Time
	quit  chan struct{}

	mu     sync.Mutex
	counts map[Outcome]int
	last   string
}

func newProgress(name string) *progress {
	p := &progress{name: name, began: time.Now(), quit: make(chan struct{}), counts: map[Outcome]int{}}
	go func() {
		tick := time.NewTicker(15 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.say()
			case <-p.quit:
				return
			}
		}
	}()
	return p
}

func (p *progress) ended(c Case) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[c.Outcome]++
	p.last = c.Name
	if c.Outcome == Failed {
		fmt.Printf("%-16s FAILED %s: %s\n", p.name, c.Name, c.Text)
	}
}

func (p *progress) say() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Printf("%-16s %4.0f s: %d passed, %d failed, %d skipped; last %s\n", p.name, time.Since(p.began).Seconds(), p.counts[Passed], p.counts[Failed],
		p.counts[Skipped], p.last)
}

func (p *progress) stop() { close(p.quit) }
