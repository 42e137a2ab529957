package log

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/testkit/decoding"
)

func randomRecord(r *rand.Rand) Record {
	payload := make([]byte, r.IntN(5000))
	for i := range payload {
		payload[i] = byte(r.Uint32())
	}
	return Record{
		Type: RecordType(1 + r.IntN(4)), Copy: r.IntN(2) == 0, Unindexed: r.IntN(2) == 0,
		Stream: journal.Stream(bytes.Repeat([]byte("s"), r.IntN(60))), Seq: journal.Seq(r.Int64()), Index: r.Uint64(),
		Entry: core.Entry{
			Kind: core.EntryKind(r.IntN(256)), Op: core.IndexOp(r.IntN(256)), Base: core.Offset(r.Int64()), Last: core.Offset(-r.Int64()),
			Epoch: core.LeaderEpoch(r.Int32()), MaxTimestamp: -r.Int64(), Note: core.Offset(r.Int64()), Payload: payload,
		},
	}
}

func TestAFrameComesBackAsItWas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		want := randomRecord(r)
		b := append(appendFrameHeader(nil, &want), want.Entry.Payload...)
		want.CRC = crc32.Checksum(b, castagnoli)
		b = append(b, byte(want.CRC), byte(want.CRC>>8), byte(want.CRC>>16), byte(want.CRC>>24))
		if len(b) != frameSize(&want) {
			t.Fatalf("frame has %d bytes, frameSize says %d", len(b), frameSize(&want))
		}
		got, err := parseFrame(append(b, "what follows"...))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, want)
		}
		off := r.IntN(len(b))
		b[off] ^= 1 << r.IntN(8)
		if damaged, err := parseFrame(b); err == nil {
			t.Fatalf("a flip at %d was taken for %+v", off, damaged)
		}
	}
}

func TestAGroupHeaderComesBackAsItWas(t *testing.T) {
	for marks := range 5 {
		want := GroupHeader{Segment: 3, Offset: 512, Volume: core.Incarnation{1, 2}, First: 9, Frames: 4, Length: 1024, Prev: Hash{7}}
		for i := range marks {
			want.Marks = append(want.Marks, Mark{core.Incarnation{byte(i)}, core.ReplicaID(i), uint64(i) * 10, Hash{byte(i)}})
		}
		b := appendGroupHeader(nil, &want)
		got, size, ok := parseGroupHeader(b)
		if !ok || size != len(b) || size != groupHeaderSize(marks) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, %d bytes: got %+v, want %+v", ok, size, got, want)
		}
		for off := range b {
			b[off] ^= 0x10
			if _, _, ok := parseGroupHeader(b); ok {
				t.Fatalf("a flip at %d goes unnoticed", off)
			}
			b[off] ^= 0x10
		}
	}
}

// Whatever bytes stand where a frame should be, parsing neither panics nor believes them, and what it believes has one form.
func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		rec := randomRecord(r)
		rec.Entry.Payload = rec.Entry.Payload[:min(len(rec.Entry.Payload), 40)]
		f.Add(append(append(appendFrameHeader(nil, &rec), rec.Entry.Payload...), 0, 0, 0, 0))
	}
	f.Add(appendGroupHeader(nil, &GroupHeader{}))
	f.Add(appendGroupHeader(nil, &GroupHeader{Segment: 1, Marks: []Mark{{}, {Index: 7}}}))
	f.Add(append(encodeSegmentHeader(segmentMagic, SegmentHeader{Number: 3}), make([]byte, Sector)...))
	bound := decoding.Bound{PerByte: 32, Spare: 16 << 10} // with the copies that are made here
	f.Fuzz(func(t *testing.T, b []byte) {
		bound.Check(t, len(b), func() {
			for _, end := range ends(b) {
				sealed := bytes.Clone(b)
				binary.LittleEndian.PutUint32(sealed[end-frameCRC:], crc32.Checksum(sealed[:end-frameCRC], castagnoli))
				if r, err := parseFrame(sealed); err == nil {
					again := append(appendFrameHeader(nil, &r), r.Entry.Payload...)
					again = binary.LittleEndian.AppendUint32(again, crc32.Checksum(again, castagnoli))
					r.CRC = binary.LittleEndian.Uint32(again[len(again)-frameCRC:])
					if back, err := parseFrame(again); err != nil || !reflect.DeepEqual(back, r) {
						t.Fatalf("%+v reads back as %+v, %v", r, back, err)
					}
				}
				if g, _, ok := parseGroupHeader(sealed); ok {
					if back, _, ok := parseGroupHeader(appendGroupHeader(nil, &g)); !ok || !reflect.DeepEqual(back, g) {
						t.Fatalf("%+v reads back as %+v", g, back)
					}
				}
				_, _ = parseSegmentHeader(sealed)
				_, _ = parsePin(sealed)
			}
		})
	})
}

// ends are where a checksum may stand: behind what the bytes state themselves.
func ends(b []byte) (out []int) {
	for _, end := range []int{int(binary.LittleEndian.Uint32(append(bytes.Clone(b), 0, 0, 0, 0))), groupHeaderSize(int(append(bytes.Clone(b), make([]byte, 6)...)[5])), Sector} {
		if end >= frameCRC && end <= len(b) {
			out = append(out, end)
		}
	}
	return out
}

func TestADigestIsComputedOnceAndNeverConfused(t *testing.T) {
	c := digestCache{known: map[digestKey]*digest{}}
	payloads := make([][]byte, 200)
	for i := range payloads {
		payloads[i] = bytes.Repeat([]byte{byte(i)}, 300<<10) // together more than the cache holds
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for _, p := range payloads {
				c.ahead(p)
				if got := c.of(p); got != sha256.Sum256(p) {
					t.Error("a digest belongs to another payload")
				}
			}
		})
	}
	all.Wait()
	if c.bytes > digestBytes {
		t.Fatalf("the cache keeps %d bytes alive", c.bytes)
	}
	d, mine := c.claim(payloads[len(payloads)-1])
	if mine || d.hash != sha256.Sum256(d.payload) {
		t.Fatal("the newest digest was forgotten")
	}
}
