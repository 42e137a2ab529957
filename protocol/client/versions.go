package client

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
	"lockstep/protocol/wire"
)

// firstMirrorKey is where the calls of mirroring begin. Some of them are served without being advertised,
// so their absence from the broker's list refuses nothing.
const firstMirrorKey = 95

// handshake learns which versions the broker speaks. A broker that does not know the version of the question
// answers in the oldest form, naming its own range for the question.
func (c *Conn) handshake(ctx context.Context) error {
	version := int16(3)
	for range 2 {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "lockstep", "1"
		frame, err := c.exchange(ctx, req)
		if err != nil {
			return err
		}
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		unknown := refusedVersion(frame)
		if unknown {
			resp.Version = 0
		}
		if err := protocol.DecodeResponse(frame, resp); err != nil {
			return err
		}
		ranges := map[int16]span{}
		for _, k := range resp.ApiKeys {
			ranges[k.ApiKey] = span{k.MinVersion, k.MaxVersion}
		}
		if !unknown {
			if code := perr.Code(resp.ErrorCode); code != perr.None {
				return fmt.Errorf("refused with %s", code)
			}
			c.ranges = ranges
			return nil
		}
		version = min(version-1, ranges[messages.KeyApiVersions].max)
	}
	return fmt.Errorf("the broker refuses every version of the question")
}

// refusedVersion tells whether the body begins with UNSUPPORTED_VERSION, whatever its layout.
func refusedVersion(frame []byte) bool {
	r := wire.NewReader(frame)
	r.Int32()
	return perr.Code(r.Int16()) == perr.UnsupportedVersion && r.Err() == nil
}

// Versions is the range of an API that the broker shows; ok is false if it shows none.
func (c *Conn) Versions(key int16) (min, max int16, ok bool) {
	s, ok := c.ranges[key]
	return s.min, s.max, ok
}

// Pick is the newest version of an API that is not above newest and that the broker speaks.
func (c *Conn) Pick(key, newest int16) (int16, error) {
	s, ok := c.ranges[key]
	if v := min(newest, s.max); ok && v >= s.min {
		return v, nil
	}
	return 0, c.unsupported(key, newest)
}

func (c *Conn) speaks(req kmsg.Request) error {
	s, shown := c.ranges[req.Key()]
	v := req.GetVersion()
	if shown && s.min <= v && v <= s.max || !shown && req.Key() >= firstMirrorKey {
		return nil
	}
	return c.unsupported(req.Key(), v)
}

func (c *Conn) unsupported(key, version int16) error {
	s, ok := c.ranges[key]
	if !ok {
		return fmt.Errorf("%s: %s: %w", c.addr, name(key), ErrUnsupported)
	}
	return fmt.Errorf("%s: %s version %d: %w, it speaks %d to %d", c.addr, name(key), version, ErrUnsupported, s.min, s.max)
}
