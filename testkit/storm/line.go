package storm

import (
	"io"
	"net"
	"sync"

	"lockstep/clusterd/process"
)

// line carries TCP connections to one address; it can be cut and opened again.
type line struct {
	at, to string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newLine(to string) (*line, error) {
	at, err := process.FreeAddress()
	if err != nil {
		return nil, err
	}
	l := &line{at: at, to: to}
	return l, l.open()
}

func (l *line) address() string { return l.at }

func (l *line) open() error {
	listener, err := net.Listen("tcp", l.at)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", l.to)
			if err != nil {
				from.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, from, to)
			l.mu.Unlock()
			go carry(from, to)
			go carry(to, from)
		}
	}()
	return nil
}

func carry(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener.Close()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}
