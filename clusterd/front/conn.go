package front

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/actors/core/access"
	"lockstep/protocol"
	"lockstep/protocol/messages"
)

// Client is who sent a request.
type Client struct {
	ID   string // client id; "" when the client gave none
	Addr string
	Host string // the address without its port, as ACLs name it
	// Principal is who the client has shown to be; Anonymous where the listener asks nobody.
	Principal access.Principal
	at        *Listener // by which it came; nil outside of a connection
	// ended reports whether the client has closed its side behind this request. It is nil outside of a connection,
	// and may be called only before the handler returns.
	ended func() bool
}

// conn is one client connection: the goroutine that reads, the ordered window of slots, and the
// goroutine that writes (D8). It is not an actor, and its end fails nothing but its own requests.
type conn struct {
	front  *Front
	net    net.Conn
	at     *Listener
	window chan *pending
	memory *Memory // requests of this connection
	done   chan struct{}
	once   sync.Once
	muted  atomic.Int64     // Unix ns until when no further request is read, by quota
	worked atomic.Int64     // ns that the reader worked and nobody charged yet
	flight atomic.Int64     // requests read and not yet answered
	ended  func() bool      // of the request that the reader is at
	host   string           // of the client
	user   access.Principal // who the client has shown to be; the reader's own once it reads
	login  *login           // nil: the listener does not speak SASL

	unmuted bool // a mirror that gates reports here: no quota holds it back; the writer's own
}

// pending is a slot with what its answer needs on the wire.
type pending struct {
	*Slot
	correlation int32
	bytes       int64 // charged to the connection
	process     int64 // charged to the process
	large       int64 // charged to the part of it that frames may take before they are here
	late        int64 // to be charged to the process once the frame is here
	asks        int64 // charged to the process's requests that multiply
	key         int16
	bare        bool          // the answer is a token of SASL without a header
	size        int           // of the frame
	taker       taker         // to be charged for it
	stood       time.Duration // what the reader waited for a place in the window; the reader's own
	arrived     time.Time     // whole
}

func newConn(f *Front, n net.Conn, at *Listener) *conn {
	host, _, err := net.SplitHostPort(n.RemoteAddr().String())
	if err != nil {
		host = n.RemoteAddr().String() // a pipe has no port
	}
	c := &conn{
		front:  f,
		host:   host,
		net:    n,
		at:     at,
		user:   access.Anonymous,
		window: make(chan *pending, f.limits.Requests),
		memory: NewMemory(f.limits.ConnBytes),
		done:   make(chan struct{}),
	}
	if at.Certificates != nil {
		c.net = tls.Server(n, at.Certificates.Config())
	}
	if at.Protocol.SASL() {
		c.login = &login{conn: c}
	}
	return c
}

// close ends the connection from any goroutine, at most once.
func (c *conn) close() {
	c.once.Do(func() {
		close(c.done)
		c.net.Close()
	})
}

// serve runs the connection to its end and returns when nothing of it is left.
func (c *conn) serve() {
	if !c.secured() {
		c.close()
		return
	}
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		defer c.close()
		c.write()
	}()
	err := c.read()
	c.close()
	<-wrote
	// The writer is gone, so whatever the reader queued meanwhile is ours to let go.
	for {
		select {
		case p := <-c.window:
			c.drop(p)
			continue
		default:
		}
		break
	}
	if err != nil {
		c.front.log.Warn("connection closed", "client", c.net.RemoteAddr().String(), "reason", err.Error())
	}
}

// drop lets go of a slot whose answer nobody will read.
func (c *conn) drop(p *pending) {
	p.abandon()
	c.release(p)
}

func (c *conn) release(p *pending) {
	c.memory.Give(p.bytes)
	c.front.memory.Give(p.process)
	c.front.memory.large.Give(p.large)
	c.front.memory.asks.Give(p.asks)
	c.front.memory.answers.Give(p.answer)
	c.flight.Add(-1)
}

// read is the reader goroutine. A nil error is an ordinary end.
func (c *conn) read() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	in := bufio.NewReaderSize(c.net, readAhead)
	c.ended = func() bool { return c.endsBehind(in) }
	if c.login != nil {
		if err := c.login.authenticate(in); err != nil || !c.login.known {
			c.login.unknown(err)
			return nil
		}
	}
	for {
		if c.login != nil && c.login.tokens() {
			if err := c.login.step(in, time.Now().Add(c.front.limits.Login)); err != nil || c.login.gone() {
				return ordinaryEnd(err)
			}
			continue
		}
		size, key, err := c.next(in)
		if err != nil {
			return ordinaryEnd(err)
		}
		if !c.listen() {
			return nil
		}
		p := &pending{Slot: NewSlot(), size: size, bytes: spread(key, size), process: int64(size)}
		if !c.admit(key, p) {
			return nil
		}
		c.flight.Add(1)
		c.net.SetReadDeadline(time.Now().Add(c.front.limits.Stall))
		frame, err := protocol.ReadFrame(in, size)
		if err != nil {
			c.release(p)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("a request of %d bytes was not here within %s: send smaller ones over a line this slow", size, c.front.limits.Stall)
			}
			return ordinaryEnd(err)
		}
		if !c.admitLate(p) || !c.admitAsk(key, size, p) || key == messages.KeyProduce && !c.admitNames(protocol.Names(frame), p) {
			c.release(p)
			return nil
		}
		began := time.Now()
		if err := c.start(p, frame); err != nil {
			return err
		}
		c.worked.Add(int64(time.Since(began) - p.stood))
	}
}

// admit waits until the request fits; false when the connection ended meanwhile. Only produces wait for
// the process: everything else is small, and some of it is what lets waiting produces go.
func (c *conn) admit(key int16, p *pending) bool {
	if !c.memory.Take(p.bytes, c.done) {
		return false
	}
	switch {
	case key != messages.KeyProduce:
		c.front.memory.Force(p.process)
		return true
	case p.process <= smallProduce:
		p.process, p.late = 0, p.process
		return true
	}
	// A frame this large has its room before it is read. But a length is only a claim, and a peer has a minute to keep
	// it: all claims together leave half of the process to produces that are here.
	if !c.front.memory.large.Take(p.process, c.done) {
		c.memory.Give(p.bytes)
		return false
	}
	if !c.front.memory.Take(p.process, c.done) {
		c.front.memory.large.Give(p.process)
		c.memory.Give(p.bytes)
		return false
	}
	p.large = p.process
	return true
}

// admitLate charges a small produce, which is here, to the process.
func (c *conn) admitLate(p *pending) bool {
	if p.late == 0 {
		return true
	}
	if !c.front.memory.Take(p.late, c.done) {
		return false
	}
	p.process, p.late = p.late, 0
	return true
}

// admitAsk waits until the process has room for what a large request grows to. It is asked once the whole
// frame is here, so that a client which only announces one makes nobody wait.
func (c *conn) admitAsk(key int16, size int, p *pending) bool {
	n := spread(key, size)
	if size <= smallAsk || neverWaits(key) {
		return true
	}
	return c.takeAsk(n, p)
}

// admitNames is admitAsk for what a produce names beside its records.
func (c *conn) admitNames(size int, p *pending) bool {
	return size <= smallNames || c.takeAsk(growth*int64(size), p)
}

func (c *conn) takeAsk(n int64, p *pending) bool {
	if !c.front.memory.asks.Take(n, c.done) {
		return false
	}
	p.asks = n
	return true
}

// next waits for the length and the key of the next frame. Idle time counts only while nothing is in
// flight: a client that waits for its long poll is not idle (compat-S06).
func (c *conn) next(in *bufio.Reader) (size int, key int16, err error) {
	for {
		c.net.SetReadDeadline(c.idleUntil())
		prefix, err := in.Peek(4)
		if errors.Is(err, os.ErrDeadlineExceeded) && len(prefix) == 0 && c.flight.Load() > 0 {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		// The length alone is enough to refuse, before anything is allocated (compat-P07).
		size = int(int32(binary.BigEndian.Uint32(prefix)))
		if size < 10 || size > c.front.limits.Frame {
			return 0, 0, fmt.Errorf("frame length %d is not within 10..%d (socket.request.max.bytes)", size, c.front.limits.Frame)
		}
		if prefix, err = in.Peek(6); err != nil {
			return 0, 0, err
		}
		key = int16(binary.BigEndian.Uint16(prefix[4:]))
		if key != messages.KeyProduce && size > c.front.limits.SmallFrame {
			return 0, 0, fmt.Errorf("frame length %d of api key %d is above %d", size, key, c.front.limits.SmallFrame)
		}
		return size, key, nil
	}
}

// readAhead is how many bytes of small requests are read at once. Every connection holds as many for its whole life;
// larger frames are read past them.
const readAhead = 4 << 10

// idleUntil is when a connection that says nothing more is closed.
func (c *conn) idleUntil() time.Time {
	if c.front.limits.Idle < 0 {
		return time.Time{}
	}
	return time.Now().Add(c.front.limits.Idle)
}

// start decodes one frame, queues its slot and hands it to the handler.
func (c *conn) start(p *pending, frame []byte) error {
	h, body, err := protocol.ParseHeader(frame)
	if err != nil {
		c.release(p)
		return err
	}
	p.correlation, p.key, p.arrived = h.Correlation, h.Key, time.Now()
	c.front.traffic.asked(h.Key)
	if c.login != nil && c.login.expired(h.Key) {
		c.release(p)
		c.at.counts.expired.Add(1)
		c.close() // as the client was told; it connects again
		return nil
	}
	a := apis[h.Key]
	handle := func() error { return nil }
	switch {
	case a == nil || !c.front.serves(a.API, h.Version):
		if h.Key != messages.KeyApiVersions {
			c.release(p)
			return fmt.Errorf("api key %d version %d is not served here", h.Key, h.Version)
		}
		handle = func() error { p.Reply(unsupportedApiVersions()); return nil }
	default:
		req, err := protocol.DecodeRequest(h, body)
		if err != nil {
			c.release(p)
			return err
		}
		from := Client{Addr: c.net.RemoteAddr().String(), Host: c.host, Principal: c.user, at: c.at, ended: c.ended}
		if h.ClientID != nil {
			from.ID = *h.ClientID
		}
		p.taker = from.taker()
		handle = func() error { a.handle(c.front, req, from, p.Slot); return nil }
		if c.login != nil {
			if own := c.login.handler(req, p); own != nil {
				handle = own
			}
		}
	}
	if !c.queue(p) {
		return nil
	}
	return handle()
}

// queue gives p its place in the order of answers; false when the connection ended meanwhile. A full window stops the reader
// here: that is the backpressure (D8).
func (c *conn) queue(p *pending) bool {
	waits := time.Now()
	select {
	case c.window <- p:
		p.stood = time.Since(waits)
		return true
	case <-c.done:
		c.drop(p)
		return false
	}
}

// endsBehind looks whether the end of the stream is all that is left of it.
func (c *conn) endsBehind(in *bufio.Reader) bool {
	if in.Buffered() > 0 {
		return false
	}
	c.net.SetReadDeadline(time.Now().Add(endLook))
	_, err := in.Peek(1)
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// endLook is how long endsBehind waits: what has arrived is seen, nothing is waited for.
const endLook = time.Millisecond

// ordinaryEnd turns the ways in which clients simply leave into nil, so that they are not logged.
func ordinaryEnd(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &op):
		return nil
	default:
		return err
	}
}
