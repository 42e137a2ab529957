package front

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// described waits until a group of the consumer protocol is as wanted, and returns it.
func (h *house) described(group, what string, as func(kadm.DescribedConsumerGroup) bool) (d kadm.DescribedConsumerGroup) {
	h.t.Helper()
	adm := kadm.NewClient(h.client())
	waitFor(h.t, what, func() bool {
		all, err := adm.DescribeConsumerGroups(patient(h.t), group)
		if err != nil {
			h.t.Fatal(err)
		}
		d = all[group]
		return d.Err == nil && as(d)
	})
	return d
}

func stable(members int) func(kadm.DescribedConsumerGroup) bool {
	return func(d kadm.DescribedConsumerGroup) bool { return d.State == "Stable" && len(d.Members) == members }
}

// TestMembersOfTheConsumerProtocolShareATopic: they come, go, and go on after a restart of the process, and every record
// is delivered to one of them.
func TestMembersOfTheConsumerProtocolShareATopic(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 6, 3, nil)
	start := func(opts ...kgo.Opt) *kgo.Client {
		return h.member("g", append(opts, kgo.ServerSideBalancer(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())...)
	}
	a := start()
	h.described("g", "one member to have all", func(d kadm.DescribedConsumerGroup) bool { return stable(1)(d) && d.AssignorName == "uniform" })
	got := make(chan string, 1000)
	ctx := patient(t)
	run := func(c *kgo.Client) {
		for ctx.Err() == nil && !c.PollFetches(ctx).IsClientClosed() {
		}
	}
	go run(a) // a revocation is answered by whoever polls
	b := start()
	d := h.described("g", "two members to share", stable(2))
	for _, m := range d.Members {
		if n := len(m.Assignment["t"]); n != 3 || m.MemberType != 1 {
			t.Errorf("member %s has %d partitions, type %d", m.MemberID, n, m.MemberType)
		}
	}
	a.Close()
	h.described("g", "the other to take over", stable(1))
	h.restart()
	records := values("v", 60)
	h.produce("t", records, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	go func() {
		for ctx.Err() == nil {
			b.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got <- string(r.Value) })
		}
	}()
	var seen []string
	for len(seen) < len(records) {
		select {
		case v := <-got:
			seen = append(seen, v)
		case <-ctx.Done():
			t.Fatalf("%d of %d values", len(seen), len(records))
		}
	}
	slices.Sort(seen)
	wantEqual(t, "the member that stayed", seen, sortedValues(records))
	if err := b.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	b.Close()
	all, err := kadm.NewClient(h.client()).FetchOffsets(ctx, "g")
	if err != nil || len(all["t"]) != 6 {
		t.Errorf("committed: %v %v", all, err)
	}
}

// TestPatternsFindNewTopics: compat-G14.
func TestPatternsFindNewTopics(t *testing.T) {
	h := newHouse(t, 1)
	h.create("x-1", 1, 1, nil)
	c := h.client(kgo.ConsumerGroup("g"), kgo.ServerSideBalancer(), kgo.ConsumeRegex(), kgo.ConsumeTopics("^x-.*$"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	h.produce("x-1", values("one", 1))
	wantEqual(t, "the topic that was there", poll(t, c, 1), []string{"one-0"})
	h.create("x-2", 1, 1, nil)
	h.produce("x-2", values("two", 1))
	wantEqual(t, "the new topic", poll(t, c, 1), []string{"two-0"})
}

// TestKindsOfGroupsAreToldApart by tools, and what cannot be understood does not change a group's kind.
func TestKindsOfGroupsAreToldApart(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	h.member("classic")
	c := h.member("consumer", kgo.ServerSideBalancer())
	adm := kadm.NewClient(h.client())
	listed, err := adm.ListGroupsByType(patient(t), []string{"consumer"})
	if err != nil || len(listed) != 1 || listed["consumer"].GroupType != "consumer" || listed["consumer"].ProtocolType != "consumer" {
		t.Errorf("listed: %+v %v", listed, err)
	}
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.MemberEpoch = "classic", "m", 3
	beat.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if code := perr.Code(h.raw(1, beat, 1).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode); code != perr.GroupIdNotFound {
		t.Errorf("a heartbeat to a classic group: %s", code)
	}
	join := kmsg.NewPtrJoinGroupRequest()
	h.makeOrdinary(join) // without a subscription
	join.Group = "consumer"
	if code := perr.Code(h.raw(1, join, 9).(*kmsg.JoinGroupResponse).ErrorCode); code != perr.InconsistentGroupProtocol {
		t.Errorf("a join to a consumer group: %s", code)
	}
	described, err := adm.DescribeGroups(patient(t), "consumer")
	if err == nil {
		err = described["consumer"].Err
	}
	if !errors.Is(err, kerr.GroupIDNotFound) {
		t.Errorf("described as a classic group: %+v %v", described, err)
	}
	if deleted, err := adm.DeleteGroups(patient(t), "consumer"); err != nil || !errors.Is(deleted["consumer"].Err, kerr.NonEmptyGroup) {
		t.Errorf("deleted: %+v %v", deleted, err)
	}
	c.Close()
	// Nobody is there any more, so it may change.
	h.member("consumer")
	if described, err := adm.DescribeGroups(patient(t), "consumer"); err != nil || described["consumer"].State != "Stable" {
		t.Errorf("as a classic group now: %+v %v", described, err)
	}
}

// TestAMemberWithoutAnIdGetsOne in version 0, and only there.
func TestAMemberWithoutAnIdGetsOne(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 2, 1, nil)
	for version := int16(0); version <= 1; version++ {
		r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		h.makeOrdinary(r)
		r.Group, r.MemberID = fmt.Sprint("g", version), ""
		resp := h.raw(1, r, version).(*kmsg.ConsumerGroupHeartbeatResponse)
		if version == 0 && (resp.ErrorCode != 0 || resp.MemberID == nil || len(*resp.MemberID) < 20 || resp.Assignment == nil || len(resp.Assignment.Topics[0].Partitions) != 2) {
			t.Errorf("version 0: %+v", resp)
		}
		if version == 1 && perr.Code(resp.ErrorCode) != perr.InvalidRequest {
			t.Errorf("version 1: %s", perr.Code(resp.ErrorCode))
		}
	}
}

// TestAnOldEpochReadsAndWritesNoOffsets: STALE_MEMBER_EPOCH on both ways (KIP-848).
func TestAnOldEpochReadsAndWritesNoOffsets(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 2, 1, nil)
	c := h.member("g", kgo.ServerSideBalancer())
	var id string
	var epoch int32
	waitFor(t, "the member to have an epoch", func() bool { id, epoch = c.GroupMetadata(); return epoch > 0 })
	for _, at := range []struct {
		epoch int32
		id    string
		want  perr.Code
	}{{epoch, id, perr.None}, {epoch - 1, id, perr.StaleMemberEpoch}, {epoch + 1, id, perr.StaleMemberEpoch}, {epoch, "stranger", perr.UnknownMemberId}} {
		w := kmsg.NewPtrOffsetCommitRequest()
		h.makeOrdinary(w)
		w.Group, w.MemberID, w.Generation = "g", at.id, at.epoch
		if got := perr.Code(h.raw(1, w, 9).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode); got != at.want {
			t.Errorf("commit of %s on epoch %d: %s, want %s", at.id, at.epoch, got, at.want)
		}
		r := kmsg.NewPtrOffsetFetchRequest()
		h.makeOrdinary(r)
		r.Groups[0].MemberID, r.Groups[0].MemberEpoch = &at.id, at.epoch
		if got := perr.Code(h.raw(1, r, 9).(*kmsg.OffsetFetchResponse).Groups[0].ErrorCode); got != at.want {
			t.Errorf("fetch of %s on epoch %d: %s, want %s", at.id, at.epoch, got, at.want)
		}
	}
}

// TestASilentMemberLosesItsPlace after group.consumer.session.timeout.ms.
func TestASilentMemberLosesItsPlace(t *testing.T) {
	h := newHouse(t, 1)
	h.session = 400 * time.Millisecond
	h.restart()
	h.create("t", 2, 1, nil)
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	h.makeOrdinary(r)
	r.Group = "g"
	if resp := h.raw(1, r, 1).(*kmsg.ConsumerGroupHeartbeatResponse); resp.ErrorCode != 0 {
		t.Fatal(perr.Code(resp.ErrorCode))
	}
	h.member("g", kgo.ServerSideBalancer()) // has partitions only once the other is gone: that one never gives any up
	h.described("g", "the silent member to go", stable(1))
}

// TestMembersGoOnWhenTheCoordinatorMoves: another broker takes the shard, and nobody has to begin anew.
func TestMembersGoOnWhenTheCoordinatorMoves(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 2, 3, nil)
	c := h.member("g", kgo.ServerSideBalancer(), kgo.DisableAutoCommit())
	before := h.described("g", "the member to settle", stable(1))
	h.stopBroker(int(before.Coordinator.NodeID))
	after := h.described("g", "another coordinator", func(d kadm.DescribedConsumerGroup) bool {
		return stable(1)(d) && d.Coordinator.NodeID != before.Coordinator.NodeID
	})
	if b, a := before.Members[0], after.Members[0]; a.MemberID != b.MemberID || a.MemberEpoch != b.MemberEpoch || len(a.Assignment["t"]) != 2 {
		t.Errorf("member %+v became %+v", b, a)
	}
	h.produce("t", values("v", 1))
	got := poll(t, c, 1)
	if err := c.CommitUncommittedOffsets(patient(t)); err != nil || got[0] != "v-0" {
		t.Errorf("afterwards: %v, read %v", err, got)
	}
}
