package front

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (h *house) commit(group string, at kadm.OffsetsList) {
	h.t.Helper()
	if r, err := kadm.NewClient(h.client()).CommitOffsets(patient(h.t), group, at.Offsets()); err != nil || r.Error() != nil {
		h.t.Fatal(err, r.Error())
	}
}

// member makes a consumer of topic t and waits until it has been assigned partitions.
func (h *house) member(group string, opts ...kgo.Opt) *kgo.Client {
	h.t.Helper()
	assigned := make(chan bool, 100)
	c := h.client(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics("t"), kgo.HeartbeatInterval(50 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { assigned <- len(parts) > 0 })}, opts...)...)
	for deadline := time.After(20 * time.Second); ; {
		select {
		case some := <-assigned:
			if some {
				return c
			}
		case <-deadline:
			h.t.Fatal("no partitions were assigned")
		}
	}
}

// TestGroupsAreDeletedForGood, unless somebody is in (compat-G04).
func TestGroupsAreDeletedForGood(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 1, 3, nil)
	adm := kadm.NewClient(h.client())
	h.commit("gone", kadm.OffsetsList{{Topic: "t", At: 5, LeaderEpoch: -1}})
	h.commit("used", kadm.OffsetsList{{Topic: "t", At: 5, LeaderEpoch: -1}})
	c := h.member("used")
	deleted, err := adm.DeleteGroups(patient(t), "gone", "used", "never")
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]error{"gone": nil, "used": kerr.NonEmptyGroup, "never": kerr.GroupIDNotFound} {
		if got := deleted[group].Err; !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Errorf("delete %s: %v, want %v", group, got, want)
		}
	}
	c.LeaveGroup()
	h.restart()
	adm = kadm.NewClient(h.client())
	listed, err := adm.ListGroups(patient(t))
	if err != nil || len(listed) != 1 || listed["used"].State != "Empty" {
		t.Errorf("listed after a restart: %v %v", listed, err)
	}
	if all, err := adm.FetchOffsets(patient(t), "gone"); err != nil || len(all) != 0 {
		t.Errorf("offsets of the group that was deleted: %v %v", all, err)
	}
}

// TestOffsetsInUseAreNotDeleted: what a member subscribes to stays.
func TestOffsetsInUseAreNotDeleted(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 2, 1, nil)
	h.create("old", 1, 1, nil)
	h.commit("g", kadm.OffsetsList{{Topic: "t", At: 5, LeaderEpoch: -1}, {Topic: "old", At: 6, LeaderEpoch: -1}})
	h.member("g")
	adm := kadm.NewClient(h.client())
	var which kadm.TopicsSet
	for _, topic := range []string{"t", "old", "unknown"} {
		which.Add(topic, 0)
	}
	got, err := adm.DeleteOffsets(patient(t), "g", which)
	if err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]error{"t": kerr.GroupSubscribedToTopic, "old": nil, "unknown": kerr.UnknownTopicOrPartition} {
		if err, answered := got.Lookup(topic, 0); !answered || !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v (%v), want %v", topic, err, answered, want)
		}
	}
	left, err := adm.FetchOffsets(patient(t), "g")
	if err != nil || len(left) != 1 || len(left["t"]) == 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if _, err := adm.DeleteOffsets(patient(t), "never", which); !errors.Is(err, kerr.GroupIDNotFound) {
		t.Errorf("a group never seen: %v", err)
	}
}

// TestOffsetsExpireWhileNobodyUsesThem: offsets.retention.minutes, in milliseconds for once (compat-G05).
func TestOffsetsExpireWhileNobodyUsesThem(t *testing.T) {
	h := newHouse(t, 1)
	h.retention = 300 * time.Millisecond
	h.restart()
	h.create("t", 1, 1, nil)
	h.commit("used", kadm.OffsetsList{{Topic: "t", At: 5, LeaderEpoch: -1}})
	h.member("used")
	h.commit("simple", kadm.OffsetsList{{Topic: "t", At: 5, LeaderEpoch: -1}})
	adm := kadm.NewClient(h.client())
	waitFor(t, "the offset nobody uses to expire, and its group to go", func() bool {
		listed, err := adm.ListGroups(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		_, there := listed["simple"]
		return !there
	})
	if kept, err := adm.FetchOffsets(patient(t), "used"); err != nil || len(kept["t"]) != 1 {
		t.Errorf("of the group in use: %v %v", kept, err)
	}
}

// TestAStaticMemberComesBackWithoutARebalance and an administrator can remove it by its instance id (compat-G01).
func TestAStaticMemberComesBackWithoutARebalance(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 2, 1, nil)
	first := h.member("g", kgo.InstanceID("i"))
	adm := kadm.NewClient(h.client())
	_, before := first.GroupMetadata()
	first.Close() // static members do not leave
	second := h.member("g", kgo.InstanceID("i"))
	if _, after := second.GroupMetadata(); after != before {
		t.Errorf("generation %d became %d", before, after)
	}
	second.Close()
	removed, err := adm.LeaveGroup(patient(t), kadm.LeaveGroup("g").InstanceIDs("i", "stranger"))
	if err != nil || removed["i"].Err != nil || !errors.Is(removed["stranger"].Err, kerr.UnknownMemberID) {
		t.Errorf("removed: %+v %v", removed, err)
	}
	if described, err := adm.DescribeGroups(patient(t), "g"); err != nil || described["g"].State != "Empty" {
		t.Errorf("described: %+v %v", described, err)
	}
}

// TestListsAreFiltered by state and type (compat-G08), and kinds of groups that are not served are not there.
func TestListsAreFiltered(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	h.commit("empty", kadm.OffsetsList{{Topic: "t", At: 5, LeaderEpoch: -1}})
	h.member("full")
	for _, c := range []struct {
		states, types []string
		want          int
	}{{nil, nil, 2}, {[]string{"stable"}, nil, 1}, {[]string{"EMPTY", "Stable"}, []string{"Classic"}, 2}, {[]string{"Dead"}, nil, 0},
		{nil, []string{"share"}, 0}, {nil, []string{"streams"}, 0}, {nil, []string{"consumer"}, 0}, {nil, []string{"nonsense"}, 0}} {
		r := kmsg.NewPtrListGroupsRequest()
		r.StatesFilter, r.TypesFilter = c.states, c.types
		if got := h.raw(1, r, 5).(*kmsg.ListGroupsResponse); got.ErrorCode != 0 || len(got.Groups) != c.want {
			t.Errorf("states %v types %v: %+v, want %d", c.states, c.types, got.Groups, c.want)
		}
	}
}
