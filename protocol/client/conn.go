// Package client speaks the Kafka protocol from the asking side: one connection, pipelined requests, and the
// version of each request chosen by the caller. kgo is the better client for producing and consuming; it
// prefers stable versions, though, and does not know the calls that mirroring adds.
package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
	"lockstep/protocol/messages"
	"lockstep/protocol/properties"
)

// ErrClosed is what requests meet after Close.
var ErrClosed = errors.New("the connection is closed")

// ErrUnsupported says that the broker does not speak the version of a request; nothing was sent.
var ErrUnsupported = errors.New("not supported by the broker")

// Options of a connection. The zero value is good.
type Options struct {
	ClientID    string
	DialTimeout time.Duration // of connecting and the handshake, 0: 10 s
	MaxAnswer   int           // bytes of one answer, 0: 128 MiB
	Security    properties.Security
}

// Conn is one connection to a broker. Requests may be sent from several goroutines; they go out in the order of
// the calls and are answered by correlation id. An answer that cannot be matched, or any IO error, breaks the
// connection, and every call fails with the reason.
type Conn struct {
	addr     string
	net      net.Conn
	clientID *string
	limit    int
	ranges   map[int16]span
	reader   sync.WaitGroup
	security properties.Security

	session sync.RWMutex // held alone while the session is renewed: nothing else may be asked then
	again   time.Time    // when to do so; zero: never

	write sync.Mutex // held while bytes go out; order of calls is order on the wire

	mu      sync.Mutex
	next    int32
	waiting map[int32]chan []byte // nil channel: the caller has gone, drop the answer
	err     error
	broken  chan struct{}
}

type span struct{ min, max int16 }

// Dial connects, asks for the broker's ApiVersions, and says who we are. The session is renewed in time by whoever asks
// next.
func Dial(ctx context.Context, addr string, o Options) (*Conn, error) {
	if o.DialTimeout <= 0 {
		o.DialTimeout = 10 * time.Second
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = 128 << 20
	}
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	if nc, err = o.Security.Secure(ctx, nc, addr); err != nil {
		return nil, err
	}
	c := &Conn{addr: addr, net: nc, limit: o.MaxAnswer, security: o.Security, waiting: map[int32]chan []byte{}, broken: make(chan struct{})}
	if o.ClientID != "" {
		c.clientID = &o.ClientID
	}
	c.reader.Go(c.read)
	if err := c.handshake(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("ApiVersions of %s: %w", addr, properties.TLSError(addr, err))
	}
	if err := c.authenticate(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close breaks the connection, fails what waits and returns when the reader has ended.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	c.reader.Wait()
	return nil
}

// Broken is closed when the connection no longer works; Err says why.
func (c *Conn) Broken() <-chan struct{} { return c.broken }

// Err is why the connection is broken, nil while it works.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Do sends req in the version that is set and waits for the answer, at most until ctx is done. The answer of
// an abandoned request is dropped when it comes; the connection goes on. A Produce with acks=0 has no
// answer: the response is nil.
func (c *Conn) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if err := c.speaks(req); err != nil {
		return nil, err
	}
	if err := c.renew(ctx); err != nil {
		return nil, err
	}
	c.session.RLock()
	id, answer, err := c.send(ctx, req)
	c.session.RUnlock()
	if err != nil || answer == nil {
		return nil, err
	}
	frame, err := c.await(ctx, req, id, answer)
	if err != nil {
		return nil, err
	}
	return c.decode(frame, req)
}

func (c *Conn) decode(frame []byte, req kmsg.Request) (kmsg.Response, error) {
	resp := req.ResponseKind()
	if err := protocol.DecodeResponse(frame, resp); err != nil {
		err = fmt.Errorf("%s: %w", c.addr, err)
		c.fail(err)
		return nil, err
	}
	return resp, nil
}

// renew proves again who we are when the session is about to end (KIP-368).
func (c *Conn) renew(ctx context.Context) error {
	due := func() bool { return !c.again.IsZero() && !time.Now().Before(c.again) }
	c.session.RLock()
	ends := due()
	c.session.RUnlock()
	if !ends {
		return nil
	}
	c.session.Lock()
	defer c.session.Unlock()
	if !due() {
		return nil
	}
	return c.authenticate(ctx)
}

// authenticate is called by whoever alone may ask.
func (c *Conn) authenticate(ctx context.Context) (err error) {
	_, newest, _ := c.Versions(int16(kmsg.SASLAuthenticate))
	c.again, err = c.security.Authenticate(ctx, c.addr, newest, func(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
		frame, err := c.exchange(ctx, req)
		if err != nil {
			return nil, err
		}
		return c.decode(frame, req)
	})
	if err != nil {
		c.fail(err)
	}
	return err
}

// Do is Conn.Do with the answer's type.
func Do[R kmsg.Response](ctx context.Context, c *Conn, req kmsg.Request) (R, error) {
	var none R
	resp, err := c.Do(ctx, req)
	if err != nil {
		return none, err
	}
	typed, ok := resp.(R)
	if !ok {
		return none, fmt.Errorf("%s: the answer to %s is a %T", c.addr, name(req.Key()), resp)
	}
	return typed, nil
}

// exchange sends one request and returns the frame of its answer.
func (c *Conn) exchange(ctx context.Context, req kmsg.Request) ([]byte, error) {
	id, answer, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	return c.await(ctx, req, id, answer)
}

func (c *Conn) await(ctx context.Context, req kmsg.Request, id int32, answer chan []byte) ([]byte, error) {
	select {
	case frame := <-answer:
		return frame, nil
	case <-ctx.Done():
		c.mu.Lock()
		if _, ok := c.waiting[id]; ok {
			c.waiting[id] = nil
		}
		c.mu.Unlock()
		return nil, fmt.Errorf("%s: %s: %w", c.addr, name(req.Key()), ctx.Err())
	case <-c.broken:
		select {
		case frame := <-answer: // it came before the connection broke
			return frame, nil
		default:
			return nil, c.Err()
		}
	}
}

// send returns where the answer will come, nil if there will be none.
func (c *Conn) send(ctx context.Context, req kmsg.Request) (int32, chan []byte, error) {
	produce, ok := req.(*kmsg.ProduceRequest)
	silent := ok && produce.Acks == 0
	c.write.Lock()
	defer c.write.Unlock()
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return 0, nil, c.err
	}
	id := c.next
	c.next++
	var answer chan []byte
	if !silent {
		answer = make(chan []byte, 1)
		c.waiting[id] = answer
	}
	c.mu.Unlock()
	// The deadline is of this write only; a half-written frame breaks the connection anyway.
	deadline, _ := ctx.Deadline()
	c.net.SetWriteDeadline(deadline)
	if _, err := c.net.Write(protocol.AppendRequest(nil, id, c.clientID, req)); err != nil {
		err = fmt.Errorf("write to %s: %w", c.addr, err)
		c.fail(err)
		return 0, nil, err
	}
	return id, answer, nil
}

// read is the only reader of the socket.
func (c *Conn) read() {
	for {
		frame, err := protocol.ReadFrame(c.net, c.limit)
		if err != nil {
			c.fail(fmt.Errorf("read from %s: %w", c.addr, err))
			return
		}
		id, err := protocol.ResponseCorrelation(frame)
		c.mu.Lock()
		answer, known := c.waiting[id]
		delete(c.waiting, id)
		c.mu.Unlock()
		if err != nil || !known {
			c.fail(fmt.Errorf("%s: answer with correlation id %d, which nobody waits for", c.addr, id))
			return
		}
		if answer != nil {
			answer <- frame
		}
	}
}

// fail breaks the connection once, with the first reason.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
		close(c.broken)
	}
	c.mu.Unlock()
	if first {
		c.net.Close()
	}
}

func name(key int16) string {
	if a, ok := messages.APIOf(key); ok {
		return a.Name
	}
	if n := kmsg.NameForKey(key); n != "" && n != "Unknown" {
		return n
	}
	return fmt.Sprintf("API key %d", key)
}
