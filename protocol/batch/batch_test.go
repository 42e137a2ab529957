package batch

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
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

// resealed puts length and CRC right after bytes were changed.
func resealed(p []byte) Batch {
	binary.BigEndian.PutUint32(p[posLength:], uint32(len(p)-lengthBias))
	b := header(p)
	b.seal()
	return header(p)
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
