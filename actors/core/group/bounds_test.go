package group

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func joinOf(group, id string, metadata int) JoinGroup {
	return JoinGroup{Ref: 1, Group: group, NewMemberID: id, ClientID: "c", ProtocolType: "consumer", SessionTimeoutMs: 10_000, RebalanceTimeoutMs: 10_000,
		Protocols: []Protocol{{Name: "range", Metadata: make([]byte, metadata)}}}
}

func (w *world) join(group, id string, metadata int) Joined {
	w.t.Helper()
	for _, e := range w.do(joinOf(group, id, metadata)) {
		if j, ok := e.(Joined); ok {
			return j
		}
	}
	w.t.Fatal("the join was not answered")
	return Joined{}
}

func small(t *testing.T) *world {
	w := newWorld(t)
	w.settings.InitialDelayMs, w.settings.MaxMemberBytes, w.settings.MaxShardBytes = 0, 1000, 20_000
	w.do(Resume{Settings: w.settings})
	return w
}

// A member that subscribes to more than a member may is refused for good, and by name.
func TestOneMemberIsBounded(t *testing.T) {
	w := small(t)
	if j := w.join("g", "a", 995); j.Code != perr.None {
		t.Fatalf("within the bound: %v %s", j.Code, j.Text)
	}
	j := w.join("h", "b", 996)
	if j.Code != perr.MessageTooLarge || !strings.Contains(j.Text, "1001") || !strings.Contains(j.Text, "lockstep.group.member.max.bytes is 1000") {
		t.Errorf("above the bound: %v %q", j.Code, j.Text)
	}
}

// A client that joins a new group each time fills the shard; it is told to come again, the others go on, and there is
// room when its sessions have ended.
func TestAllGroupsOfAShardAreBoundedTogether(t *testing.T) {
	w := small(t)
	first := w.join("mine", "me", 500)
	joined := 0
	var j Joined
	for i := range 1000 {
		if j = w.join(fmt.Sprint("g", i), fmt.Sprint("m", i), 900); j.Code != perr.None {
			break
		}
		joined++
	}
	if j.Code != perr.CoordinatorLoadInProgress || !strings.Contains(j.Text, "lockstep.group.shard.max.bytes is 20000") || joined < 5 || joined > 20 {
		t.Fatalf("after %d groups: %v %q", joined, j.Code, j.Text)
	}
	if w.s.held > w.settings.MaxShardBytes {
		t.Errorf("%d bytes are held", w.s.held)
	}
	again := joinOf("mine", "", 500)
	again.MemberID = first.MemberID
	if e := w.do(again)[0].(Joined); e.Code != perr.None {
		t.Errorf("a member that is in asks again: %v", e.Code)
	}
	w.do(Heartbeat{Ref: 1, Group: "mine", Generation: first.Generation, MemberID: first.MemberID})
	w.wait(30_000)
	if len(w.s.live) != 0 || w.s.held != 0 {
		t.Errorf("%d groups live on and %d bytes are held after every session ended", len(w.s.live), w.s.held)
	}
	if j := w.join("new", "n", 900); j.Code != perr.None {
		t.Errorf("with room again: %v %s", j.Code, j.Text)
	}
}

// Ids that were only handed out are held, too: a client that never comes back with them is bounded as well.
func TestHandedOutIdsAreBounded(t *testing.T) {
	w := small(t)
	for i := range 1000 {
		c := joinOf("g", strings.Repeat("x", 500)+fmt.Sprint(i), 1)
		c.NeedsKnownID = true
		if code := w.do(c)[0].(Joined).Code; code == perr.CoordinatorLoadInProgress {
			return
		} else if code != perr.MemberIdRequired {
			t.Fatal(code)
		}
	}
	t.Errorf("%d bytes are held for ids", w.s.held)
}

// A leader that hands out more than the shard holds is refused, and the round goes on without its word.
func TestAssignmentsAreBounded(t *testing.T) {
	w := small(t)
	j := w.join("g", "a", 10)
	s := SyncGroup{Ref: 2, Group: "g", Generation: j.Generation, MemberID: "a", Assignments: []Assignment{{"a", make([]byte, 30_000)}}}
	if code := w.do(s)[0].(Synced).Code; code != perr.GroupMaxSizeReached {
		t.Errorf("too much: %v", code)
	}
	s.Assignments[0].Data = make([]byte, 3000)
	if code := w.do(s)[0].(Synced).Code; code != perr.None {
		t.Errorf("within the bound: %v", code)
	}
}

// Offsets stay for good, so what is beyond the bound is refused; what is stored may be replaced, also after a restart.
func TestOffsetsOfAShardAreBounded(t *testing.T) {
	w := small(t)
	commit := func(group string, partition int32) perr.Code {
		return w.do(OffsetCommit{Ref: 1, Group: group, Generation: -1, Offsets: []OffsetToCommit{{Topic: "t", Partition: partition,
			Offset: core.Offset(1), LeaderEpoch: core.NoEpoch, Metadata: strings.Repeat("m", 1000)}}})[0].(OffsetsCommitted).Codes[0]
	}
	stored := 0
	for commit(fmt.Sprint("g", stored), 0) == perr.None {
		if stored++; stored > 100 {
			t.Fatal("more than the bound was stored")
		}
	}
	for range 2 {
		if code := commit("another", 0); code != perr.InvalidCommitOffsetSize {
			t.Errorf("beyond the bound: %v", code)
		}
		if code := commit("g0", 0); code != perr.None {
			t.Errorf("replacing what is stored: %v", code)
		}
		kept := w.s.kept
		w.restart()
		w.do(Resume{Settings: w.settings})
		if w.s.kept != kept || stored < 5 {
			t.Errorf("%d bytes are kept after a restart, %d before; %d groups", w.s.kept, kept, stored)
		}
	}
}
