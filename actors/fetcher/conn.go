package fetcher

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
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
}

const (
	clientID = "lockstep-mirror"
	// answerSlack is what an answer may hold beyond the records that were asked for. A first batch comes
	// whole however large it is, and no broker takes one above 1 GiB by default settings.
	answerSlack = 96 << 20
	// readStep is how much of an answer is made room for before its bytes are there.
	readStep = 1 << 20
)

// dial connects and asks which versions the broker speaks.
func dial(ctx context.Context, c Config, addr string) (*conn, error) {
	d := net.Dialer{Timeout: c.DialTimeout, KeepAlive: 5 * time.Second}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	cn := &conn{addr: addr, nc: nc, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)), limit: c.FetchMaxBytes + answerSlack}
	if cn.limit < 0 {
		cn.limit = 1<<31 - 1
	}
	if err := cn.readVersions(ctx); err != nil {
		cn.close()
		return nil, fmt.Errorf("ask for versions: %w", err)
	}
	return cn, nil
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

func (c *conn) roundTrip(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
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

// readFrame reads one answer. Its length is the peer's word: room is made as the bytes come.
func (c *conn) readFrame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 || size > c.limit {
		return nil, fmt.Errorf("answer of %d bytes, allowed are 4 to %d", size, c.limit)
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
	if t, ok := c.nc.(*net.TCPConn); ok {
		t.SetLinger(0) //nolint:errcheck // closing is all that is left either way
	}
	c.close()
}
