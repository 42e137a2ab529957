package front

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/journal/memory"
	"lockstep/journal/quorum"
	"lockstep/protocol/perr"
)

func (h *house) describeQuorum(version int16, topic string, partition int32) (kmsg.DescribeQuorumResponseTopicPartition, *kmsg.DescribeQuorumResponse) {
	h.t.Helper()
	r := kmsg.NewPtrDescribeQuorumRequest()
	ask := kmsg.DescribeQuorumRequestTopicPartition{Partition: partition}
	r.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: topic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{ask, ask}}}
	resp := h.raw(1, r, version).(*kmsg.DescribeQuorumResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		h.t.Fatalf("one partition asked for twice: %+v", resp.Topics)
	}
	return resp.Topics[0].Partitions[0], resp
}

// TestTheControlQuorumIsDescribed: voters, the term, what a majority has, and who has fallen behind.
func TestTheControlQuorumIsDescribed(t *testing.T) {
	h := newHouse(t, 3)
	if p, _ := h.describeQuorum(2, metadataTopic, 0); perr.Code(p.ErrorCode) != perr.UnknownTopicOrPartition {
		t.Errorf("control streams on no quorum: %+v", p)
	}
	h.stop()
	var members []quorum.Member
	disks := []*memory.Journal{memory.New(memory.Options{}), memory.New(memory.Options{}), memory.New(memory.Options{})}
	for i, j := range disks {
		members = append(members, quorum.Member{ID: core.ReplicaID(i + 1), Journal: j})
	}
	q, err := quorum.Open(members, quorum.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.quorum = q
	h.start()
	for version := int16(0); version <= 2; version++ {
		p, resp := h.describeQuorum(version, metadataTopic, 0)
		if p.ErrorCode != 0 || p.LeaderID != 1 || int64(p.LeaderEpoch) != q.Term() || len(p.CurrentVoters) != 3 || len(p.Observers) != 0 || p.HighWatermark < 2 {
			t.Errorf("version %d: %+v", version, p)
		}
		if version == 2 && len(resp.Nodes) != 3 {
			t.Errorf("nodes %+v", resp.Nodes)
		}
	}
	disks[2].Poison(errors.New("the disk is gone"))
	before, _ := h.describeQuorum(2, metadataTopic, 0)
	h.create("orders", 1, 1, nil)
	waitFor(t, "a majority to have the topic", func() bool {
		p, _ := h.describeQuorum(2, metadataTopic, 0)
		v := p.CurrentVoters
		return p.HighWatermark > before.HighWatermark && v[1].LogEndOffset == p.HighWatermark && v[0].LogEndOffset >= v[1].LogEndOffset &&
			v[2].LogEndOffset == before.CurrentVoters[2].LogEndOffset
	})
	for topic, partition := range map[string]int32{metadataTopic: 1, "orders": 0} {
		if p, _ := h.describeQuorum(2, topic, partition); perr.Code(p.ErrorCode) != perr.UnknownTopicOrPartition || p.LeaderID != -1 || p.ErrorMessage == nil {
			t.Errorf("%s/%d: %+v", topic, partition, p)
		}
	}
}
