package front

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Slot is the place of one reply in the order of its connection (D8). Handle is given one per request
// and completes it exactly once, at once or later and from any goroutine; nothing here blocks, so an
// actor may complete a slot on its own goroutine.
type Slot struct {
	ready chan struct{} // capacity 1: something to render, or a reason to look again

	mu      sync.Mutex
	render  func() (kmsg.Response, bool)
	outcome outcome
	closing bool
	unmuted bool // no quota may hold back the connection of this request

	rendered time.Duration // what the writer worked for this answer; the writer's own
	answer   int64         // charged for the records of this answer until it is written; the writer's own
	onClose  func()
}

type outcome uint8

const (
	answered outcome = iota
	silent           // acks=0: the client waits for nothing (compat-P09)
	hungUp           // the connection ends here
)

// NewSlot makes a slot outside of a connection: the simulator's way in.
func NewSlot() *Slot { return &Slot{ready: make(chan struct{}, 1)} }

// Reply completes the slot with a finished response.
func (s *Slot) Reply(r kmsg.Response) {
	s.Turn(func() (kmsg.Response, bool) { return r, true })
}

// Turn completes the slot with a function that is run when it is this slot's turn to be written, on
// the writer's goroutine. It may read from disk, and so a connection holds one large answer in memory
// however many it asked for. It returns false when there is nothing to say yet; then Look, or another
// Turn, makes it run again.
func (s *Slot) Turn(render func() (kmsg.Response, bool)) {
	s.mu.Lock()
	s.render = render
	s.mu.Unlock()
	s.Look()
}

// Look makes the writer run the slot's render function (again).
func (s *Slot) Look() {
	select {
	case s.ready <- struct{}{}:
	default: // already told
	}
}

// Silent completes the slot without an answer.
func (s *Slot) Silent() { s.finish(silent) }

// HangUp completes the slot by closing the connection: the only way to tell a client that asked for
// no answer that its request failed (compat-P09).
func (s *Slot) HangUp() { s.finish(hungUp) }

func (s *Slot) finish(o outcome) {
	s.mu.Lock()
	s.outcome = o
	s.render = func() (kmsg.Response, bool) { return nil, true }
	s.mu.Unlock()
	s.Look()
}

// OnClose registers what to undo when the connection goes away before the slot was answered: a parked
// fetch, a timer. It runs at once if that has happened already. One registration per slot.
func (s *Slot) OnClose(undo func()) {
	s.mu.Lock()
	closing := s.closing
	s.onClose = undo
	s.mu.Unlock()
	if closing {
		undo()
	}
}

// Wait blocks until the slot is completed and returns its response, nil for a silent one. ok is false
// when stop was closed first, or the slot hangs up.
func (s *Slot) Wait(stop <-chan struct{}) (r kmsg.Response, ok bool) {
	for {
		select {
		case <-s.ready:
		case <-stop:
			return nil, false
		}
		select {
		case <-stop:
			return nil, false // both were true: nothing begins for a client that has gone
		default:
		}
		s.mu.Lock()
		render, how := s.render, s.outcome
		s.mu.Unlock()
		if render == nil {
			continue
		}
		began := time.Now()
		r, done := render()
		s.rendered += time.Since(began)
		if done {
			return r, how != hungUp
		}
	}
}

// settled reports whether Wait would return without waiting for somebody else.
func (s *Slot) settled() bool { return len(s.ready) > 0 }

// abandon is called once, when no answer can be delivered any more.
func (s *Slot) abandon() {
	s.mu.Lock()
	s.closing = true
	undo := s.onClose
	s.mu.Unlock()
	if undo != nil {
		undo()
	}
}
