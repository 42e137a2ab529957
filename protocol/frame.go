package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/protocol/wire"
)

// ErrFrameTooLarge says that a peer announced more bytes than it may send.
var ErrFrameTooLarge = errors.New("frame is larger than is allowed")

// frameStep is how much of a frame is allocated ahead of what has arrived: a length prefix is a claim, not
// data (compat-P07, compat-S04).
const frameStep = 64 << 10

// ReadFrame reads one size-prefixed frame of at most limit bytes. The frame belongs to the caller. io.EOF means
// that the peer closed between two frames.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int64(int32(binary.BigEndian.Uint32(size[:])))
	switch {
	case n < 0:
		return nil, fmt.Errorf("frame states length %d", n)
	case n > int64(limit):
		return nil, fmt.Errorf("frame of %d bytes, limit %d: %w", n, limit, ErrFrameTooLarge)
	}
	frame := make([]byte, min(int(n), frameStep))
	for at := 0; ; {
		if _, err := io.ReadFull(r, frame[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if at = len(frame); at == int(n) {
			return frame, nil
		}
		grown := make([]byte, min(int(n), 2*at))
		copy(grown, frame)
		frame = grown
	}
}

// Header is what stands in front of a request. Header versions 1 and 2 differ only by tagged fields, which
// DecodeRequest steps over; version 0 belongs to an API that is gone.
type Header struct {
	Key, Version int16
	Correlation  int32
	ClientID     *string // nil is legal, and so is ""
}

// ParseHeader reads the part of a header that does not depend on the API. Even with an error the correlation
// id is set when the frame had one, so that it can be answered.
func ParseHeader(frame []byte) (h Header, rest []byte, err error) {
	r := wire.NewReader(frame)
	h.Key, h.Version, h.Correlation = r.Int16(), r.Int16(), r.Int32()
	h.ClientID = r.NullableString(false)
	if err := r.Err(); err != nil {
		return h, nil, fmt.Errorf("request header: %w", err)
	}
	return h, r.Rest(), nil
}

// DecodeRequest reads the request that h announces, by our types or kmsg's. Bytes of the request may alias
// rest. Requests other than those that carry records or member data are small; a larger one is refused, because
// decoding multiplies by up to Growth. So is a text above 32767 bytes.
func DecodeRequest(h Header, rest []byte) (kmsg.Request, error) {
	req, err := messages.NewRequest(h.Key, h.Version)
	if err != nil {
		return nil, err
	}
	if limit := bodyLimit(h.Key); len(rest) > limit {
		return nil, fmt.Errorf("API key %d with a body of %d bytes, limit %d: %w", h.Key, len(rest), limit, ErrFrameTooLarge)
	}
	body, err := skipHeaderTags(req.IsFlexible(), rest)
	if err == nil {
		err = fewNames(h.Key, h.Version, body)
	}
	if err == nil {
		err = req.ReadFrom(body)
	}
	if err == nil {
		err = shortTexts(h.Key, len(body), req)
	}
	if err != nil {
		return nil, fmt.Errorf("API key %d version %d: %w", h.Key, h.Version, err)
	}
	return req, nil
}

// bodyLimit is the largest body that a request of an API may have.
func bodyLimit(key int16) int {
	switch key {
	case messages.KeyProduce:
		return 1 << 30 // bounded by the frame
	case messages.KeyJoinGroup:
		return 4 << 20 // one member's subscription
	case messages.KeySyncGroup:
		return 16 << 20 // assignments of Kafka Streams run to megabytes
	default:
		return 1 << 20 // a Fetch of 10,000 topics takes half of it
	}
}

func skipHeaderTags(flexible bool, p []byte) ([]byte, error) {
	r := wire.NewReader(p)
	if flexible {
		r.SkipTags()
	}
	return r.Rest(), r.Err()
}

// AppendRequest appends a framed request in the version that is set.
func AppendRequest(dst []byte, correlation int32, clientID *string, req kmsg.Request) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = wire.AppendInt16(dst, req.Key())
	dst = wire.AppendInt16(dst, req.GetVersion())
	dst = wire.AppendInt32(dst, correlation)
	dst = wire.AppendNullableString(dst, clientID, false)
	if req.IsFlexible() {
		dst = append(dst, 0)
	}
	return sized(req.AppendTo(dst), at)
}

// AppendResponse appends a framed response. ApiVersions has the old header at every version, because a client
// reads it before it knows what we speak (compat §1.3 rule 4).
func AppendResponse(dst []byte, correlation int32, resp kmsg.Response) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = wire.AppendInt32(dst, correlation)
	if taggedHeader(resp) {
		dst = append(dst, 0)
	}
	return sized(resp.AppendTo(dst), at)
}

// AppendFrame appends a frame of bytes that have no header.
func AppendFrame(dst, body []byte) []byte {
	at := len(dst)
	return sized(append(append(dst, 0, 0, 0, 0), body...), at)
}

// ResponseCorrelation reads the correlation id of a response frame.
func ResponseCorrelation(frame []byte) (int32, error) {
	r := wire.NewReader(frame)
	id := r.Int32()
	return id, r.Err()
}

// DecodeResponse reads a response frame into resp, whose version is that of the request. Records alias frame.
func DecodeResponse(frame []byte, resp kmsg.Response) error {
	r := wire.NewReader(frame)
	r.Int32()
	body, err := skipHeaderTags(taggedHeader(resp), r.Rest())
	if err == nil {
		err = r.Err()
	}
	if err == nil {
		err = resp.ReadFrom(body)
	}
	if err != nil {
		return fmt.Errorf("answer of API key %d version %d: %w", resp.Key(), resp.GetVersion(), err)
	}
	return nil
}

func taggedHeader(resp kmsg.Response) bool {
	return resp.IsFlexible() && resp.Key() != messages.KeyApiVersions
}

func sized(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
