package front

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// header is what stands in front of every request.
type header struct {
	key         int16
	version     int16
	correlation int32
	clientID    *string // nil is legal (compat §1.3 rule 11)
}

var errShort = errors.New("the frame ends inside its header")

// readHeader parses the part of a request header that does not depend on the api, and returns the
// rest: header tags when the version is flexible, then the body.
func readHeader(frame []byte) (header, []byte, error) {
	if len(frame) < 10 {
		return header{}, nil, errShort
	}
	h := header{
		key:         int16(binary.BigEndian.Uint16(frame)),
		version:     int16(binary.BigEndian.Uint16(frame[2:])),
		correlation: int32(binary.BigEndian.Uint32(frame[4:])),
	}
	n := int(int16(binary.BigEndian.Uint16(frame[8:])))
	rest := frame[10:]
	if n < -1 || n > len(rest) {
		return h, nil, errShort
	}
	if n >= 0 {
		id := string(rest[:n])
		h.clientID = &id
		rest = rest[n:]
	}
	return h, rest, nil
}

// skipTags steps over a tag section, every size checked against the bytes that are there.
func skipTags(b []byte) ([]byte, error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)) {
		return nil, errShort
	}
	for b = b[used:]; n > 0; n-- {
		_, used = binary.Uvarint(b)
		if used <= 0 {
			return nil, errShort
		}
		b = b[used:]
		size, used := binary.Uvarint(b)
		if used <= 0 || size > uint64(len(b)-used) {
			return nil, errShort
		}
		b = b[used+int(size):]
	}
	return b, nil
}

// step is how much of a frame is allocated ahead of the bytes that have arrived: a length prefix is a
// claim, not data (compat-P07, compat-S04).
const step = 64 << 10

// readFrame reads the n bytes of a frame, allocating as they arrive.
func readFrame(r *bufio.Reader, n int) ([]byte, error) {
	frame := make([]byte, min(n, step))
	for at := 0; ; {
		if _, err := io.ReadFull(r, frame[at:]); err != nil {
			return nil, err
		}
		at = len(frame)
		if at == n {
			return frame, nil
		}
		grown := make([]byte, min(n, 2*at))
		copy(grown, frame)
		frame = grown
	}
}

// decode builds the request that h announces; its version is one that is served.
func decode(h header, body []byte) (kmsg.Request, error) {
	req, err := messages.NewRequest(h.key, h.version)
	if err != nil {
		return nil, err
	}
	if req.IsFlexible() {
		if body, err = skipTags(body); err != nil {
			return nil, err
		}
	}
	if err := req.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("body of %d bytes: %w", len(body), err)
	}
	return req, nil
}

// appendResponse appends the framed response to dst. ApiVersions answers with the old header at every
// version: a client reads it before it knows what we speak (compat §1.3 rule 4).
func appendResponse(dst []byte, correlation int32, r kmsg.Response) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if r.IsFlexible() && r.Key() != messages.KeyApiVersions {
		dst = append(dst, 0)
	}
	dst = r.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
