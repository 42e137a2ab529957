package front

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// reassign asks a stock client to move a partition; no brokers cancel.
func (h *house) reassign(topic string, partition int32, brokers ...int32) error {
	h.t.Helper()
	var r kadm.AlterPartitionAssignmentsReq
	if len(brokers) > 0 {
		r.Assign(topic, partition, brokers)
	} else {
		r.CancelAssign(topic, partition)
	}
	got, err := kadm.NewClient(h.client()).AlterPartitionAssignments(patient(h.t), r)
	if err != nil {
		h.t.Fatal(err)
	}
	return got[topic][partition].Err
}

// moving is what is under way for a topic.
func (h *house) moving(topic string) string {
	h.t.Helper()
	adm := kadm.NewClient(h.client())
	got, err := adm.ListPartitionReassignments(patient(h.t), kadm.TopicsSet{topic: {0: {}}, "other": {0: {}}})
	if err != nil {
		h.t.Fatal(err)
	}
	all, err := kmsg.NewPtrListPartitionReassignmentsRequest().RequestWith(patient(h.t), h.client())
	if err != nil {
		h.t.Fatal(err)
	}
	if len(all.Topics) > 0 && all.Topics[0].Topic != topic {
		h.t.Errorf("listed %+v", all.Topics)
	}
	text := ""
	for _, p := range got[topic] {
		text += fmt.Sprintf("%d: %v + %v - %v ", p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas)
	}
	return text
}

// ends waits until nothing moves, and wants the partition on these brokers, all in sync, and on no other volume.
func (h *house) ends(topic string, id core.PartitionID, brokers ...core.ReplicaID) {
	h.t.Helper()
	waitFor(h.t, fmt.Sprint("replicas on ", brokers), func() bool {
		p, ok := h.cluster.Newest().Partition(id)
		return ok && h.moving(topic) == "" && slices.Equal(p.Replicas, brokers) && len(p.ISR) == len(brokers)
	})
	for _, b := range h.cluster.Brokers() {
		if slices.Contains(brokers, b.ID()) {
			continue
		}
		prefix := fmt.Sprintf("partition/%s/", id)
		waitFor(h.t, fmt.Sprintf("broker %d to forget the log", b.ID()), func() bool {
			streams, err := h.volumes[b.ID()-1].Streams(prefix)
			_, here := b.Replica(id)
			return err == nil && len(streams) == 0 && !here
		})
	}
}

// TestReplicasMoveUnderLoad: every replica of a partition goes elsewhere, its leader's last, and nothing acknowledged is
// lost or doubled.
func TestReplicasMoveUnderLoad(t *testing.T) {
	h := newHouse(t, 5)
	id := core.PartitionID{Topic: h.createOn("t", 1, 2, 3)}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c := h.client(kgo.DefaultProduceTopic("t"), kgo.ProducerBatchMaxBytes(1000))
	wrote := make(chan []*kgo.Record)
	var count atomic.Int64
	go func() {
		var acked []*kgo.Record
		for n := 0; ctx.Err() == nil; n++ {
			r := kgo.StringRecord(fmt.Sprint("v-", n))
			if c.ProduceSync(context.Background(), r).FirstErr() == nil {
				acked = append(acked, r)
				count.Add(1)
			}
		}
		wrote <- acked
	}()
	for i, target := range [][]int32{{4, 5, 1}, {2, 3}, {5, 4, 3, 2}, {1}, {1, 2, 3}} {
		if err := h.reassign("t", 0, target...); err != nil {
			t.Fatal(target, err)
		}
		var want []core.ReplicaID
		for _, b := range target {
			want = append(want, core.ReplicaID(b))
		}
		h.ends("t", id, want...)
		waitFor(t, "more records", func() bool { return count.Load() >= int64(10*(i+1)) })
	}
	stop()
	acked := <-wrote
	wantEqual(t, "after the moves", h.consume("t", len(acked)), sortedValues(acked))
	h.restart()
	wantEqual(t, "after a restart", h.consume("t", len(acked)), sortedValues(acked))
}

// createOn makes a topic of one partition on chosen brokers.
func (h *house) createOn(topic string, brokers ...int32) core.TopicID {
	h.t.Helper()
	r := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, -1, -1
	rt.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: brokers}}
	r.Topics = append(r.Topics, rt)
	got, err := r.RequestWith(patient(h.t), h.client())
	if err != nil || got.Topics[0].ErrorCode != 0 {
		h.t.Fatal(err, got)
	}
	return core.TopicID(got.Topics[0].TopicID)
}

// TestAReassignmentWaitsForWhoIsDown, is listed, outlives a restart, can be cancelled, and ends once that broker is up.
func TestAReassignmentWaitsForWhoIsDown(t *testing.T) {
	h := newHouse(t, 4)
	id := core.PartitionID{Topic: h.createOn("t", 1, 2, 3)}
	h.produce("t", values("v", 5))
	if err := h.reassign("t", 0); err == nil {
		t.Error("nothing was under way, and it was cancelled")
	}
	h.stopBroker(4)
	if err := h.reassign("t", 0, 4, 2, 1); err != nil {
		t.Fatal(err)
	}
	if got := h.moving("t"); got != "0: [4 2 1 3] + [4] - [3] " {
		t.Errorf("listed %q", got)
	}
	h.produce("t", values("w", 5))
	if err := h.reassign("t", 0); err != nil {
		t.Fatal(err)
	}
	h.ends("t", id, 1, 2, 3)
	if err := h.reassign("t", 0, 4, 2, 1); err != nil {
		t.Fatal(err)
	}
	h.startBroker(4)
	h.ends("t", id, 4, 2, 1)
	wantEqual(t, "all records", h.consume("t", 10), sortedValues(append(values("v", 5), values("w", 5)...)))
	// A broker that is away while its replica is taken from it finds out when it is back.
	h.stopBroker(1)
	if err := h.reassign("t", 0, 4, 2); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end", func() bool { return h.moving("t") == "" })
	h.startBroker(1)
	h.ends("t", id, 4, 2)
}

// TestAGatedPartitionMoves: the mirror has a say at the new leader as at the old one, and not with what it said there.
func TestAGatedPartitionMoves(t *testing.T) {
	h, m, topic, epoch := gatedHouse(t, 3)
	id := core.PartitionID{Topic: topic}
	old := h.leader("t", 0)
	var target []int32
	for b := int32(1); b <= 3; b++ {
		if b != int32(old) {
			target = append(target, b)
		}
	}
	if err := h.reassign("t", 0, target...); err != nil {
		t.Fatal(err)
	}
	h.ends("t", id, core.ReplicaID(target[0]), core.ReplicaID(target[1]))
	now, _ := h.cluster.Newest().Partition(id)
	waitFor(t, "the new leader to know that it leads", func() bool {
		r, ok := h.cluster.Leader(id)
		return ok && r.View().IsLeader && h.cluster.Brokers()[now.Leader-1].Image().Leader(id) == now.Leader
	})
	done := make(chan kmsg.ProduceResponseTopicPartition, 1)
	conn := dial(t, h.addrs[now.Leader-1])
	req := produceRequest("t", -1, oneRecord(plain, "gated"))
	req.TimeoutMillis = 20_000
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	sendRequest(t, conn, 1, req, 9)
	go func() {
		_, body := readResponse(t, conn)
		done <- decodeStrictly(t, req, body).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	}()
	waitFor(t, "the record", func() bool {
		r, ok := h.cluster.Leader(id)
		return ok && r.View().LEO == 2
	})
	m.fetch(now.Leader, topic, epoch, 1, 2, int32(now.LeaderEpoch)-1) // a floor of an older epoch
	select {
	case p := <-done:
		t.Fatalf("acknowledged without the mirror: %s", perr.Code(p.ErrorCode))
	default:
	}
	m.fetch(now.Leader, topic, epoch, 1, 2, int32(now.LeaderEpoch))
	if p := <-done; p.ErrorCode != 0 || p.BaseOffset != 1 {
		t.Errorf("%+v", p)
	}
}
