package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrShort says that a message ended inside a value, or states a length it does not have.
var ErrShort = errors.New("message is shorter than its lengths say")

// Reader reads one message. It is not safe for concurrent use. Byte slices it returns are copies, save those of View,
// Rest and Records.
type Reader struct {
	src []byte
	err error
}

// NewReader reads b, which must not change while it is read.
func NewReader(b []byte) Reader { return Reader{src: b} }

// Err is the first error met.
func (r *Reader) Err() error { return r.err }

// Len is the number of bytes not read yet.
func (r *Reader) Len() int { return len(r.src) }

// Rest returns what was not read yet, without copying it.
func (r *Reader) Rest() []byte { return r.src }

// Fail keeps err if it is the first.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.src = nil
}

// Complete returns the first error, or one if bytes are left over.
func (r *Reader) Complete() error {
	if r.err == nil && len(r.src) > 0 {
		return fmt.Errorf("%d bytes left over after the message", len(r.src))
	}
	return r.err
}

// View returns the next n bytes without copying, nil if they are not there.
func (r *Reader) View(n int) []byte {
	if n < 0 || n > len(r.src) {
		r.Fail(ErrShort)
		return nil
	}
	out := r.src[:n:n]
	r.src = r.src[n:]
	return out
}

// Bool reads one byte; anything but 0 is true, as in Kafka.
func (r *Reader) Bool() bool { return r.Int8() != 0 }

// Int8 reads one byte.
func (r *Reader) Int8() int8 {
	if v := r.View(1); v != nil {
		return int8(v[0])
	}
	return 0
}

// Int16 reads two bytes.
func (r *Reader) Int16() int16 { return int16(r.Uint16()) }

// Uint16 reads two bytes.
func (r *Reader) Uint16() uint16 {
	if v := r.View(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

// Int32 reads four bytes.
func (r *Reader) Int32() int32 { return int32(r.Uint32()) }

// Uint32 reads four bytes.
func (r *Reader) Uint32() uint32 {
	if v := r.View(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

// Int64 reads eight bytes.
func (r *Reader) Int64() int64 {
	if v := r.View(8); v != nil {
		return int64(binary.BigEndian.Uint64(v))
	}
	return 0
}

// Float64 reads eight bytes.
func (r *Reader) Float64() float64 { return math.Float64frombits(uint64(r.Int64())) }

// UUID reads sixteen bytes.
func (r *Reader) UUID() (id [16]byte) {
	copy(id[:], r.View(16))
	return id
}

// Uvarint reads an unsigned varint of at most 32 bits, the only size Kafka uses for lengths and tags.
func (r *Reader) Uvarint() uint32 {
	v, n := binary.Uvarint(r.src)
	switch {
	case n == 0:
		r.Fail(ErrShort)
		return 0
	case n < 0 || n > 5 || v > math.MaxUint32:
		r.Fail(errors.New("varint of more than 32 bits"))
		return 0
	}
	r.src = r.src[n:]
	return uint32(v)
}

// Varint reads a zigzag varint of at most 64 bits.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.src)
	if n <= 0 {
		r.Fail(ErrShort)
		return 0
	}
	r.src = r.src[n:]
	return v
}

// String reads a string that must not be null.
func (r *Reader) String(flexible bool) string {
	n := r.stringLen(flexible)
	if n < 0 {
		r.failNull("string")
		return ""
	}
	return string(r.View(n))
}

// NullableString reads a string or null.
func (r *Reader) NullableString(flexible bool) *string {
	n := r.stringLen(flexible)
	if n < 0 || r.err != nil {
		return nil
	}
	s := string(r.View(n))
	return &s
}

// SkipString reads over a string or null without copying it.
func (r *Reader) SkipString(flexible bool) {
	if n := r.stringLen(flexible); n > 0 {
		r.View(n)
	}
}

// Bytes reads bytes that must not be null; empty bytes are nil.
func (r *Reader) Bytes(flexible bool) []byte {
	n := r.length(flexible)
	if n < 0 {
		r.failNull("bytes")
	}
	if n <= 0 {
		return nil
	}
	return append([]byte(nil), r.View(n)...)
}

// NullableBytes reads bytes or null; nil is null.
func (r *Reader) NullableBytes(flexible bool) []byte {
	n := r.length(flexible)
	if n < 0 || r.err != nil {
		return nil
	}
	return append(make([]byte, 0, min(n, r.Len())), r.View(n)...)
}

// Records reads record bytes that must not be null, without copying them: they are what messages are
// made for, and large.
func (r *Reader) Records(flexible bool) []byte {
	n := r.length(flexible)
	if n < 0 {
		r.failNull("records")
	}
	if n <= 0 {
		return nil
	}
	return r.View(n)
}

// NullableRecords reads record bytes or null, without copying them; nil is null.
func (r *Reader) NullableRecords(flexible bool) []byte {
	n := r.length(flexible)
	if n < 0 || r.err != nil {
		return nil
	}
	return r.View(n)
}

// ArrayLen begins an array that must not be null. Each element takes at least size bytes, so a count
// that cannot be there is refused before the caller allocates for it.
func (r *Reader) ArrayLen(flexible bool, size int) int {
	n := r.NullableArrayLen(flexible, size)
	if n < 0 {
		r.failNull("array")
		return 0
	}
	return n
}

// NullableArrayLen is ArrayLen for an array that may be null: -1.
func (r *Reader) NullableArrayLen(flexible bool, size int) int {
	n := r.length(flexible)
	if n > 0 && n > len(r.src)/max(size, 1) {
		r.Fail(fmt.Errorf("array of %d elements in %d bytes: %w", n, len(r.src), ErrShort))
		return 0
	}
	return n
}

// Tag begins the next tagged field and returns a reader of its body.
func (r *Reader) Tag() (tag uint32, body Reader) {
	tag = r.Uvarint()
	body = NewReader(r.View(int(r.Uvarint())))
	body.err = r.err
	return tag, body
}

// EndTag takes over what went wrong inside a tagged field that was read, or its left-over bytes.
func (r *Reader) EndTag(tag uint32, body *Reader) {
	if err := body.Complete(); err != nil {
		r.Fail(fmt.Errorf("tagged field %d: %w", tag, err))
	}
}

// SkipTags reads over tagged fields nobody here knows.
func (r *Reader) SkipTags() {
	for n := r.Uvarint(); n > 0 && r.err == nil; n-- {
		r.Tag()
	}
}

func (r *Reader) stringLen(flexible bool) int {
	if flexible {
		return r.length(true)
	}
	return r.sane(int(r.Int16()))
}

// length reads the length of bytes or an array; -1 is null.
func (r *Reader) length(flexible bool) int {
	if flexible {
		return r.sane(int(r.Uvarint()) - 1)
	}
	return r.sane(int(r.Int32()))
}

func (r *Reader) sane(n int) int {
	switch {
	case r.err != nil:
		return 0
	case n < -1:
		r.Fail(fmt.Errorf("length %d", n))
		return 0
	default:
		return n
	}
}

func (r *Reader) failNull(what string) { r.Fail(errors.New("null " + what + " where one is required")) }
