package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/protocol/perr"
)

func (w *world) hear(group, member string, change func(*ConsumerBeat)) ConsumerBeaten {
	w.t.Helper()
	c := ConsumerBeat{Ref: 1, Group: group, MemberID: member, RebalanceMs: 1000, Topics: []string{"t"}, Owned: assignor.Partitions{}, ClientID: "c", Image: w.image}
	if change != nil {
		change(&c)
	}
	return w.do(c)[0].(ConsumerBeaten)
}

// A member of the consumer protocol that says more than one may is refused by name, and the member it was stays.
func TestOneConsumerIsBounded(t *testing.T) {
	w := small(t)
	w.topics("t:2")
	if b := w.hear("g", "a", nil); b.Code != perr.None {
		t.Fatalf("within the bound: %v %s", b.Code, b.Text)
	}
	for _, change := range []func(*ConsumerBeat){
		func(c *ConsumerBeat) { c.Topics = []string{strings.Repeat("x", 1001)} },
		func(c *ConsumerBeat) { text := strings.Repeat("x", 1001); c.Regex = &text },
	} {
		b := w.hear("g", "a", func(c *ConsumerBeat) { c.Epoch = 1; change(c) })
		if b.Code != perr.InvalidRequest || !strings.Contains(b.Text, "lockstep.group.member.max.bytes is 1000") {
			t.Errorf("above the bound: %v %q", b.Code, b.Text)
		}
	}
	if b := w.hear("g", "a", func(c *ConsumerBeat) { c.Epoch = 1 }); b.Code != perr.None || b.Epoch != 1 {
		t.Errorf("afterwards: %+v", b)
	}
}

// Members fill a shard, whatever groups they make; the others go on, there is room when they are gone, and nothing is
// counted that is not there.
func TestConsumersOfAShardAreBoundedTogether(t *testing.T) {
	w := small(t)
	w.topics("t:2")
	w.hear("mine", "me", nil)
	before, joined := w.s.kept, 0
	var b ConsumerBeaten
	for ; joined < 100; joined++ {
		if b = w.hear(fmt.Sprint("g", joined%3), fmt.Sprint("m", joined), nil); b.Code != perr.None {
			break
		}
	}
	if b.Code != perr.CoordinatorLoadInProgress || !strings.Contains(b.Text, "lockstep.group.shard.max.bytes is 20000") || joined < 5 || w.s.kept > w.settings.MaxShardBytes {
		t.Fatalf("after %d members and %d bytes: %v %q", joined, w.s.kept, b.Code, b.Text)
	}
	if b := w.hear("mine", "me", func(c *ConsumerBeat) { c.Epoch = 1 }); b.Code != perr.None {
		t.Errorf("a member that is in: %v %s", b.Code, b.Text)
	}
	w.restart()
	for i := range joined {
		w.hear(fmt.Sprint("g", i%3), fmt.Sprint("m", i), func(c *ConsumerBeat) { c.Epoch = leaving })
	}
	for i := range 3 {
		w.do(DeleteGroup{Ref: 1, Group: fmt.Sprint("g", i)})
	}
	if w.s.kept != before {
		t.Errorf("%d bytes are counted, %d before", w.s.kept, before)
	}
	w.hear("mine", "me", func(c *ConsumerBeat) { c.Epoch = leaving })
	w.do(JoinGroup{Ref: 1, Group: "mine", NewMemberID: "x", ProtocolType: "consumer", Protocols: []Protocol{{Name: "range"}}, SessionTimeoutMs: 10_000, RebalanceTimeoutMs: 10_000})
	w.do(DeleteGroup{Ref: 1, Group: "mine"})
	w.do(LeaveGroup{Ref: 1, Group: "mine", Members: []Leaver{{MemberID: "x"}}})
	w.do(DeleteGroup{Ref: 1, Group: "mine"})
	if w.s.kept != 0 {
		t.Errorf("%d bytes are counted of nothing", w.s.kept)
	}
}

// Each pattern is matched with each name, so a group may have a few, not thousands.
func TestPatternsOfAGroupAreBounded(t *testing.T) {
	w := newWorld(t)
	w.do(Resume{Settings: w.settings})
	w.topics("t:2")
	for i := range maxPatterns + 1 {
		text := fmt.Sprintf("t%d|t", i)
		b := w.hear("g", fmt.Sprint("m", i), func(c *ConsumerBeat) { c.Regex = &text })
		if i < maxPatterns && b.Code != perr.None || i == maxPatterns && (b.Code != perr.InvalidRequest || !strings.Contains(b.Text, "patterns")) {
			t.Fatalf("pattern %d: %v %s", i, b.Code, b.Text)
		}
	}
	same := "t0|t"
	if b := w.hear("g", "one more", func(c *ConsumerBeat) { c.Regex = &same }); b.Code != perr.None {
		t.Errorf("a pattern that is there: %v %s", b.Code, b.Text)
	}
}

// What a member says it has may be anything, and moves nothing.
func TestAMemberMaySayItHasAnything(t *testing.T) {
	w := newWorld(t)
	w.do(Resume{Settings: w.settings})
	w.topics("t:2")
	w.hear("g", "a", nil)
	w.hear("g", "b", nil)
	for _, owned := range []assignor.Partitions{{core.TopicID{9}: {0}}, {topicID("t"): {-1, 7}}} {
		b := w.hear("g", "b", func(c *ConsumerBeat) { c.Epoch, c.Owned = 2, owned })
		if b.Code != perr.None || b.Assignment.Len() != 0 {
			t.Errorf("%v: %+v", owned, b)
		}
	}
}

// A pattern of a few kilobytes must not hold up all groups of a shard for seconds; one that many members have is matched
// once for all of them.
func TestAPatternOfAMemberIsBounded(t *testing.T) {
	w := newWorld(t)
	w.do(Resume{Settings: w.settings})
	w.topics("t:2")
	slow := strings.Repeat("(?:.?){1000}", 300)
	if b := w.hear("g", "a", func(c *ConsumerBeat) { c.Regex = &slow }); b.Code != perr.InvalidRegularExpression || !strings.Contains(b.Text, "bytes") {
		t.Errorf("%v %.200s", b.Code, b.Text)
	}
	members := []*consumer{{said: ConsumerRecord{Member: "a", Regex: "t.*"}}, {said: ConsumerRecord{Member: "b", Regex: "t.*"}}, {said: ConsumerRecord{Member: "c"}}}
	s := subscriptionsOf(members)
	topics := map[string]subscribedTopic{"t1": {id: topicID("t1"), partitions: 1}, "u": {id: topicID("u"), partitions: 1}}
	for _, m := range members {
		want := 0
		if m.said.Regex != "" {
			want = 1
		}
		if got := s.of(m, topics); len(got) != want {
			t.Errorf("%s has %v", m.said.Member, got)
		}
	}
	if len(s.matching) != 1 {
		t.Errorf("matched %d times", len(s.matching))
	}
}

// A filter is compared with every group of a shard, and may have any length.
func TestALongFilterIsASet(t *testing.T) {
	w := newWorld(t)
	w.do(Resume{Settings: w.settings})
	w.topics("t:2")
	for i := range 500 {
		w.hear(fmt.Sprint("g", i), "a", nil)
	}
	filter := make([]string, 300_000)
	for i := range filter {
		filter[i] = fmt.Sprint("state", i)
	}
	filter[len(filter)-1] = "sTABLE"
	began := time.Now()
	listed := w.do(ListGroups{Ref: 1, States: filter, Types: []string{"CONSUMER"}})[0].(Listed)
	if took := time.Since(began); len(listed.Groups) != 500 || took > 5*time.Second {
		t.Errorf("%d groups after %v", len(listed.Groups), took)
	}
}
