// Package wire carries TCP connections to one address and does to them what networks do: delay, slowness, silence in
// one direction, cuts in the middle of a frame, and, for NATS, lost messages. It lives in this process and needs no
// rights.
package wire

import (
	"fmt"
	"net"
	"sync"
	"time"

	"lockstep/clusterd/process"
)

// Way is a direction.
type Way int

const (
	Up   Way = iota // from whoever dialled the wire to the address behind it: requests
	Down            // back: answers
)

// Wire is one such line. Methods may be called from any goroutine and hold for every connection, present and future.
type Wire struct {
	at, to string
	filter Filter

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when a fault changes
	faults   [2]fault
	down     bool
	listener net.Listener
	links    map[*link]bool
	taken    int
	ended    bool
}

// fault is what one direction suffers.
type fault struct {
	delay time.Duration
	rate  int64 // bytes per second; 0: as fast as it goes
	hold  bool
	cutIn int64 // bytes until every connection breaks; 0: never
}

// Filter makes what sees the stream of one direction of one connection, and hands to pass what of it goes on: all,
// less, or later. nil passes everything.
type Filter func(way Way, pass func([]byte)) func([]byte)

// New opens a wire to an address, on a free port that is still free when the wire has been down.
func New(to string) (*Wire, error) { return NewFiltered(to, nil) }

// NewFiltered is New with a filter; nil passes everything.
func NewFiltered(to string, filter Filter) (*Wire, error) {
	at, err := process.FreeAddress()
	if err != nil {
		return nil, err
	}
	return Listen(at, to, filter)
}

// Listen opens a wire at an address. A nil filter passes everything.
func Listen(at, to string, filter Filter) (*Wire, error) {
	w := &Wire{at: at, to: to, filter: filter, changed: make(chan struct{}), links: map[*link]bool{}}
	if err := w.open(); err != nil {
		return nil, err
	}
	w.at = w.listener.Addr().String()
	return w, nil
}

// Address is where the wire is dialled.
func (w *Wire) Address() string { return w.at }

// Taken is how many connections it has carried.
func (w *Wire) Taken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken
}

// Delay holds every byte of a direction for d, as distance does: what follows is not slower.
func (w *Wire) Delay(way Way, d time.Duration) { w.set(way, func(f *fault) { f.delay = d }) }

// Rate lets so many bytes per second pass, over all connections one by one; 0 ends it.
func (w *Wire) Rate(way Way, bytes int64) { w.set(way, func(f *fault) { f.rate = bytes }) }

// Hold passes nothing in a direction, while connections stay open: a black hole that only one side notices. What was
// held goes on afterwards, as TCP sends again.
func (w *Wire) Hold(way Way, on bool) { w.set(way, func(f *fault) { f.hold = on }) }

// CutIn breaks every connection after so many more bytes of a direction, wherever in a frame that is.
func (w *Wire) CutIn(way Way, bytes int64) { w.set(way, func(f *fault) { f.cutIn = max(1, bytes) }) }

// Heal ends every fault and opens the wire again.
func (w *Wire) Heal() error {
	w.set(Up, func(f *fault) { *f = fault{} })
	w.set(Down, func(f *fault) { *f = fault{} })
	w.mu.Lock()
	closed := w.down
	w.mu.Unlock()
	if closed {
		return w.open()
	}
	return nil
}

// Cut breaks every connection. The next one is taken.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		l.close()
	}
}

// Close breaks every connection and refuses new ones, until Heal.
func (w *Wire) Close() {
	w.mu.Lock()
	if !w.down {
		w.down = true
		w.listener.Close()
	}
	w.mu.Unlock()
	w.Cut()
}

// End is Close for ever.
func (w *Wire) End() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.Close()
	w.set(Up, func(*fault) {})
}

func (w *Wire) set(way Way, change func(*fault)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.faults[way])
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *Wire) open() error {
	listener, err := net.Listen("tcp", w.at)
	if err != nil {
		return fmt.Errorf("open the wire to %s: %w", w.to, err)
	}
	w.mu.Lock()
	w.listener, w.down = listener, false
	w.mu.Unlock()
	go w.serve(listener)
	return nil
}

func (w *Wire) serve(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := net.DialTimeout("tcp", w.to, 5*time.Second)
		if err != nil {
			from.Close()
			continue
		}
		l := newLink(w, from, to)
		w.mu.Lock()
		w.taken++
		refuse := w.down || w.ended
		if !refuse {
			w.links[l] = true
		}
		w.mu.Unlock()
		if refuse {
			l.close()
			continue
		}
		go l.run()
	}
}

// look is the present fault of a direction, and what closes when it changes.
func (w *Wire) look(way Way) (fault, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults[way], w.changed
}

// allow says how many of n bytes may pass before a cut; cut is true when it is due behind them.
func (w *Wire) allow(way Way, n int) (allowed int, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &w.faults[way]
	switch {
	case f.cutIn == 0:
		return n, false
	case int64(n) < f.cutIn:
		f.cutIn -= int64(n)
		return n, false
	}
	allowed, f.cutIn = int(f.cutIn), 0
	return allowed, true
}
