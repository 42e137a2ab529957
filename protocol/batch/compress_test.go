package batch

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"lockstep/protocol/perr"
)

// compressed repacks a batch; as one xerial stream when blocks is true.
func compressed(t testing.TB, b Batch, c Codec, blocks bool) Batch {
	t.Helper()
	var buf bytes.Buffer
	raw := b.Bytes[HeaderLen:]
	switch c {
	case None:
		buf.Write(raw)
	case Gzip:
		w := gzip.NewWriter(&buf)
		w.Write(raw)
		w.Close()
	case Snappy:
		if !blocks {
			buf.Write(snappy.Encode(nil, raw))
			break
		}
		buf.Write(xerial)
		buf.Write([]byte{0, 0, 0, 1, 0, 0, 0, 1})
		for len(raw) > 0 {
			n := min(len(raw), 32<<10)
			block := snappy.Encode(nil, raw[:n])
			buf.Write(binary.BigEndian.AppendUint32(nil, uint32(len(block))))
			buf.Write(block)
			raw = raw[n:]
		}
	case LZ4:
		w := lz4.NewWriter(&buf)
		w.Write(raw)
		w.Close()
	case Zstd:
		w, err := zstd.NewWriter(&buf)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(raw)
		w.Close()
	}
	p := append(bytes.Clone(b.Bytes[:HeaderLen]), buf.Bytes()...)
	p[posAttributes+1] |= byte(c)
	return resealed(p)
}

func TestEveryCodecGivesTheSameRecords(t *testing.T) {
	for _, size := range []struct{ n, bytes int }{{1, 0}, {7, 10}, {300, 100}, {3, 100 << 10}} {
		want := someRecords(size.n, size.bytes)
		b := Build(plain, want)
		for _, c := range []struct {
			codec  Codec
			blocks bool
		}{{None, false}, {Gzip, false}, {Snappy, false}, {Snappy, true}, {LZ4, false}, {Zstd, false}} {
			packed := compressed(t, b, c.codec, c.blocks)
			checked, bad := Produced(bytes.Clone(packed.Bytes), Rules{Version: 9})
			if bad != nil {
				t.Fatalf("%s %v %v: %v", c.codec, c.blocks, size, bad)
			}
			var got []Record
			if err := checked.Each(0, func(r Record) bool { got = append(got, r); return true }); err != nil {
				t.Fatalf("%s: %v", c.codec, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s %v: %d records came back changed", c.codec, size, len(got))
			}
		}
	}
}

func TestASmallBatchCannotGrowWithoutBound(t *testing.T) {
	value := make([]byte, 8<<20)
	b := Build(plain, []Record{{Timestamp: 1, Value: value}})
	for _, c := range []struct {
		codec  Codec
		blocks bool
	}{{Gzip, false}, {Snappy, false}, {Snappy, true}, {LZ4, false}, {Zstd, false}} {
		p := compressed(t, b, c.codec, c.blocks)
		if _, bad := Produced(bytes.Clone(p.Bytes), Rules{Version: 9, MaxDecompressed: 1 << 20}); bad == nil || bad.Code != perr.MessageTooLarge {
			t.Errorf("%s %v: told %v", c.codec, c.blocks, bad)
		}
		if err := p.Each(1<<20, func(Record) bool { return true }); err == nil {
			t.Errorf("%s %v: read beyond the bound", c.codec, c.blocks)
		}
	}
	// A snappy block that claims 1 GiB in a few bytes allocates nothing.
	lie := resealed(append(bytes.Clone(b.Bytes[:HeaderLen]), 0x80, 0x80, 0x80, 0x80, 0x04, 0, 0))
	lie.Bytes[posAttributes+1] = byte(Snappy)
	lie = resealed(lie.Bytes)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, bad := Produced(lie.Bytes, Rules{Version: 9, MaxDecompressed: 2 << 30})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; bad == nil || bad.Code != perr.CorruptMessage || n > 1<<20 {
		t.Errorf("a lying snappy block: told %v, %d bytes allocated", bad, n)
	}
}

// A window of 32 MiB in a batch of a hundred bytes: as many are held as there are processors, however many clients ask.
func TestDecodersAreAsManyAsProcessors(t *testing.T) {
	b := compressed(t, Build(plain, someRecords(2, 10)), Zstd, false)
	var dones []func()
	for range cap(decoders) {
		_, done, err := decompress(Zstd, b.Bytes[HeaderLen:], 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		dones = append(dones, done)
	}
	ended := make(chan *Invalid)
	go func() {
		_, bad := Produced(b.Bytes, Rules{Version: 9})
		ended <- bad
	}()
	select {
	case <-ended:
		t.Error("one more was decompressed beside the others")
	case <-time.After(20 * time.Millisecond):
	}
	for _, done := range dones {
		done()
	}
	if bad := <-ended; bad != nil {
		t.Error(bad)
	}
	if _, bad := Produced(resealed(append(bytes.Clone(b.Bytes[:HeaderLen]), "no frame"...)).Bytes, Rules{Version: 9}); bad == nil {
		t.Error("noise is decompressed")
	}
	if len(decoders) != 0 {
		t.Errorf("%d decoders were not given back", len(decoders))
	}
}
