package shell

import (
	"container/heap"
	"sync"
	"time"

	"lockstep/actors/core"
)

// Clock is where the present comes from. Cores see it only as core.Now beside a command.
type Clock interface {
	// Now is the present instant. Safe from any goroutine.
	Now() core.Now
	// Wake calls f once at or after at (mono ns), on a goroutine of the clock: f must not block.
	Wake(at int64, f func())
}

// RealClock reads the machine's clocks and keeps one goroutine for all timers of the process.
type RealClock struct {
	start time.Time
	kick  chan struct{}
	stop  chan struct{}
	done  chan struct{}

	mu     sync.Mutex
	timers timerHeap
}

// NewRealClock starts the clock's goroutine; Close ends it.
func NewRealClock() *RealClock {
	c := &RealClock{start: time.Now(), kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c
}

// Now is monotonic from the clock's start: a wall jump moves only Wall.
func (c *RealClock) Now() core.Now {
	t := time.Now()
	return core.Now{Mono: int64(t.Sub(c.start)) + 1, Wall: t.UnixMilli()}
}

// Wake implements Clock.
func (c *RealClock) Wake(at int64, f func()) {
	c.mu.Lock()
	first := c.timers.add(at, f)
	c.mu.Unlock()
	if first {
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
}

// Close ends the clock's goroutine. Timers that are not due are forgotten.
func (c *RealClock) Close() {
	close(c.stop)
	<-c.done
}

func (c *RealClock) run() {
	defer close(c.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.mu.Lock()
		due, next := c.timers.due(c.Now().Mono)
		c.mu.Unlock()
		for _, f := range due {
			f()
		}
		if len(due) > 0 {
			continue
		}
		wait := time.Hour
		if next != 0 {
			wait = time.Duration(next - c.Now().Mono)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-c.kick:
		case <-c.stop:
			return
		}
	}
}

// ManualClock moves only when told to. It fires timers on the caller's goroutine.
type ManualClock struct {
	mu     sync.Mutex
	now    core.Now
	timers timerHeap
}

// NewManualClock starts at the given instant.
func NewManualClock(start core.Now) *ManualClock { return &ManualClock{now: start} }

// Now implements Clock.
func (c *ManualClock) Now() core.Now {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Wake implements Clock. A timer that is already due waits for the next Advance.
func (c *ManualClock) Wake(at int64, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers.add(at, f)
}

// Advance moves both clocks by d and fires what became due, in order of time.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now.Mono += int64(d)
	c.now.Wall += d.Milliseconds()
	due, _ := c.timers.due(c.now.Mono)
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

type timer struct {
	at  int64
	seq uint64 // equal instants fire in the order they were asked for
	f   func()
}

type timerHeap struct {
	list []timer
	seq  uint64
}

func (h *timerHeap) Len() int { return len(h.list) }
func (h *timerHeap) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (h *timerHeap) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *timerHeap) Push(x any)    { h.list = append(h.list, x.(timer)) }
func (h *timerHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list[len(h.list)-1] = timer{}
	h.list = h.list[:len(h.list)-1]
	return last
}

// add reports whether the new timer is the next one to fire.
func (h *timerHeap) add(at int64, f func()) bool {
	h.seq++
	heap.Push(h, timer{at: at, seq: h.seq, f: f})
	return h.list[0].seq == h.seq
}

// due takes out what fires at or before now; next is the instant of the first that remains, 0 if none.
func (h *timerHeap) due(now int64) (fs []func(), next int64) {
	for len(h.list) > 0 && h.list[0].at <= now {
		fs = append(fs, heap.Pop(h).(timer).f)
	}
	if len(h.list) > 0 {
		next = h.list[0].at
	}
	return fs, next
}
