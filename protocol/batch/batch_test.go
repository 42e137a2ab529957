package batch

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

var plain = Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, LeaderEpoch: -1}

func someRecords(n, size int) []Record {
	rng := rand.New(rand.NewPCG(1, uint64(n*size)))
	out := make([]Record, n)
	for i := range out {
		value := make([]byte, size)
		for j := range value {
			value[j] = byte('a' + rng.IntN(4))
		}
		out[i] = Record{Offset: int64(i), Timestamp: 1700000000000 + int64(rng.IntN(1000)), Key: []byte{byte(i), byte(i >> 8)}, Value: value}
		if i%3 == 0 {
			out[i].Headers = []Header{{Key: "h", Value: []byte("v")}, {Key: "", Value: nil}}
		}
		if i%5 == 4 {
			out[i].Value = nil
		}
	}
	return out
}

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

// resealed puts length and CRC right after bytes were changed.
func resealed(p []byte) Batch {
	binary.BigEndian.PutUint32(p[posLength:], uint32(len(p)-lengthBias))
	b := header(p)
	b.seal()
	return header(p)
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

func TestBuildAgreesWithAnotherImplementation(t *testing.T) {
	h := Batch{BaseOffset: 40, LeaderEpoch: 3, ProducerID: 9, ProducerEpoch: 2, BaseSequence: 11}
	b := Build(h, someRecords(5, 20))
	var other kmsg.RecordBatch
	if err := other.ReadFrom(b.Bytes); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(other.AppendTo(nil), b.Bytes) {
		t.Fatal("kmsg writes other bytes")
	}
	if other.FirstOffset != 40 || other.NumRecords != 5 || other.ProducerID != 9 || other.FirstSequence != 11 ||
		other.LastOffsetDelta != 4 || other.MaxTimestamp != b.MaxTimestamp || uint32(other.CRC) != b.CRC {
		t.Fatalf("kmsg reads %+v", other)
	}
	for rest := other.Records; len(rest) > 0; {
		var r kmsg.Record
		n, used := binary.Varint(rest)
		if err := r.ReadFrom(rest[:used+int(n)]); err != nil {
			t.Fatal(err)
		}
		rest = rest[used+int(n):]
	}
}

// One change at a time to a good batch, and what the producer is told.
func TestABadBatchIsRefusedWithItsReason(t *testing.T) {
	set := func(pos int, v ...byte) func([]byte) []byte {
		return func(p []byte) []byte { copy(p[pos:], v); return p }
	}
	i32 := func(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
	cases := []struct {
		name   string
		change func([]byte) []byte
		seal   bool // put length and CRC right again
		rules  Rules
		code   perr.Code
		text   string
		record int32 // -1: none named
	}{
		{"nothing", func(p []byte) []byte { return nil }, false, Rules{}, perr.InvalidRecord, "exactly one", -1},
		{"cut", func(p []byte) []byte { return p[:len(p)-1] }, false, Rules{}, perr.CorruptMessage, "end inside", -1},
		{"cut in the header", func(p []byte) []byte { return p[:12] }, false, Rules{}, perr.CorruptMessage, "end inside", -1},
		{"magic 1", set(posMagic, 1), true, Rules{}, perr.InvalidRecord, "magic 1", -1},
		{"magic 3", set(posMagic, 3), true, Rules{}, perr.CorruptMessage, "magic 3", -1},
		{"length negative", set(posLength, 0xff), false, Rules{}, perr.CorruptMessage, "length -", -1},
		{"length below a header", set(posLength, 0, 0, 0, 48), false, Rules{}, perr.CorruptMessage, "length 48", -1},
		{"two batches", func(p []byte) []byte { return append(p, p...) }, false, Rules{}, perr.InvalidRecord, "follow the record batch", -1},
		{"flipped bit", set(len(Build(plain, someRecords(3, 8)).Bytes)-2, 0xff), false, Rules{}, perr.CorruptMessage, "CRC", -1},
		{"base offset", set(7, 5), true, Rules{}, perr.InvalidRecord, "base offset 5", -1},
		{"count 0", set(posCount, i32(0)...), true, Rules{}, perr.InvalidRecord, "0 records", -1},
		{"count negative", set(posCount, i32(-1)...), true, Rules{}, perr.InvalidRecord, "-1 records", -1},
		{"count too high", set(posCount, i32(1<<30)...), true, Rules{}, perr.InvalidRecord, "1073741824 records", -1},
		{"count and delta too high", func(p []byte) []byte { copy(p[posCount:], i32(4)); copy(p[posLastDelta:], i32(3)); return p }, true, Rules{}, perr.InvalidRecord, "ends before", 3},
		{"count and delta too low", func(p []byte) []byte { copy(p[posCount:], i32(2)); copy(p[posLastDelta:], i32(1)); return p }, true, Rules{}, perr.InvalidRecord, "more bytes", -1},
		{"delta negative", set(posLastDelta, i32(-2)...), true, Rules{}, perr.InvalidRecord, "delta -2", -1},
		{"control bit", set(posAttributes+1, attrControl), true, Rules{}, perr.InvalidRecord, "control", -1},
		{"unknown attribute", set(posAttributes, 1), true, Rules{}, perr.InvalidRecord, "attributes", -1},
		{"append time", set(posAttributes+1, attrAppendTime), true, Rules{}, perr.InvalidTimestamp, "create times", -1},
		{"codec 5", set(posAttributes+1, 5), true, Rules{}, perr.InvalidRecord, "codec 5", -1},
		{"codec that does not fit", set(posAttributes+1, 3), true, Rules{}, perr.CorruptMessage, "lz4", -1},
		{"zstd for an old client", set(posAttributes+1, 4), true, Rules{Version: 6}, perr.UnsupportedCompressionType, "version 7", -1},
		{"producer without epoch", set(posProducerID, 0, 0, 0, 0, 0, 0, 0, 1), true, Rules{}, perr.InvalidRecord, "producer id 1", -1},
		{"producer id -2", set(posProducerID+7, 0xfe), true, Rules{}, perr.InvalidRecord, "producer id -2", -1},
		{"transaction without producer", set(posAttributes+1, attrTransaction), true, Rules{}, perr.InvalidRecord, "transactional", -1},
		{"larger than the topic allows", func(p []byte) []byte { return p }, false, Rules{MaxBytes: 100}, perr.MessageTooLarge, "max.message.bytes = 100", -1},
		{"larger than a segment", func(p []byte) []byte { return p }, false, Rules{SegmentBytes: 100}, perr.RecordListTooLarge, "segment of 100", -1},
		{"too old", func(p []byte) []byte { return p }, false, Rules{Oldest: 1800000000000}, perr.InvalidTimestamp, "refused", 0},
		{"too new", func(p []byte) []byte { return p }, false, Rules{Newest: 1600000000000}, perr.InvalidTimestamp, "refused", 0},
		{"record length", set(HeaderLen, 0x7e), true, Rules{}, perr.InvalidRecord, "record 0", 0},
		{"record length negative", set(HeaderLen, 1), true, Rules{}, perr.InvalidRecord, "record 0", 0},
		{"offset delta", set(HeaderLen+3, 4), true, Rules{}, perr.InvalidRecord, "offset delta", 0},
	}
	for _, c := range cases {
		p := c.change(bytes.Clone(Build(plain, someRecords(3, 8)).Bytes))
		if c.seal {
			p = resealed(p).Bytes
		}
		c.rules.Version = max(c.rules.Version, 3)
		_, bad := Produced(p, c.rules)
		switch {
		case bad == nil:
			t.Errorf("%s: accepted", c.name)
		case bad.Code != c.code || !strings.Contains(bad.Text, c.text):
			t.Errorf("%s: told %s %q, want %s %q", c.name, bad.Code, bad.Text, c.code, c.text)
		case c.record < 0 && len(bad.Records) > 0 || c.record >= 0 && (len(bad.Records) == 0 || bad.Records[0].Index != c.record):
			t.Errorf("%s: names records %v, want %d", c.name, bad.Records, c.record)
		}
	}
}

func TestACompactedTopicNeedsKeysAndNamesEveryRecordWithout(t *testing.T) {
	records := someRecords(4, 3)
	records[1].Key, records[3].Key = nil, nil
	_, bad := Produced(Build(plain, records).Bytes, Rules{Version: 9, Compacted: true})
	if bad == nil || bad.Code != perr.InvalidRecord || len(bad.Records) != 2 || bad.Records[0].Index != 1 || bad.Records[1].Index != 3 {
		t.Fatalf("told %+v", bad)
	}
}

// kafkajs and sarama leave epoch and sequence 0 when they are not idempotent.
func TestAnOrdinaryProducerMayLeaveEpochAndSequenceZero(t *testing.T) {
	b := Build(Batch{ProducerID: -1}, someRecords(2, 2))
	if _, bad := Produced(b.Bytes, Rules{Version: 3}); bad != nil {
		t.Fatal(bad)
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
	if _, bad := Produced(lie.Bytes, Rules{Version: 9, MaxDecompressed: 2 << 30}); bad == nil || bad.Code != perr.CorruptMessage {
		t.Errorf("a lying snappy block: told %v", bad)
	}
}

func TestAMissingMaxTimestampIsComputed(t *testing.T) {
	good := Build(plain, someRecords(5, 5))
	for _, stated := range []int64{-1, 0, 1 << 60} {
		p := bytes.Clone(good.Bytes)
		binary.BigEndian.PutUint64(p[posMaxTime:], uint64(stated))
		fixed, bad := Produced(resealed(p).Bytes, Rules{Version: 9})
		if bad != nil || fixed.MaxTimestamp != good.MaxTimestamp || !bytes.Equal(fixed.Bytes, good.Bytes) || fixed.CRC != good.CRC {
			t.Fatalf("stated %d: %v, max %d, want %d", stated, bad, fixed.MaxTimestamp, good.MaxTimestamp)
		}
	}
}

func TestAppendTimeReplacesEveryRecordsTime(t *testing.T) {
	b, bad := Produced(Build(plain, someRecords(5, 5)).Bytes, Rules{Version: 9, AppendTime: 42, Oldest: 1 << 50})
	if bad != nil {
		t.Fatal(bad)
	}
	again, _, err := Parse(b.Bytes)
	if err != nil || Validate(again) != nil || !again.HasAppendTime() || again.MaxTimestamp != 42 {
		t.Fatalf("%v %v %+v", err, Validate(again), again)
	}
	again.Each(0, func(r Record) bool {
		if r.Timestamp != 42 {
			t.Errorf("record %d has time %d", r.Offset, r.Timestamp)
		}
		return true
	})
}

func TestStampingKeepsTheChecksum(t *testing.T) {
	b := Build(plain, someRecords(3, 3)).Stamped(1<<40, 77)
	again, rest, err := Parse(append(bytes.Clone(b.Bytes), 1, 2, 3))
	if err != nil || len(rest) != 3 || Validate(again) != nil || again.BaseOffset != 1<<40 || again.LeaderEpoch != 77 || again.LastOffset() != 1<<40+2 {
		t.Fatalf("%v %+v", err, again)
	}
	var offsets []int64
	again.Each(0, func(r Record) bool { offsets = append(offsets, r.Offset); return len(offsets) < 2 })
	if !reflect.DeepEqual(offsets, []int64{1 << 40, 1<<40 + 1}) {
		t.Fatalf("offsets %v", offsets)
	}
}

func TestAPidResetSaysWhatSurvives(t *testing.T) {
	for _, keep := range []Keep{KeepNothing, KeepIdempotent} {
		b := MirrorPidReset(99, keep).Stamped(5, 6)
		if got, err := b.PidReset(); err != nil || got != keep || Validate(b) != nil || !b.IsControl() || b.ProducerID != -1 {
			t.Fatalf("keep %d: %d %v %+v", keep, got, err, b)
		}
		if _, bad := Produced(MirrorPidReset(99, keep).Bytes, Rules{Version: 9}); bad == nil {
			t.Fatal("a client may write a control batch")
		}
	}
	for _, value := range [][]byte{{0, 0}, {0, 0, 0}, {0, 9, 1, 2, 3}} {
		b := Build(Batch{Attributes: attrControl, ProducerID: -1}, []Record{{Key: []byte{0, 0, 0, 7}, Value: value}})
		if got, err := b.PidReset(); err != nil || got != KeepNothing {
			t.Fatalf("value %x of the base KIP, or of a newer one: %d %v", value, got, err)
		}
	}
	abort := Build(Batch{Attributes: attrControl, ProducerID: 1}, []Record{{Key: []byte{0, 0, 0, 0}, Value: nil}})
	if kind, _, err := abort.Control(); err != nil || kind != ControlAbort {
		t.Fatalf("%d %v", kind, err)
	}
	if _, err := abort.PidReset(); err == nil {
		t.Fatal("an ABORT is not a reset")
	}
}

func TestAGoodUncompressedBatchCostsNoAllocation(t *testing.T) {
	b := Build(plain, someRecords(500, 50))
	if n := testing.AllocsPerRun(100, func() {
		if _, bad := Produced(b.Bytes, Rules{Version: 9, MaxBytes: 1 << 20, Compacted: true}); bad != nil {
			t.Fatal(bad)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkProduced(b *testing.B) {
	batch := Build(plain, someRecords(1000, 100))
	b.SetBytes(int64(len(batch.Bytes)))
	for b.Loop() {
		if _, bad := Produced(batch.Bytes, Rules{Version: 9}); bad != nil {
			b.Fatal(bad)
		}
	}
}

// Whatever the bytes, nothing panics, and what is accepted can be walked and is stable.
func FuzzProduced(f *testing.F) {
	good := Build(plain, someRecords(4, 30))
	for _, c := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		p := compressed(f, good, c, false).Bytes
		f.Add(p, true)
		rng := rand.New(rand.NewPCG(7, uint64(c)))
		for range 300 {
			q := bytes.Clone(p)
			for range 1 + rng.IntN(3) {
				q[rng.IntN(len(q))] = byte(rng.Uint32())
			}
			f.Add(q, true)
			f.Add(q[:rng.IntN(len(q))], false)
		}
	}
	f.Fuzz(func(t *testing.T, p []byte, seal bool) {
		if seal && len(p) >= HeaderLen {
			p[posMagic] = magic
			p = resealed(bytes.Clone(p)).Bytes
		}
		b, bad := Produced(p, Rules{Version: 9, MaxDecompressed: 1 << 20})
		if bad != nil {
			if bad.Code == perr.None || bad.Text == "" {
				t.Fatalf("refused without a reason: %+v", bad)
			}
			return
		}
		n := int32(0)
		if err := b.Each(1<<20, func(Record) bool { n++; return true }); err != nil || n != b.Records {
			t.Fatalf("accepted, but walking gives %d of %d records: %v", n, b.Records, err)
		}
		if again, bad := Produced(b.Bytes, Rules{Version: 9, MaxDecompressed: 1 << 20}); bad != nil || again.CRC != b.CRC {
			t.Fatalf("accepted once, then %v", bad)
		}
	})
}
