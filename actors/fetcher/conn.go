package fetcher

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/protocol/properties"
	"lockstep/protocol/wire"
)

// conn is one connection to a broker: one request at a time, each at the version its sender chose. When a
// request fails or its context ends, the connection is done: an answer that comes later would be taken for
// the next one's.
type conn struct {
	addr     string
	nc       net.Conn
	format   *kmsg.RequestFormatter
	versions map[int16]int16 // newest version the broker speaks, by API key
	limit    int32           // largest answer read; a lying length prefix allocates nothing
	corr     int32
	once     sync.Once
	security properties.Security
	again    time.Time // when to authenticate again; zero: never
}

const (
	clientID = "lockstep-mirror"
	// answerSlack is what an answer may hold beyond the records that were asked for. A first batch comes
	// whole however large it is, and no broker takes one above 1 GiB by default settings.
	answerSlack = 96 << 20
	// readStep is how much of an answer is made room for before its bytes are there.
	readStep = 1 << 20
)

// dial connects, asks which versions the broker speaks, and says who we are.
func dial(ctx context.Context, c Config, addr string) (*conn, error) {
	d := net.Dialer{Timeout: c.DialTimeout, KeepAlive: 5 * time.Second}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	// The end of the context cuts an answer short that never comes, and a handshake.
	secured, err := c.Security.Secure(ctx, nc, addr)
	if err != nil {
		return nil, err
	}
	cn := &conn{addr: addr, nc: secured, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.ClientID)), limit: c.FetchMaxBytes + answerSlack, security: c.Security}
	if cn.limit < 0 {
		cn.limit = 1<<31 - 1
	}
	if err := cn.readVersions(ctx); err != nil {
		cn.close()
		return nil, fmt.Errorf("ask for versions: %w", cn.unanswered(err))
	}
	if err := cn.authenticate(ctx); err != nil {
		cn.close()
		return nil, err
	}
	return cn, nil
}

// authenticate says who we are, for as long as the broker lets it count.
func (c *conn) authenticate(ctx context.Context) (err error) {
	c.again, err = c.security.Authenticate(ctx, c.addr, c.newest(int16(kmsg.SASLAuthenticate)), c.exchange)
	return err
}

// unanswered names the setting that a broker which hangs up, or speaks something else, is most likely not content with.
func (c *conn) unanswered(err error) error {
	switch err = properties.TLSError(c.addr, err); {
	case errors.Is(err, errLength):
		return fmt.Errorf("%w: it speaks TLS there, or not Kafka; security.protocol is %s", err, c.security.Protocol())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("the broker closed the connection (%w): it is stopping, or wants another security.protocol than %s", err, c.security.Protocol())
	default:
		return err
	}
}

// readVersions asks with version 0, which every broker answers alike.
func (c *conn) readVersions(ctx context.Context) error {
	resp, err := do[*kmsg.ApiVersionsResponse](ctx, c, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return err
	}
	if resp.ErrorCode != 0 {
		return fmt.Errorf("error code %d", resp.ErrorCode)
	}
	c.versions = map[int16]int16{}
	for _, k := range resp.ApiKeys {
		c.versions[k.ApiKey] = k.MaxVersion
	}
	return nil
}

// newest is the newest version of an API the broker speaks, -1 if it does not know the API.
func (c *conn) newest(key int16) int16 {
	if v, ok := c.versions[key]; ok {
		return v
	}
	return -1
}

// do sends a request and reads its answer.
func do[R kmsg.Response](ctx context.Context, c *conn, req kmsg.Request) (R, error) {
	resp, err := c.roundTrip(ctx, req)
	if err != nil {
		c.close()
		var none R
		return none, err
	}
	return resp.(R), nil
}

// roundTrip is one request and its answer. A session that is about to end is renewed before (KIP-368).
func (c *conn) roundTrip(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if !c.again.IsZero() && !time.Now().Before(c.again) {
		if err := c.authenticate(ctx); err != nil {
			return nil, err
		}
	}
	first := c.corr == 1 // behind the question for versions, which everybody may ask
	resp, err := c.exchange(ctx, req)
	if err != nil && first {
		err = c.unanswered(err)
	}
	return resp, err
}

func (c *conn) exchange(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	// The end of the context cuts a read or write short; what follows is an error, and the end of c.
	defer context.AfterFunc(ctx, func() { c.nc.SetDeadline(time.Unix(1, 0)) })()
	c.corr++
	if _, err := c.nc.Write(c.format.AppendRequest(nil, req, c.corr)); err != nil {
		return nil, cause(ctx, err)
	}
	body, err := c.readFrame()
	if err != nil {
		return nil, cause(ctx, err)
	}
	if corr := int32(binary.BigEndian.Uint32(body)); corr != c.corr {
		return nil, fmt.Errorf("answer carries correlation id %d, request had %d", corr, c.corr)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	r := wire.NewReader(body[4:])
	if resp.IsFlexible() && resp.Key() != messages.KeyApiVersions {
		r.SkipTags()
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("answer header: %w", err)
	}
	if err := resp.ReadFrom(r.Rest()); err != nil {
		return nil, fmt.Errorf("answer to API key %d version %d: %w", req.Key(), req.GetVersion(), err)
	}
	return resp, nil
}

var errLength = errors.New("answer")

// readFrame reads one answer. Its length is the peer's word: room is made as the bytes come.
func (c *conn) readFrame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 || size > c.limit {
		return nil, fmt.Errorf("%w of %d bytes, allowed are 4 to %d", errLength, size, c.limit)
	}
	body := make([]byte, 0, min(int(size), readStep))
	for len(body) < int(size) {
		if len(body) == cap(body) {
			body = append(make([]byte, 0, min(int(size), 2*cap(body))), body...)
		}
		n, err := io.ReadFull(c.nc, body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// cause names the context's end rather than the deadline it set.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *conn) close() { c.once.Do(func() { c.nc.Close() }) }

// withdraw closes and drops what the kernel has not sent yet, so that a request is not delivered later than
// now if it was not before (C8).
func (c *conn) withdraw() {
	nc := c.nc
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok { // below TLS
		nc = t.NetConn()
	}
	if t, ok := nc.(*net.TCPConn); ok {
		t.SetLinger(0) //nolint:errcheck // closing is all that is left either way
	}
	c.close()
}
