package batch

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lockstep/protocol/perr"
	"lockstep/testkit/decoding"
)

const fuzzLimit = 1 << 20 // bytes that a batch may have, decompressed

// What a batch may cost: a window and the blocks of a decoder that is made for it, then what grows from its bytes. Whoever
// keeps the records has them all, and a header of two bytes takes forty.
var (
	validating = decoding.Bound{PerByte: snapRatio + 8, Spare: zstdWindow + 12<<20}
	walking    = decoding.Bound{PerByte: snapRatio + 8, Spare: zstdWindow + 12<<20 + 30*fuzzLimit}
)

// packed are good batches in every codec, and bent ones.
func packed(f *testing.F, add func([]byte)) {
	good := Build(plain, someRecords(4, 30))
	for _, c := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		p := compressed(f, good, c, false).Bytes
		add(p)
		rng := rand.New(rand.NewPCG(7, uint64(c)))
		for range 10 {
			q := bytes.Clone(p)
			for range 1 + rng.IntN(3) {
				q[rng.IntN(len(q))] = byte(rng.Uint32())
			}
			add(q)
			add(q[:rng.IntN(len(q))])
		}
	}
	add(compressed(f, good, Snappy, true).Bytes)
}

// sealed puts magic, length and CRC right, so that what lies behind them is reached.
func sealed(p []byte, seal bool) []byte {
	if p = bytes.Clone(p); seal && len(p) >= HeaderLen {
		p[posMagic] = magic
		p = resealed(p).Bytes
	}
	return p
}

// Whatever the bytes, nothing panics, and what is accepted can be walked and is stable.
func FuzzProduced(f *testing.F) {
	packed(f, func(p []byte) { f.Add(p, true); f.Add(p, false) })
	f.Fuzz(func(t *testing.T, p []byte, seal bool) {
		p = sealed(p, seal)
		var b Batch
		var bad *Invalid
		validating.Check(t, len(p), func() { b, bad = Produced(bytes.Clone(p), Rules{Version: 9, MaxDecompressed: fuzzLimit}) })
		if bad != nil {
			if bad.Code == perr.None || bad.Text == "" {
				t.Fatalf("refused without a reason: %+v", bad)
			}
			return
		}
		n := int32(0)
		if err := b.Each(fuzzLimit, func(Record) bool { n++; return true }); err != nil || n != b.Records {
			t.Fatalf("accepted, but walking gives %d of %d records: %v", n, b.Records, err)
		}
		if again, bad := Produced(b.Bytes, Rules{Version: 9, MaxDecompressed: fuzzLimit}); bad != nil || again.CRC != b.CRC {
			t.Fatalf("accepted once, then %v", bad)
		}
	})
}

// Whatever another cluster's log or our own disk gives: batches that no producer sent, markers and resets among them.
func FuzzStored(f *testing.F) {
	packed(f, func(p []byte) { f.Add(p, true) })
	for _, b := range []Batch{MirrorPidReset(1, KeepIdempotent), EndTxn(1, 7, 3, Marker{Commit: true, CoordinatorEpoch: 5}), EndTxn(1, 7, 3, Marker{CoordinatorEpoch: -1})} {
		for _, c := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
			f.Add(compressed(f, b, c, false).Bytes, true)
		}
	}
	f.Fuzz(func(t *testing.T, p []byte, seal bool) {
		p = sealed(p, seal)
		b, rest, err := Parse(p)
		if err != nil {
			return
		}
		if len(b.Bytes)+len(rest) != len(p) {
			t.Fatalf("%d bytes are a batch of %d and %d that follow", len(p), len(b.Bytes), len(rest))
		}
		walking.Check(t, len(p), func() {
			_ = Validate(b)
			_ = b.Each(fuzzLimit, func(r Record) bool { return len(r.Value) <= fuzzLimit })
		})
		validating.Check(t, len(p), func() {
			_, _, _ = b.Control()
			_, _ = b.EndOfTxn()
			_, _ = b.PidReset()
		})
	})
}
