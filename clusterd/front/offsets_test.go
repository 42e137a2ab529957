package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

func (h *house) listOffsetAt(topic string, version int16, isolation int8, timestamps ...int64) []kmsg.ListOffsetsResponseTopicPartition {
	h.t.Helper()
	var answers []kmsg.ListOffsetsResponseTopicPartition
	for _, ts := range timestamps {
		r := kmsg.NewPtrListOffsetsRequest()
		r.ReplicaID, r.IsolationLevel = -1, isolation
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = topic
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Timestamp = ts
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		answers = append(answers, h.raw(1, r, version).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0])
	}
	return answers
}

func (h *house) listOffset(topic string, ts int64) kmsg.ListOffsetsResponseTopicPartition {
	return h.listOffsetAt(topic, 11, 0, ts)[0]
}

func (h *house) latest(topic string) int64 { return h.listOffset(topic, -1).Offset }

// TestOffsetsByTime: compat-L01 to L05, L07, L08, L10.
func TestOffsetsByTime(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	const day = 1_700_000_000_000
	for _, times := range [][]int64{{day + 10, day + 30, day + 20}, {day + 5}, {day + 40, day + 40, day + 35}, {day + 1}} {
		var records []batch.Record
		for _, at := range times {
			records = append(records, batch.Record{Timestamp: at})
		}
		if got := h.produceOnce("t", 9, -1, batch.Build(plain, records).Bytes); got.ErrorCode != 0 {
			t.Fatal(perr.Code(got.ErrorCode))
		}
	}
	epoch := h.listOffset("t", -1).LeaderEpoch
	if epoch < 0 {
		t.Errorf("leader epoch %d beside the latest offset", epoch)
	}
	for _, c := range []struct {
		ask, offset, time int64
		epoch             int32
	}{
		{-1, 8, -1, epoch}, {-2, 0, -1, epoch}, {-3, 4, day + 40, epoch}, {-4, 0, -1, epoch}, {-5, -1, -1, -1}, {-6, -1, -1, -1},
		{0, 0, day + 10, epoch}, {day + 10, 0, day + 10, epoch}, {day + 11, 1, day + 30, epoch}, {day + 30, 1, day + 30, epoch},
		{day + 31, 4, day + 40, epoch}, {day + 40, 4, day + 40, epoch}, {day + 41, -1, -1, -1},
	} {
		got := h.listOffset("t", c.ask)
		if got.ErrorCode != 0 || got.Offset != c.offset || got.Timestamp != c.time || got.LeaderEpoch != c.epoch {
			t.Errorf("timestamp %d: %s offset %d time %d epoch %d, want %d %d %d", c.ask, perr.Code(got.ErrorCode), got.Offset,
				got.Timestamp, got.LeaderEpoch, c.offset, c.time, c.epoch)
		}
	}
}

// The log may begin inside of a batch: what is left of it is not its newest record, which is deleted, and may be older than
// what follows (compat-L07).
func TestTheNewestTimeIsOfWhatIsThere(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	const day = 1_700_000_000_000
	for _, times := range [][]int64{{day + 90, day + 10, day + 20}, {day + 50, day + 60}, {day + 30}} {
		var records []batch.Record
		for _, at := range times {
			records = append(records, batch.Record{Timestamp: at})
		}
		if got := h.produceOnce("t", 9, -1, batch.Build(plain, records).Bytes); got.ErrorCode != 0 {
			t.Fatal(perr.Code(got.ErrorCode))
		}
	}
	for _, c := range []struct{ start, offset, time int64 }{{0, 0, day + 90}, {1, 4, day + 60}, {2, 4, day + 60}, {4, 4, day + 60}, {5, 5, day + 30}, {6, -1, -1}} {
		if c.start > 0 {
			if got := h.deleteRecords(1, "t", c.start, 2); got.ErrorCode != 0 {
				t.Fatal(perr.Code(got.ErrorCode))
			}
		}
		if got := h.listOffset("t", -3); got.ErrorCode != 0 || got.Offset != c.offset || got.Timestamp != c.time {
			t.Errorf("from %d on: %s offset %d time %d, want %d %d", c.start, perr.Code(got.ErrorCode), got.Offset, got.Timestamp, c.offset, c.time)
		}
	}
}

// TestOldVersionsDoNotKnowNewTimestamps: compat-L10.
func TestOldVersionsDoNotKnowNewTimestamps(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	for ts, since := range map[int64]int16{-3: 7, -4: 8, -5: 9, -6: 11} {
		if got := h.listOffsetAt("t", since-1, 0, ts)[0]; perr.Code(got.ErrorCode) != perr.UnsupportedVersion {
			t.Errorf("timestamp %d at version %d: %s", ts, since-1, perr.Code(got.ErrorCode))
		}
		if got := h.listOffsetAt("t", since, 0, ts)[0]; got.ErrorCode != 0 {
			t.Errorf("timestamp %d at version %d: %s", ts, since, perr.Code(got.ErrorCode))
		}
	}
}

// TestDuplicatePartitionsInOneQuestion: compat-L11.
func TestDuplicatePartitionsInOneQuestion(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 2, 1, nil)
	r := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = "t"
	for _, p := range []int32{0, 1, 0} {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, -2
		rt.Partitions = append(rt.Partitions, rp)
	}
	r.Topics = append(r.Topics, rt)
	got := h.raw(1, r, 7).(*kmsg.ListOffsetsResponse).Topics[0].Partitions
	if got[0].ErrorCode != 42 || got[1].ErrorCode != 0 || got[2].ErrorCode != 42 {
		t.Errorf("%+v", got)
	}
}

// TestEpochEnds: compat-E01, compat-E02, compat-K5, with a restart that begins a second epoch.
func TestEpochEnds(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	first := h.listOffset("t", -1).LeaderEpoch
	h.produceOnce("t", 9, -1, oneRecord(plain, "a"))
	h.produceOnce("t", 9, -1, oneRecord(plain, "b"))
	h.restart()
	waitFor(t, "a leader", func() bool { return h.listOffset("t", -1).ErrorCode == 0 })
	second := h.listOffset("t", -1).LeaderEpoch
	if second <= first {
		t.Fatalf("epoch %d after a restart from epoch %d", second, first)
	}
	ask := func(current, epoch int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
		r := kmsg.NewPtrOffsetForLeaderEpochRequest()
		rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
		rt.Topic = "t"
		rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		rp.CurrentLeaderEpoch, rp.LeaderEpoch = current, epoch
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		return h.raw(1, r, 2).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
	}
	check := func(when string, current, epoch int32, code perr.Code, wantEpoch int32, wantEnd int64) {
		t.Helper()
		got := ask(current, epoch)
		if perr.Code(got.ErrorCode) != code || got.LeaderEpoch != wantEpoch || got.EndOffset != wantEnd {
			t.Errorf("%s: %s epoch %d ends at %d, want %s %d %d", when, perr.Code(got.ErrorCode), got.LeaderEpoch, got.EndOffset, code, wantEpoch, wantEnd)
		}
	}
	check("the first epoch", -1, first, perr.None, first, 2)
	check("the current epoch", second, second, perr.None, second, 2)
	check("an epoch of the future", -1, second+1, perr.None, -1, -1)
	check("no epoch", -1, -1, perr.None, -1, -1)
	check("a fenced client", first, first, perr.FencedLeaderEpoch, -1, -1)
	check("a client from the future", second+5, first, perr.UnknownLeaderEpoch, -1, -1)
	h.produceOnce("t", 9, -1, oneRecord(plain, "c"))
	check("the first epoch, with a batch after it", -1, first, perr.None, first, 2)
	check("the current epoch, with a batch", -1, second, perr.None, second, 3)
	if first > 0 {
		check("lower than all known", -1, first-1, perr.None, first-1, 0)
	}
}
