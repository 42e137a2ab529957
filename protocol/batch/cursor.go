package batch

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// windows are the read buffers of cursors over compressed records.
var windows = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// cursor walks record bytes: those in b, then what src gives, a window at a time. err is a failure of src
// other than its end.
type cursor struct {
	b      []byte
	src    io.Reader
	window []byte
	err    error
}

// fill gets at least one more byte behind those in b, which is short.
func (c *cursor) fill() bool {
	if c.src == nil || c.err != nil {
		return false
	}
	kept := copy(c.window, c.b)
	for {
		n, err := c.src.Read(c.window[kept:])
		c.b = c.window[:kept+n]
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			c.err = err
		case err != nil:
			c.src = nil
		case n == 0:
			continue
		}
		return n > 0
	}
}

func (c *cursor) empty() bool { return len(c.b) == 0 && !c.fill() }

// varint reads a zigzag varint.
func (c *cursor) varint() (int64, bool) {
	for {
		v, n := binary.Varint(c.b)
		switch {
		case n > 0:
			c.b = c.b[n:]
			return v, true
		case n < 0 || !c.fill():
			return 0, false
		}
	}
}

func (c *cursor) skip(n int64) bool {
	for n > int64(len(c.b)) {
		n -= int64(len(c.b))
		c.b = c.b[:0]
		if !c.fill() {
			return false
		}
	}
	c.b = c.b[n:]
	return true
}

// field skips bytes with their length in front, and tells how many they take with it; null is -1.
func (c *cursor) field(left *int64, nullable bool) (null, ok bool) {
	n, ok := c.counted(left)
	switch {
	case !ok || n < -1 || n == -1 && !nullable || n > *left:
		return false, false
	case n == -1:
		return true, true
	default:
		*left -= n
		return false, c.skip(n)
	}
}

// counted reads a varint and takes its size off left.
func (c *cursor) counted(left *int64) (int64, bool) {
	v, ok := c.varint()
	*left -= int64(varintLen(v))
	return v, ok && *left >= 0
}

func varintLen(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

// record reads record number i and tells its timestamp delta and whether it has a key. text is what is
// wrong with it, "" if nothing is.
func (c *cursor) record(i int32) (timeDelta int64, hasKey bool, text string) {
	left, ok := c.varint()
	if !ok || left < 0 {
		return 0, false, "the batch ends before this record"
	}
	if left == 0 || !c.skip(1) { // attributes, none of which is in use
		return 0, false, "the record ends inside itself"
	}
	left--
	timeDelta, ok = c.counted(&left)
	offset, ok2 := c.counted(&left)
	switch {
	case !ok || !ok2:
		return 0, false, "the record ends inside itself"
	case offset != int64(i):
		return 0, false, "the offset delta is not the record's index"
	}
	noKey, ok := c.field(&left, true)
	if ok {
		_, ok = c.field(&left, true)
	}
	headers := int64(0)
	if ok {
		headers, ok = c.counted(&left)
	}
	if !ok || headers < 0 || headers > left/2 {
		return 0, false, "key, value or headers have lengths that the record does not have"
	}
	for ; headers > 0 && ok; headers-- {
		if _, ok = c.field(&left, false); ok {
			_, ok = c.field(&left, true)
		}
	}
	switch {
	case !ok:
		return 0, false, "a header has lengths that the record does not have"
	case left != 0:
		return 0, false, "the record is longer than its fields"
	default:
		return timeDelta, !noKey, ""
	}
}
