package batch

import (
	"reflect"
	"testing"
)

func kept(t *testing.T, b Batch) []Record {
	t.Helper()
	again, rest, err := Parse(b.Bytes)
	if err != nil || len(rest) != 0 || Validate(again) != nil || !reflect.DeepEqual(again, b) {
		t.Fatalf("%v %v: %+v", err, Validate(again), again)
	}
	var list []Record
	if err := again.Each(0, func(r Record) bool { list = append(list, r); return true }); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCleaningKeepsOffsetsAndTimes: compat-R07.
func TestCleaningKeepsOffsetsAndTimes(t *testing.T) {
	for _, codec := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		h := Batch{BaseOffset: 40, LeaderEpoch: 3, ProducerID: 9, ProducerEpoch: 2, BaseSequence: 11, Attributes: attrTransaction}
		b := compressed(t, Build(h, someRecords(50, 30)), codec, false)
		all := kept(t, b)
		if b.Cleaned() {
			t.Fatal("nothing is missing")
		}
		want := []Record{all[3], all[4], all[17], all[49]}
		keep := func(r Record) bool {
			d := r.Offset - 40
			return d == 3 || d == 4 || d == 17 || d == 49
		}
		for _, horizon := range []int64{-1, 1700000500000, -1} {
			some, err := b.Keeping(keep, horizon)
			if err != nil || !reflect.DeepEqual(kept(t, some), want) || !some.Cleaned() || some.Codec() != codec {
				t.Fatalf("%s, horizon %d: %v %+v", codec, horizon, err, some)
			}
			at, stated := some.DeleteHorizon()
			if stated != (horizon >= 0) || stated && at != horizon {
				t.Fatalf("horizon %d %v, want %d", at, stated, horizon)
			}
			if some.BaseOffset != 40 || some.LastOffset() != 89 || some.LeaderEpoch != 3 || some.ProducerID != 9 || some.ProducerEpoch != 2 || some.BaseSequence != 11 || !some.IsTransactional() {
				t.Fatalf("%+v", some)
			}
			b = some // a batch is cleaned more than once
		}
		shell, err := b.Keeping(func(Record) bool { return false }, 7)
		if err != nil || len(kept(t, shell)) != 0 || len(shell.Bytes) != HeaderLen || shell.LastOffset() != 89 || shell.ProducerID != 9 || shell.BaseSequence != 11 || shell.Codec() != None || shell.IsNothing() {
			t.Fatalf("%v %+v", err, shell)
		}
		if _, stated := shell.DeleteHorizon(); stated {
			t.Fatal("nothing is left to delete")
		}
	}
}

func TestAHorizonLeavesTheTimeOfAppend(t *testing.T) {
	b, bad := Produced(Build(plain, someRecords(5, 5)).Bytes, Rules{Version: 9, AppendTime: 42})
	if bad != nil {
		t.Fatal(bad)
	}
	some, err := b.Keeping(func(r Record) bool { return r.Offset > 2 }, 99)
	if list := kept(t, some); err != nil || len(list) != 2 || list[0].Timestamp != 42 || some.MaxTimestamp != 42 {
		t.Fatalf("%v %+v", err, list)
	}
}

func TestAPartOfNothingIsNothing(t *testing.T) {
	b := Nothing(5, 20, 3)
	if len(kept(t, b)) != 0 || !b.IsNothing() || !b.Cleaned() || b.BaseOffset != 5 || b.LastOffset() != 20 || b.LeaderEpoch != 3 || b.MaxTimestamp != -1 {
		t.Fatalf("%+v", b)
	}
	if rest, ok := b.From(12); !ok || rest.BaseOffset != 12 || rest.LastOffset() != 20 || rest.LeaderEpoch != 3 || len(kept(t, rest)) != 0 {
		t.Fatalf("%v %+v", ok, rest)
	}
	for _, at := range []int64{4, 21} {
		if _, ok := b.From(at); ok {
			t.Fatalf("%d is not inside", at)
		}
	}
	full := Build(Batch{BaseOffset: 5, ProducerID: -1}, someRecords(9, 9))
	if _, ok := full.From(7); ok || full.IsNothing() {
		t.Fatal("records are not cut off")
	}
}
