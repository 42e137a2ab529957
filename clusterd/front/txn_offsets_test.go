package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// TestOffsetsOfTransactionsByTopicID: from v6 topics have ids, and one made again under the name is another topic (F34).
func TestOffsetsOfTransactionsByTopicID(t *testing.T) {
	h := newHouse(t, 1)
	old := h.create("t", 1, 1, nil).ID
	if _, err := kadm.NewClient(h.client()).DeleteTopic(patient(t), "t"); err != nil {
		t.Fatal(err)
	}
	now := h.create("t", 1, 1, nil).ID
	id := "id"
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &id, 60_000
	p := h.raw(1, init, 5).(*kmsg.InitProducerIDResponse)
	r := kmsg.NewPtrTxnOffsetCommitRequest()
	r.TransactionalID, r.Group, r.ProducerID, r.ProducerEpoch, r.Generation = id, "g", p.ProducerID, p.ProducerEpoch, -1
	for _, topic := range [][16]byte{now, old} {
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		rt.TopicID = topic
		for _, index := range []int32{0, 7} {
			rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset = index, 5
			rt.Partitions = append(rt.Partitions, rp)
		}
		r.Topics = append(r.Topics, rt)
	}
	got := h.raw(1, r, 6).(*kmsg.TxnOffsetCommitResponse).Topics
	want := [][]perr.Code{{perr.None, perr.UnknownTopicOrPartition}, {perr.UnknownTopicId, perr.UnknownTopicId}}
	for i, topic := range got {
		if topic.TopicID != r.Topics[i].TopicID {
			t.Errorf("topic %d is answered as %x", i, topic.TopicID)
		}
		for j, at := range topic.Partitions {
			if perr.Code(at.ErrorCode) != want[i][j] {
				t.Errorf("topic %d partition %d: %s, want %s", i, at.Partition, perr.Code(at.ErrorCode), want[i][j])
			}
		}
	}
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = id, p.ProducerID, p.ProducerEpoch, true
	if code := h.raw(1, end, 5).(*kmsg.EndTxnResponse).ErrorCode; code != 0 {
		t.Fatal(perr.Code(code))
	}
	waitFor(t, "the offset to be committed", func() bool {
		all, err := kadm.NewClient(h.client()).FetchOffsets(patient(t), "g")
		if err != nil {
			t.Fatal(err)
		}
		o, ok := all.Lookup("t", 0)
		return ok && o.At == 5
	})
}
