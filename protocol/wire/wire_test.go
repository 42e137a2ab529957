package wire

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

func TestEveryPrimitiveComesBack(t *testing.T) {
	s := "héllo"
	for _, flexible := range []bool{false, true} {
		var b []byte
		b = AppendBool(AppendBool(b, true), false)
		b = AppendInt8(AppendInt16(b, -2), -1)
		b = AppendUint16(AppendInt32(b, math.MinInt32), 65535)
		b = AppendInt64(AppendUint32(b, math.MaxUint32), math.MinInt64)
		b = AppendFloat64(b, -0.5)
		b = AppendUUID(b, [16]byte{15: 9})
		b = AppendUvarint(b, math.MaxUint32)
		b = AppendVarint(AppendVarint(b, math.MinInt64), math.MaxInt64)
		b = AppendString(AppendString(b, "", flexible), s, flexible)
		b = AppendNullableString(AppendNullableString(b, nil, flexible), &s, flexible)
		b = AppendBytes(AppendBytes(b, nil, flexible), []byte{1, 2}, flexible)
		b = AppendNullableBytes(AppendNullableBytes(b, nil, flexible), []byte{}, flexible)
		b = AppendArrayLen(AppendNullArray(b, flexible), 1, flexible)
		b = append(b, 7)
		r := NewReader(b)
		ok := r.Bool() && !r.Bool() && r.Int16() == -2 && r.Int8() == -1 && r.Int32() == math.MinInt32 && r.Uint16() == 65535 &&
			r.Uint32() == math.MaxUint32 && r.Int64() == math.MinInt64 && r.Float64() == -0.5 && r.UUID() == [16]byte{15: 9} &&
			r.Uvarint() == math.MaxUint32 && r.Varint() == math.MinInt64 && r.Varint() == math.MaxInt64 &&
			r.String(flexible) == "" && r.String(flexible) == s && r.NullableString(flexible) == nil && *r.NullableString(flexible) == s &&
			r.Bytes(flexible) == nil && bytes.Equal(r.Bytes(flexible), []byte{1, 2})
		if null, empty := r.NullableBytes(flexible), r.NullableBytes(flexible); !ok || null != nil || empty == nil || len(empty) != 0 {
			t.Fatalf("flexible %t: changed on the way", flexible)
		}
		if r.NullableArrayLen(flexible, 1) != -1 || r.ArrayLen(flexible, 1) != 1 || r.Int8() != 7 || r.Complete() != nil {
			t.Fatalf("flexible %t: arrays changed on the way: %v", flexible, r.Err())
		}
	}
}

// Each read, on bytes that lie or end too early, fails once and gives zero values from then on.
func TestLyingLengthsFailWithoutAllocating(t *testing.T) {
	reads := map[string]func(*Reader, bool){
		"String":           func(r *Reader, f bool) { r.String(f) },
		"NullableString":   func(r *Reader, f bool) { r.NullableString(f) },
		"Bytes":            func(r *Reader, f bool) { r.Bytes(f) },
		"NullableBytes":    func(r *Reader, f bool) { r.NullableBytes(f) },
		"Records":          func(r *Reader, f bool) { r.Records(f) },
		"NullableRecords":  func(r *Reader, f bool) { r.NullableRecords(f) },
		"ArrayLen":         func(r *Reader, f bool) { _ = make([]int64, r.ArrayLen(f, 8)) },
		"NullableArrayLen": func(r *Reader, f bool) { _ = make([]int64, max(0, r.NullableArrayLen(f, 8))) },
		"SkipTags":         func(r *Reader, _ bool) { r.SkipTags() },
	}
	short := [][]byte{nil, {0}, {0x7f, 0xff}, {0xff, 0xfe}, {0x80, 0}}
	long := [][]byte{nil, {0}, {0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xfe}}
	compact := [][]byte{nil, {0xff}, {0xff, 0xff, 0xff, 0xff, 0x0f}, {0xff, 0xff, 0xff, 0xff, 0x1f}, {0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, {9, 1}}
	lies := func(name string, flexible bool) [][]byte {
		switch {
		case flexible || name == "SkipTags":
			return compact
		case strings.HasSuffix(name, "String"):
			return short
		default:
			return long
		}
	}
	for name, read := range reads {
		for _, flexible := range []bool{false, true} {
			for _, lie := range lies(name, flexible) {
				r := NewReader(lie)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				read(&r, flexible)
				runtime.ReadMemStats(&after)
				if r.Err() == nil {
					t.Errorf("%s flexible %t: %x is accepted", name, flexible, lie)
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
					t.Errorf("%s flexible %t: %x allocates %d bytes", name, flexible, lie, n)
				}
				first := r.Err()
				if r.Int64() != 0 || r.String(flexible) != "" || r.Len() != 0 || !errors.Is(r.Err(), first) {
					t.Errorf("%s: reading goes on after the error", name)
				}
			}
		}
	}
}

func TestNullIsRefusedWhereAValueIsRequired(t *testing.T) {
	for _, read := range []func(*Reader){
		func(r *Reader) { r.String(true) }, func(r *Reader) { r.Bytes(true) }, func(r *Reader) { r.Records(true) }, func(r *Reader) { r.ArrayLen(true, 1) },
	} {
		r := NewReader([]byte{0, 0, 0})
		if read(&r); r.Err() == nil {
			t.Error("null is accepted")
		}
	}
}

func TestACountIsHeldAgainstTheSizeOfItsElements(t *testing.T) {
	b := AppendArrayLen(nil, 4, true)
	b = append(b, make([]byte, 31)...)
	if r := NewReader(b); r.ArrayLen(true, 8) != 0 || r.Err() == nil {
		t.Error("four elements of eight bytes in 31 are accepted")
	}
	if r := NewReader(append(b, 0)); r.ArrayLen(true, 8) != 4 || r.Err() != nil {
		t.Error("four elements of eight bytes in 32 are refused")
	}
}

func TestTaggedFieldsKeepToTheirSize(t *testing.T) {
	long := bytes.Repeat([]byte{5}, 300)
	b := AppendTag(nil, 1, func(b []byte) []byte { return AppendInt32(b, 7) })
	b = AppendTag(b, 10000, func(b []byte) []byte { return append(b, long...) })
	r := NewReader(b)
	tag, body := r.Tag()
	if v := body.Int32(); tag != 1 || v != 7 {
		t.Fatalf("tag %d", tag)
	}
	r.EndTag(tag, &body)
	if tag, body = r.Tag(); tag != 10000 || !bytes.Equal(body.Rest(), long) || r.Complete() != nil {
		t.Fatalf("tag %d, %d bytes, %v", tag, body.Len(), r.Err())
	}
	if r.EndTag(tag, &body); r.Err() == nil {
		t.Fatal("bytes left over in a known tag are accepted")
	}
}
