package front

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// TestTwoMembersShareATopic: each value is delivered to one of them, and both have partitions (compat-G12).
func TestTwoMembersShareATopic(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 6, 3, nil)
	assigned := make(chan string, 100)
	member := func(name string) *kgo.Client {
		return h.client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.Balancers(kgo.RangeBalancer()), kgo.HeartbeatInterval(50*time.Millisecond),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
				assigned <- fmt.Sprintf("%s:%d", name, len(parts["t"]))
			}))
	}
	a, b := member("a"), member("b")
	owned := map[string]bool{}
	share := map[string]bool{}
	for deadline := time.After(15 * time.Second); !owned["a:3"] || !owned["b:3"]; {
		select {
		case s := <-assigned:
			owned[s] = true
		case <-deadline:
			t.Fatalf("assignments so far: %v", owned)
		}
	}
	records := values("v", 300)
	h.produce("t", records, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	got := make(chan string, len(records))
	ctx := patient(t)
	for name, c := range map[string]*kgo.Client{"a": a, "b": b} {
		go func() {
			for ctx.Err() == nil {
				c.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got <- name + " " + string(r.Value) })
			}
		}()
	}
	seen := map[string]bool{}
	for range records {
		select {
		case s := <-got:
			if v := s[2:]; seen[v] {
				t.Fatalf("%s was delivered twice", v)
			} else {
				seen[v] = true
			}
			share[s[:1]] = true
		case <-ctx.Done():
			t.Fatalf("%d of %d values", len(seen), len(records))
		}
	}
	if len(share) != 2 {
		t.Errorf("only %v got values", share)
	}
}

// TestOffsetsSurviveARestart of the process, with their epoch and metadata (compat-E03).
func TestOffsetsSurviveARestart(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 2, 3, nil)
	adm := kadm.NewClient(h.client())
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: "t", Partition: 0, At: 5, LeaderEpoch: 3, Metadata: "here"})
	offsets.Add(kadm.Offset{Topic: "t", Partition: 1, At: 9, LeaderEpoch: -1})
	if r, err := adm.CommitOffsets(patient(t), "g", offsets); err != nil || r.Error() != nil {
		t.Fatal(err, r.Error())
	}
	h.restart()
	got, err := kadm.NewClient(h.client()).FetchOffsets(patient(t), "g")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range offsets.Sorted() {
		o, ok := got.Lookup(want.Topic, want.Partition)
		if !ok || o.Err != nil || o.At != want.At || o.LeaderEpoch != want.LeaderEpoch || o.Metadata != want.Metadata {
			t.Errorf("after the restart: %+v, want %+v", o, want)
		}
	}
}

// TestATopicMadeAnewHasNoOffsets: F34.
func TestATopicMadeAnewHasNoOffsets(t *testing.T) {
	h := newHouse(t, 1)
	adm := kadm.NewClient(h.client())
	h.create("t", 1, 1, nil)
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: "t", At: 5, LeaderEpoch: -1})
	if r, err := adm.CommitOffsets(patient(t), "g", offsets); err != nil || r.Error() != nil {
		t.Fatal(err, r.Error())
	}
	if _, err := adm.DeleteTopic(patient(t), "t"); err != nil {
		t.Fatal(err)
	}
	h.create("t", 1, 1, nil)
	for _, version := range []int16{1, 7, 8} {
		r := kmsg.NewPtrOffsetFetchRequest()
		h.makeOrdinary(r)
		resp := h.raw(1, r, version).(*kmsg.OffsetFetchResponse)
		var at int64
		if version < 8 {
			at = resp.Topics[0].Partitions[0].Offset
		} else {
			at = resp.Groups[0].Topics[0].Partitions[0].Offset
		}
		if at != -1 {
			t.Errorf("version %d: offset %d of the topic that was deleted", version, at)
		}
	}
	if all, err := adm.FetchOffsets(patient(t), "g"); err != nil || len(all) != 0 {
		t.Errorf("asked for everything: %v %v", all, err)
	}
}

// TestAConsumerGoesOnWhereItStopped: a group's committed offsets are read by its next member.
func TestAConsumerGoesOnWhereItStopped(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 1, 3, nil)
	records := values("v", 10)
	h.produce("t", records)
	opts := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit()}
	first := h.client(opts...)
	poll(t, first, 10)
	if err := first.CommitUncommittedOffsets(patient(t)); err != nil {
		t.Fatal(err)
	}
	first.Close()
	h.restart()
	more := values("w", 3)
	h.produce("t", more)
	wantEqual(t, "the second member", poll(t, h.client(opts...), 3), sortedValues(more))
}

// TestAGroupNeverSeenIsNoError: compat-K1, in every shape of the answer (compat-G06).
func TestAGroupNeverSeenIsNoError(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	for version := int16(1); version <= 9; version++ {
		r := kmsg.NewPtrOffsetFetchRequest()
		h.makeOrdinary(r)
		resp := h.raw(1, r, version).(*kmsg.OffsetFetchResponse)
		if version < 8 {
			p := resp.Topics[0].Partitions[0]
			if resp.ErrorCode != 0 || p.ErrorCode != 0 || p.Offset != -1 || p.Metadata == nil || *p.Metadata != "" {
				t.Errorf("version %d: %+v", version, resp)
			}
			continue
		}
		g := resp.Groups[0]
		if p := g.Topics[0].Partitions[0]; g.ErrorCode != 0 || p.ErrorCode != 0 || p.Offset != -1 {
			t.Errorf("version %d: %+v", version, resp)
		}
	}
}

// TestCommitsOfStrangers: compat-K2, compat-G16.
func TestCommitsOfStrangers(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	commit := func(version int16, group string, generation int32, topic string, partition int32) perr.Code {
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Group, r.Generation = group, generation
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = topic
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = partition, 7
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		return perr.Code(h.raw(1, r, version).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	}
	for _, c := range []struct {
		version    int16
		group      string
		generation int32
		topic      string
		partition  int32
		want       perr.Code
	}{
		{2, "simple", -1, "t", 0, perr.None},
		{8, "nobody", 3, "t", 0, perr.IllegalGeneration},
		{9, "nobody", 3, "t", 0, perr.GroupIdNotFound},
		{8, "simple", -1, "unknown", 0, perr.UnknownTopicOrPartition},
		{8, "simple", -1, "t", 8, perr.UnknownTopicOrPartition},
		{8, "", -1, "t", 0, perr.InvalidGroupId},
	} {
		if got := commit(c.version, c.group, c.generation, c.topic, c.partition); got != c.want {
			t.Errorf("version %d group %q generation %d %s/%d: %s, want %s", c.version, c.group, c.generation, c.topic, c.partition, got, c.want)
		}
	}
}

// TestOnlyTheCoordinatorAnswers: FindCoordinator names one live broker, the others say NOT_COORDINATOR,
// and when it stops another takes over.
func TestOnlyTheCoordinatorAnswers(t *testing.T) {
	h := newHouse(t, 3)
	find := func(ask int) int32 {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.CoordinatorKey = "g"
		resp := h.raw(ask, r, 1).(*kmsg.FindCoordinatorResponse)
		if resp.ErrorCode != 0 {
			t.Fatal(perr.Code(resp.ErrorCode))
		}
		return resp.NodeID
	}
	beat := func(ask int) perr.Code {
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group, r.MemberID = "g", "nobody"
		return perr.Code(h.raw(ask, r, 0).(*kmsg.HeartbeatResponse).ErrorCode)
	}
	owner := find(1)
	for id := 1; id <= 3; id++ {
		want := perr.NotCoordinator
		if int32(id) == owner {
			want = perr.UnknownMemberId // compat-K3
		}
		if find(id) != owner || beat(id) != want {
			t.Errorf("broker %d: coordinator %d, heartbeat %s", id, find(id), beat(id))
		}
	}
	h.stopBroker(int(owner))
	next := owner%3 + 1
	waitFor(t, "another coordinator", func() bool { return find(int(next)) == next })
	if code := beat(int(next)); code != perr.UnknownMemberId {
		t.Errorf("the new coordinator says %s", code)
	}
}

func (h *house) stopBroker(id int) {
	h.t.Helper()
	done := make(chan any, 1)
	h.cluster.StopBroker(h.cluster.Brokers()[id-1].ID(), func(reply any) { done <- reply })
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		h.t.Fatal("the broker does not stop")
	}
}
