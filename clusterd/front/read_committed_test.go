package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// leaderOf is the replica that leads a partition.
func (h *house) leaderOf(id core.PartitionID) *broker.Replica {
	h.t.Helper()
	r, ok := h.cluster.Leader(id)
	if !ok {
		h.t.Fatalf("nobody leads %s", id)
	}
	return r
}

func (h *house) asked(r *broker.Replica, build func(core.RequestID) partition.Command) any {
	answer := make(chan any, 1)
	r.Ask(build, func(a any) { answer <- a })
	return <-answer
}

func (h *house) inTxn(r *broker.Replica, producer int64, sequence int32, value string) {
	h.t.Helper()
	b := batch.Build(batch.Batch{ProducerID: producer, BaseSequence: sequence, Attributes: 1 << 4}, []batch.Record{{Value: []byte(value)}})
	a := h.asked(r, func(ref core.RequestID) partition.Command {
		return partition.AppendBatch{Ref: ref, Batch: b, Acks: -1, InTxn: true}
	})
	if _, ok := a.(partition.AckProduce); !ok {
		h.t.Fatalf("%+v", a)
	}
}

func (h *house) endTxn(r *broker.Replica, producer int64, commit bool) {
	h.t.Helper()
	a := h.asked(r, func(ref core.RequestID) partition.Command {
		return partition.WriteMarker{Ref: ref, Epoch: r.View().Epoch, ProducerID: producer, Commit: commit}
	})
	if w, ok := a.(partition.MarkerWritten); !ok || w.Code != 0 {
		h.t.Fatalf("%+v", a)
	}
}

// T07, T08, T09: what read_committed and read_uncommitted consumers, and those who ask for offsets, see of transactions.
func TestWhatReadersSeeOfTransactions(t *testing.T) {
	h := newHouse(t, 1)
	topic := core.TopicID(h.create("t", 1, 1, nil).ID)
	r := h.leaderOf(core.PartitionID{Topic: topic})
	h.inTxn(r, 7, 0, "aborted")   // 0
	h.inTxn(r, 8, 0, "committed") // 1
	h.endTxn(r, 7, false)         // 2
	h.endTxn(r, 8, true)          // 3
	h.inTxn(r, 9, 0, "open")      // 4
	h.produce("t", values("plain", 1))

	wantEqual(t, "read_committed", h.consume("t", 1, kgo.FetchIsolationLevel(kgo.ReadCommitted())), []string{"committed"})
	wantEqual(t, "read_uncommitted", h.consume("t", 4), []string{"aborted", "committed", "open", "plain-0"})

	fetched := fetchRequest(1<<20, ask{topic: topic})
	fetched.IsolationLevel = 1
	p := h.fetch(fetched, 13)[0]
	if p.LastStableOffset != 4 || p.HighWatermark != 6 || len(p.AbortedTransactions) != 1 || p.AbortedTransactions[0].ProducerId != 7 || p.AbortedTransactions[0].FirstOffset != 0 {
		t.Errorf("LSO %d, HW %d, aborted %+v", p.LastStableOffset, p.HighWatermark, p.AbortedTransactions)
	}
	for isolation, want := range map[int8]int64{0: 6, 1: 4} {
		q := kmsg.NewPtrListOffsetsRequest()
		q.IsolationLevel = isolation
		qt := kmsg.NewListOffsetsRequestTopic()
		qt.Topic = "t"
		qp := kmsg.NewListOffsetsRequestTopicPartition()
		qp.Timestamp, qp.CurrentLeaderEpoch = askLatest, -1
		qt.Partitions = append(qt.Partitions, qp)
		q.Topics = append(q.Topics, qt)
		if got := h.raw(1, q, 7).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset; got != want {
			t.Errorf("isolation %d: the end is %d, want %d", isolation, got, want)
		}
	}

	d := kmsg.NewPtrDescribeProducersRequest()
	dt := kmsg.NewDescribeProducersRequestTopic()
	dt.Topic, dt.Partitions = "t", []int32{0, 1}
	d.Topics = append(d.Topics, dt)
	described := h.raw(1, d, 0).(*kmsg.DescribeProducersResponse).Topics[0].Partitions
	if len(described) != 2 || perr.Code(described[1].ErrorCode) != perr.UnknownTopicOrPartition {
		t.Fatalf("%+v", described)
	}
	starts := map[int64]int64{}
	for _, p := range described[0].ActiveProducers {
		starts[p.ProducerID] = p.CurrentTxnStartOffset
	}
	if starts[7] != -1 || starts[9] != 4 || len(starts) < 3 {
		t.Errorf("transactions begin at %v", starts)
	}

	h.endTxn(r, 9, false)
	wantEqual(t, "read_committed at the end", h.consume("t", 2, kgo.FetchIsolationLevel(kgo.ReadCommitted())), []string{"committed", "plain-0"})
	h.restart()
	wantEqual(t, "read_committed after a restart", h.consume("t", 2, kgo.FetchIsolationLevel(kgo.ReadCommitted())), []string{"committed", "plain-0"})
}
