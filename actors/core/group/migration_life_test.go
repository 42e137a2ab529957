package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/protocol/perr"
)

// veteran is a client of the classic protocol: eager, or one that keeps what it has through a round.
type veteran struct {
	name        string
	id          string
	generation  int32
	owned       assignor.Partitions
	ref         core.RequestID // of the request it waits for; 0: none
	joins       bool           // is to join (again)
	cooperative bool
	away        bool // switched off; the client of the other kind of the same name is on
	quiet       bool
}

// migrants are clients of both protocols in one group.
type migrants struct {
	processors
	old []*veteran
	ref core.RequestID
}

func (l *migrants) send(v *veteran, make func(ref core.RequestID) Command) {
	l.ref++
	v.ref = l.ref
	l.deliver(l.do(make(l.ref)))
}

// act: what a veteran does next, unless it waits for an answer.
func (l *migrants) act(v *veteran) {
	switch {
	case v.away || v.quiet || v.ref != 0:
	case v.joins:
		if !v.cooperative {
			v.owned = assignor.Partitions{}
		}
		said := "topics=t+u|"
		for t, list := range v.owned {
			for _, p := range list {
				said += fmt.Sprintf("%s/%d+", string(t[:1]), p)
			}
		}
		l.send(v, func(ref core.RequestID) Command {
			return JoinGroup{Ref: ref, Group: "g", MemberID: v.id, NewMemberID: fmt.Sprint(v.name, "-", ref), NeedsKnownID: true, ProtocolType: consumerType,
				Protocols: []Protocol{{"range", subscription(said)}}, SessionTimeoutMs: 20_000, RebalanceTimeoutMs: 20_000, Image: l.image}
		})
	default:
		l.send(v, func(ref core.RequestID) Command {
			return Heartbeat{Ref: ref, Group: "g", Generation: v.generation, MemberID: v.id}
		})
	}
}

func (v *veteran) lose() {
	v.id, v.owned, v.joins, v.generation = "", assignor.Partitions{}, true, -1
}

// failed handles the codes that every answer may have.
func (l *migrants) failed(v *veteran, code perr.Code) bool {
	switch code {
	case perr.None:
		return false
	case perr.RebalanceInProgress:
		v.joins = true
	case perr.IllegalGeneration:
		v.owned, v.joins = assignor.Partitions{}, true
	case perr.UnknownMemberId, perr.FencedInstanceId:
		v.lose()
	default:
		l.t.Fatalf("%s: %s", v.name, code.Name())
	}
	return true
}

func (l *migrants) deliver(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case Joined:
			if v := l.waiting(e.Ref); v != nil {
				l.joined(v, e)
			}
		case Synced:
			if v := l.waiting(e.Ref); v != nil && !l.failed(v, e.Code) {
				set, ok := readAssignment(e.Assignment)
				if !ok {
					l.t.Fatalf("%s cannot read %x", v.name, e.Assignment)
				}
				now := byID(set, l.image.TopicNamed)
				v.joins = v.cooperative && v.owned.Without(now).Len() > 0
				v.owned = now
			}
		case Beaten:
			if v := l.waiting(e.Ref); v != nil {
				l.failed(v, e.Code)
			}
		default:
		}
	}
}

func (l *migrants) waiting(ref core.RequestID) *veteran {
	for _, v := range l.old {
		if ref != 0 && v.ref == ref {
			v.ref = 0
			return v
		}
	}
	return nil
}

func (l *migrants) joined(v *veteran, e Joined) {
	if e.Code == perr.MemberIdRequired {
		v.id = e.MemberID
		return
	}
	if l.failed(v, e.Code) {
		return
	}
	v.id, v.generation, v.joins = e.MemberID, e.Generation, false
	l.send(v, func(ref core.RequestID) Command {
		c := SyncGroup{Ref: ref, Group: "g", Generation: v.generation, MemberID: v.id}
		if e.Leader == v.id {
			c.Assignments = l.shareOut(e.Members)
		}
		return c
	})
}

// shareOut is what a leader does that gives nobody what another still has.
func (l *migrants) shareOut(members []JoinedMember) (list []Assignment) {
	has := map[string]string{}
	for _, m := range members {
		said, _ := readSubscription(m.Metadata)
		for topic, owned := range said.owned {
			for _, p := range owned {
				has[fmt.Sprint(topic, "/", p)] = m.MemberID
			}
		}
	}
	given := map[string]map[string][]int32{}
	n := 0
	for _, topic := range []string{"t", "u"} {
		t, ok := l.image.TopicNamed(topic)
		if !ok {
			continue
		}
		for p := range t.Partitions {
			to := members[n%len(members)].MemberID
			n++
			if owner := has[fmt.Sprint(topic, "/", p)]; owner != "" && owner != to {
				continue
			}
			if given[to] == nil {
				given[to] = map[string][]int32{}
			}
			given[to][topic] = append(given[to][topic], int32(p))
		}
	}
	for _, m := range members {
		list = append(list, Assignment{m.MemberID, writeAssignment(1, given[m.MemberID])})
	}
	return list
}

// laws: in a group of the consumer protocol nobody who may go on works on what another could be given.
func (l *migrants) laws() {
	l.law()
	hard := l.s.groups["g"]
	if hard == nil || hard.consumers == nil || l.s.live["g"] != nil {
		return
	}
	for _, v := range l.old {
		if m := hard.consumers.members[v.id]; m != nil && m.classic() && m.epoch == v.generation && !v.owned.Within(m.assigned.Or(m.revoking)) {
			l.t.Fatalf("%s in generation %d works on %s; for the coordinator it has %s and gives up %s", v.name, v.generation, shown(v.owned), shown(m.assigned), shown(m.revoking))
		}
	}
}

// swap restarts a client with the other protocol; it leaves first, or dies without a word.
func (l *migrants) swap(i int, leaves bool) {
	c, v := l.clients[i], l.old[i]
	if v.away {
		if leaves {
			l.deliver(l.do(ConsumerBeat{Ref: 1 << 40, Group: "g", MemberID: c.id, Epoch: leaving, RebalanceMs: -1, Image: l.image}))
		}
		l.fresh(c)
		c.gone, v.away, v.ref = true, false, 0
		v.lose()
		return
	}
	if leaves && v.id != "" {
		l.deliver(l.do(LeaveGroup{Ref: 1 << 40, Group: "g", Members: []Leaver{{MemberID: v.id}}}))
	}
	v.lose()
	v.away, v.ref, c.gone = true, 0, false
	l.fresh(c)
}

func (l *migrants) step(i int) {
	if l.old[i].away {
		c := l.clients[i]
		b := ConsumerBeat{Ref: 1 << 41, Group: "g", MemberID: c.id, Epoch: c.epoch, RebalanceMs: 20_000, Topics: c.topics, Owned: c.owned, Image: l.image}
		effects := l.do(b)
		l.deliver(effects)
		for _, e := range effects {
			if e, mine := e.(ConsumerBeaten); mine {
				l.beaten(c, e)
			}
		}
		return
	}
	l.act(l.old[i])
}

func (l *migrants) beaten(c *processor, e ConsumerBeaten) {
	switch e.Code {
	case perr.None:
		if c.epoch = e.Epoch; e.Assigned {
			c.owned = e.Assignment
		}
	case perr.UnknownMemberId, perr.GroupIdNotFound:
		l.fresh(c)
	case perr.FencedMemberEpoch:
		c.epoch, c.owned = joining, assignor.Partitions{}
	default:
		l.t.Fatalf("%s: %s %s", c.name, e.Code.Name(), e.Text)
	}
}

func TestARandomLifeOfBothProtocolsSharesNothing(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		l := &migrants{processors: processors{world: newWorld(t), r: r, offsets: map[string]core.Offset{}}}
		l.settings.InitialDelayMs = 0
		l.do(Resume{Settings: l.settings})
		l.topics("t:5", "u:3")
		for i := range 4 {
			c := &processor{name: fmt.Sprint("new", i), topics: []string{"t", "u"}, gone: true}
			l.fresh(c)
			l.clients = append(l.clients, c)
			v := &veteran{name: fmt.Sprint("old", i), cooperative: seed%2 == 0}
			v.lose()
			l.old = append(l.old, v)
		}
		for range 300 {
			i := r.IntN(4)
			switch n := r.IntN(50); {
			case n == 0:
				l.deliver(l.restart())
				for _, v := range l.old {
					v.ref = 0 // connections ended, and what was asked is asked again
					v.joins = v.joins || v.id == "" || r.IntN(3) == 0
				}
			case n < 3:
				l.swap(i, r.IntN(3) > 0)
			case n == 3:
				l.old[i].quiet = !l.old[i].quiet
			case n < 9:
				l.deliver(l.wait(int64(r.IntN(6000))))
			default:
				l.step(i)
			}
			l.laws()
		}
		l.converge(seed)
	}
}

// converge: first all with the consumer protocol, then all with the classic one: each time everything is worked on, once.
func (l *migrants) converge(seed uint64) {
	for _, mix := range [][]bool{{true, false, true, false}, {true, true, true, true}, {false, true, false, false}, {false, false, false, false}} {
		for i, v := range l.old {
			if v.quiet = false; v.away != mix[i] {
				l.swap(i, true)
			}
		}
		for range 60 {
			for i := range l.old {
				l.step(i)
				l.laws()
			}
			l.deliver(l.wait(1000))
		}
		all := assignor.Partitions{}
		for i, v := range l.old {
			owned := v.owned
			if v.away {
				owned = l.clients[i].owned
			}
			if all.Meets(owned) {
				l.t.Fatalf("seed %d, %v: two work on %s", seed, mix, shown(owned))
			}
			all = all.Or(owned)
		}
		classic := !slices.Contains(mix, true)
		if all.Len() != 8 || l.s.isConsumers("g") == classic {
			l.t.Fatalf("seed %d, %v: %s of 8 are worked on, by a group of the consumer protocol: %t", seed, mix, shown(all), l.s.isConsumers("g"))
		}
	}
}
