package front

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
)

// piece is how much is written under one write deadline, so that a slow reader of a large answer is
// not mistaken for a dead one.
const piece = 1 << 20

// write is the writer goroutine: it takes slots in request order and writes each when it is ready.
func (c *conn) write() {
	w := writer{conn: c}
	for {
		var p *pending
		select {
		case p = <-c.window:
		default:
			if !w.flush() {
				return
			}
			select {
			case p = <-c.window:
			case <-c.done:
				return
			}
		}
		// Answers that are ready leave together; nobody waits behind one that is not.
		if !p.settled() && !w.flush() {
			c.drop(p)
			return
		}
		if !w.one(p) {
			return
		}
	}
}

// writer holds a buffer only while there is something to write: thousands of connections that wait hold none.
type writer struct {
	conn *conn
	lent *[]byte // of which buf is made; nil: there is nothing to write
	buf  []byte
}

// buffers are those that no writer holds.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// one waits for p and buffers its answer; false ends the connection.
func (w *writer) one(p *pending) (ok bool) {
	c := w.conn
	delivered := false
	defer func() {
		if r := recover(); r != nil {
			c.front.log.Error("an answer could not be composed", "client", c.net.RemoteAddr().String(),
				"reason", fmt.Sprint(r), "stack", string(debug.Stack()))
			ok = false
		}
		if !delivered {
			p.abandon()
		}
		c.release(p)
	}()
	r, ok := p.Wait(c.done)
	if !ok {
		w.flush() // answers before this one are complete and owed
		return false
	}
	delivered = true
	c.charge(p, r)
	if r == nil {
		return true
	}
	if w.lent == nil {
		w.lent = buffers.Get().(*[]byte)
		w.buf = (*w.lent)[:0]
	}
	if p.bare {
		w.buf = protocol.AppendFrame(w.buf, r.(*kmsg.SASLAuthenticateResponse).SASLAuthBytes)
	} else {
		w.buf = protocol.AppendResponse(w.buf, p.correlation, r)
	}
	c.front.traffic.answered(p.key, time.Since(p.arrived))
	if len(w.buf) < piece {
		return true
	}
	return w.flush()
}

func (w *writer) flush() bool {
	c := w.conn
	for rest := w.buf; len(rest) > 0; {
		n := min(len(rest), piece)
		c.net.SetWriteDeadline(time.Now().Add(c.front.limits.Stall))
		if _, err := c.net.Write(rest[:n]); err != nil {
			return false
		}
		rest = rest[n:]
	}
	if w.lent != nil {
		if cap(w.buf) <= 2*piece { // one large answer must not pin its memory
			*w.lent = w.buf[:0]
			buffers.Put(w.lent)
		}
		w.lent, w.buf = nil, nil
	}
	return true
}
