package wire

import (
	"encoding/binary"
	"math"
)

// AppendBool writes one byte, 0 or 1.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendInt8 writes one byte.
func AppendInt8(b []byte, v int8) []byte { return append(b, byte(v)) }

// AppendInt16 writes two bytes, big-endian, as all fixed-width integers.
func AppendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }

// AppendUint16 writes two bytes.
func AppendUint16(b []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(b, v) }

// AppendInt32 writes four bytes.
func AppendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendUint32 writes four bytes.
func AppendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// AppendInt64 writes eight bytes.
func AppendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendFloat64 writes eight bytes, IEEE 754.
func AppendFloat64(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendUUID writes sixteen bytes.
func AppendUUID(b []byte, v [16]byte) []byte { return append(b, v[:]...) }

// AppendUvarint writes an unsigned varint, 7 bits a byte, least significant first.
func AppendUvarint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendVarint writes a zigzag varint, as record fields use them.
func AppendVarint(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// AppendString writes a string with its length: int16, or compact when flexible. Longer strings than
// the form can carry are a programmer's error.
func AppendString(b []byte, v string, flexible bool) []byte {
	if flexible {
		return append(AppendUvarint(b, uint64(len(v))+1), v...)
	}
	if len(v) > math.MaxInt16 {
		panic("wire: string longer than 32767 bytes in a non-flexible version")
	}
	return append(AppendInt16(b, int16(len(v))), v...)
}

// AppendNullableString writes null for nil.
func AppendNullableString(b []byte, v *string, flexible bool) []byte {
	switch {
	case v != nil:
		return AppendString(b, *v, flexible)
	case flexible:
		return append(b, 0)
	default:
		return AppendInt16(b, -1)
	}
}

// AppendBytes writes bytes with their length: int32, or compact when flexible.
func AppendBytes(b, v []byte, flexible bool) []byte {
	return append(AppendArrayLen(b, len(v), flexible), v...)
}

// AppendNullableBytes writes null for nil.
func AppendNullableBytes(b, v []byte, flexible bool) []byte {
	if v == nil {
		return AppendNullArray(b, flexible)
	}
	return AppendBytes(b, v, flexible)
}

// AppendArrayLen begins an array of n elements.
func AppendArrayLen(b []byte, n int, flexible bool) []byte {
	if flexible {
		return AppendUvarint(b, uint64(n)+1)
	}
	return AppendInt32(b, int32(n))
}

// AppendNullArray writes an array, or bytes, that are null.
func AppendNullArray(b []byte, flexible bool) []byte {
	if flexible {
		return append(b, 0)
	}
	return AppendInt32(b, -1)
}

// AppendTag writes one tagged field: tag, size of what body appends, and that.
func AppendTag(b []byte, tag uint32, body func([]byte) []byte) []byte {
	b = AppendUvarint(b, uint64(tag))
	at := len(b)
	b = body(b)
	size := len(b) - at
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(size))
	b = append(b, head[:n]...)
	copy(b[at+n:], b[at:at+size])
	copy(b[at:], head[:n])
	return b
}
