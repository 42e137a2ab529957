package front

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// deleteRecords asks a broker for one partition.
func (h *house) deleteRecords(broker int, topic string, before int64, version int16) kmsg.DeleteRecordsResponseTopicPartition {
	h.t.Helper()
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.TimeoutMillis = 10_000
	r.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: before}}}}
	return h.raw(broker, r, version).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
}

// TestDeletedRecordsAreGoneForStockClients: what kadm deletes, kgo does not read any more, from any place, also after a restart.
func TestDeletedRecordsAreGoneForStockClients(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 2, 3, nil)
	var records []*kgo.Record
	for i := range 20 {
		records = append(records, &kgo.Record{Value: fmt.Append(nil, i), Partition: int32(i % 2)})
	}
	h.produce("t", records, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(1))
	adm := kadm.NewClient(h.client())
	var offsets kadm.Offsets
	offsets.AddOffset("t", 0, 7, -1)
	offsets.AddOffset("t", 1, -1, -1)
	deleted, err := adm.DeleteRecords(patient(t), offsets)
	if err != nil || deleted.Error() != nil {
		t.Fatal(err, deleted.Error())
	}
	for p, want := range []int64{7, 10} {
		if got, _ := deleted.Lookup("t", int32(p)); got.LowWatermark != want {
			t.Errorf("partition %d: low watermark %d, want %d", p, got.LowWatermark, want)
		}
		for _, b := range h.cluster.Brokers() {
			for _, r := range b.Replicas() {
				if v := r.View(); r.ID().Index == int32(p) && v.LogStart != core.Offset(want) {
					t.Errorf("broker %d, partition %d begins at %d when the answer says %d", b.ID(), p, v.LogStart, want)
				}
			}
		}
	}
	look := func() {
		t.Helper()
		starts, err := adm.ListStartOffsets(patient(t), "t")
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range []int64{7, 10} {
			if got, _ := starts.Lookup("t", int32(p)); got.Offset != want {
				t.Errorf("partition %d begins at %d, want %d", p, got.Offset, want)
			}
		}
		wantEqual(t, "records left", h.consume("t", 3), []string{"14", "16", "18"})
		// A consumer below the log start is told so, and begins where its policy says.
		from := map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().At(2)}}
		wantEqual(t, "records after a reset", poll(t, h.client(kgo.ConsumePartitions(from), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())), 3), []string{"14", "16", "18"})
	}
	look()
	h.restart()
	adm = kadm.NewClient(h.client())
	look()
}

// TestWhatDeleteRecordsRefuses: R09, in every version.
func TestWhatDeleteRecordsRefuses(t *testing.T) {
	h := newHouse(t, 2)
	policy := func(p string) map[string]*string { return map[string]*string{"cleanup.policy": &p} }
	h.create("compacted", 1, 1, policy("compact"))
	h.create("both", 1, 2, policy("compact,delete"))
	id := h.fill("t", 2, 10)
	if got := h.produceOnce("t", 9, -1, batch.Build(plain, []batch.Record{{}, {}, {}}).Bytes); got.ErrorCode != 0 {
		t.Fatal(perr.Code(got.ErrorCode))
	}
	for version := int16(0); version <= 2; version++ {
		for _, c := range []struct {
			topic  string
			before int64
			want   perr.Code
			low    int64
		}{
			{"t", 6, perr.OffsetOutOfRange, -1}, {"t", -2, perr.OffsetOutOfRange, -1}, {"nobody", 0, perr.UnknownTopicOrPartition, -1},
			{"compacted", 0, perr.PolicyViolation, -1}, {"both", 0, perr.None, 0}, {"t", 3, perr.None, 3}, {"t", 1, perr.None, 3},
		} {
			leader := 1
			if got := h.deleteRecords(leader, c.topic, c.before, version); c.topic != "both" || perr.Code(got.ErrorCode) != perr.NotLeaderOrFollower {
				if perr.Code(got.ErrorCode) != c.want || got.LowWatermark != c.low {
					t.Errorf("version %d, %s below %d: %s and %d, want %s and %d", version, c.topic, c.before, perr.Code(got.ErrorCode), got.LowWatermark, c.want, c.low)
				}
			}
		}
	}
	// The log begins inside a batch: that is sent whole, and what lies below it is out of range before anything else (F13).
	for offset, want := range map[int64]perr.Code{2: perr.OffsetOutOfRange, 3: perr.None} {
		p := h.fetch(fetchRequest(1<<20, ask{topic: id, offset: offset}), 13)[0]
		if perr.Code(p.ErrorCode) != want || want == perr.None && (p.LogStartOffset != 3 || len(p.Records) == 0) {
			t.Errorf("fetch at %d: %s, log start %d, %d bytes", offset, perr.Code(p.ErrorCode), p.LogStartOffset, len(p.Records))
		}
	}
	if got := h.produceOnce("t", 9, -1, oneRecord(plain, "x")); got.LogStartOffset != 3 {
		t.Errorf("a produce is answered with log start %d", got.LogStartOffset)
	}
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 4}, {Partition: 5}, {Offset: 5}}}}
	parts := h.raw(1, r, 2).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions
	codes := []perr.Code{perr.Code(parts[0].ErrorCode), perr.Code(parts[1].ErrorCode), perr.Code(parts[2].ErrorCode)}
	if !slices.Equal(codes, []perr.Code{perr.InvalidRequest, perr.UnknownTopicOrPartition, perr.InvalidRequest}) {
		t.Errorf("a partition named twice, and one that is not there: %v", codes)
	}
}

// TestDeletionWaitsForLiveReplicas: a stopped broker is not waited for, and gives its records up when it comes back.
func TestDeletionWaitsForLiveReplicas(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 1, 3, nil)
	h.produce("t", values("v", 10))
	leader := int32(-1)
	if meta, err := kadm.NewClient(h.client()).Metadata(patient(t), "t"); err != nil {
		t.Fatal(err)
	} else {
		leader = meta.Topics["t"].Partitions[0].Leader
	}
	stopped := h.cluster.Brokers()[leader%3] // another one
	done := make(chan any, 1)
	h.cluster.StopBroker(stopped.ID(), func(reply any) { done <- reply })
	<-done
	var got kmsg.DeleteRecordsResponseTopicPartition
	waitFor(t, "the records to go", func() bool {
		got = h.deleteRecords(int(leader), "t", -1, 2)
		return got.ErrorCode == 0 && got.LowWatermark == 10
	})
	h.cluster.StartBroker(stopped.ID(), func(reply any) { done <- reply })
	<-done
	waitFor(t, "the broker to follow", func() bool {
		for _, r := range stopped.Replicas() {
			return r.View().LogStart == 10
		}
		return false
	})
}

// TestAFetchThatADeletionOvertakesIsOutOfRange: R10. The log started at 0 when the fetch looked, and at 3 when it read.
func TestAFetchThatADeletionOvertakesIsOutOfRange(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 5, 10)
	h.restart() // nothing is in memory
	replica, _ := h.cluster.Brokers()[0].Replica(core.PartitionID{Topic: id})
	waitFor(t, "a leader", func() bool { return replica.View().IsLeader && replica.View().HW == 5 })
	before := replica.View()
	if got := h.deleteRecords(1, "t", 3, 2); got.ErrorCode != 0 {
		t.Fatal(perr.Code(got.ErrorCode))
	}
	for offset, want := range map[int64]perr.Code{1: perr.OffsetOutOfRange, 3: perr.None} {
		r := fetchRequest(1<<20, ask{topic: id, offset: offset})
		out := messages.NewFetchResponsePartition()
		a := &answer{fetch: &fetch{front: h.fronts[0], req: r}, budget: 1 << 20}
		var at place
		a.read(at, replica, before, partition.PositionHW, &r.Topics[0].Partitions[0], &out)
		if perr.Code(out.ErrorCode) != want || (len(out.Records) > 0) != (want == perr.None) {
			t.Errorf("offset %d: %s with %d bytes", offset, perr.Code(out.ErrorCode), len(out.Records))
		}
	}
}
