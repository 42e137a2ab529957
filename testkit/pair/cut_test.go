package pair

import (
	"io"
	"net"
	"sync"
	"testing"
)

// wire carries TCP connections to one address until it is cut.
type wire struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	open  []net.Conn
	taken int
	ended bool
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to}
	go w.serve()
	t.Cleanup(w.cut)
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken
}

func (w *wire) serve() {
	for {
		from, err := w.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", w.to)
		if err != nil {
			from.Close()
			continue
		}
		w.mu.Lock()
		w.open, w.taken = append(w.open, from, to), w.taken+1
		ended := w.ended
		w.mu.Unlock()
		if ended {
			from.Close()
			to.Close()
			return
		}
		go carry(from, to)
		go carry(to, from)
	}
}

func carry(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
}

// cut breaks every connection and accepts no more.
func (w *wire) cut() {
	w.listener.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, c := range w.open {
		c.Close()
	}
}
