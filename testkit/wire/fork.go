package wire

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Fork takes connections at one address and carries each to where choose sends its caller, in most cases a Wire of that
// caller's own: callers that were all told the same address suffer apart. It ends with End.
type Fork struct {
	listener net.Listener
	choose   func(c net.Conn) (to string, known bool)

	mu    sync.Mutex
	conns map[net.Conn]bool
	ended bool
}

// NewFork listens at an address. A caller that choose does not know is hung up on.
func NewFork(at string, choose func(c net.Conn) (to string, known bool)) (*Fork, error) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("open the fork at %s: %w", at, err)
	}
	f := &Fork{listener: listener, choose: choose, conns: map[net.Conn]bool{}}
	go f.serve()
	return f, nil
}

// Address is where callers dial.
func (f *Fork) Address() string { return f.listener.Addr().String() }

// End breaks every connection and takes no more.
func (f *Fork) End() {
	f.listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for c := range f.conns {
		c.Close()
	}
}

func (f *Fork) serve() {
	for {
		from, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.carry(from)
	}
}

func (f *Fork) carry(from net.Conn) {
	defer from.Close()
	at, known := f.choose(from)
	if !known {
		return
	}
	to, err := net.DialTimeout("tcp", at, 5*time.Second)
	if err != nil {
		return
	}
	defer to.Close()
	if !f.keep(from, to) {
		return
	}
	defer f.forget(from, to)
	// Whichever direction ends first ends both, as it does on a Wire.
	first := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{to, from}, {from, to}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			first <- struct{}{}
		}()
	}
	<-first
}

func (f *Fork) keep(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		f.conns[c] = true
	}
	return !f.ended
}

func (f *Fork) forget(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		delete(f.conns, c)
	}
}
