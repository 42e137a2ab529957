package group

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/protocol/perr"
)

// processor is a client of the consumer protocol: what it has is what it works on, whatever the coordinator thinks.
type processor struct {
	name   string
	static *string
	id     string
	epoch  int32
	owned  assignor.Partitions
	full   bool // says everything next time
	gone   bool // does nothing for a while, and keeps what it has
	topics []string
}

type processors struct {
	*world
	r       *rand.Rand
	clients []*processor
	ids     int
	offsets map[string]core.Offset
}

func (l *processors) fresh(c *processor) {
	l.ids++
	c.id, c.epoch, c.owned, c.full = fmt.Sprint(c.name, "-", l.ids), joining, assignor.Partitions{}, true
}

// step: one heartbeat, whose answer may be lost.
func (l *processors) step(c *processor, lossy bool) {
	if c.gone {
		return
	}
	b := ConsumerBeat{Ref: 1, Group: "g", MemberID: c.id, Epoch: c.epoch, InstanceID: c.static, RebalanceMs: -1, Image: l.image}
	if c.full || c.epoch == joining || l.r.IntN(3) > 0 {
		b.Owned = c.owned
	}
	if c.full || c.epoch == joining {
		b.RebalanceMs, b.Topics = 20_000, c.topics
	}
	c.full = false
	e := l.do(b)[0].(ConsumerBeaten)
	if lossy && l.r.IntN(8) == 0 {
		c.full = true
		return
	}
	switch e.Code {
	case perr.None:
		c.epoch = e.Epoch
		if e.Assigned {
			c.owned = e.Assignment
		}
	case perr.UnknownMemberId, perr.FencedInstanceId:
		l.fresh(c)
	case perr.FencedMemberEpoch:
		c.epoch, c.owned = joining, assignor.Partitions{}
	case perr.UnreleasedInstanceId:
	default:
		l.t.Fatalf("%s: %s %s", c.name, e.Code.Name(), e.Text)
	}
}

// commit: what is accepted is what this client alone works on.
func (l *processors) commit(c *processor) {
	for t, list := range c.owned {
		offset := core.Offset(l.r.IntN(1000))
		codes := l.do(OffsetCommit{Ref: 1, Group: "g", MemberID: c.id, Generation: max(c.epoch, 1), KnowsGroupNotFound: true,
			Offsets: []OffsetToCommit{{Topic: string(t[:1]), TopicID: t, Partition: list[0], Offset: offset}}})[0].(OffsetsCommitted).Codes
		if codes[0] != perr.None {
			continue
		}
		l.offsets[fmt.Sprint(string(t[:1]), list[0])] = offset
		for _, o := range l.clients {
			if o != c && o.owned.Has(t, list[0]) && l.valid(o) {
				l.t.Fatalf("%s commits what %s works on", c.name, o.name)
			}
		}
	}
}

// valid: the coordinator would let it go on.
func (l *processors) valid(c *processor) bool {
	hard := l.s.groups["g"]
	if hard == nil || hard.consumers == nil {
		return false
	}
	m := hard.consumers.members[c.id]
	return m != nil && (m.epoch == c.epoch || m.previous == c.epoch && c.owned.Within(m.assigned))
}

// law: whoever may go on works on nothing that another could be given.
func (l *processors) law() {
	for _, c := range l.clients {
		if !l.valid(c) {
			continue
		}
		if m := l.s.groups["g"].consumers.members[c.id]; !c.owned.Within(m.assigned.Or(m.revoking)) {
			l.t.Fatalf("%s on epoch %d works on %s; for the coordinator it has %s and gives up %s", c.name, c.epoch, shown(c.owned), shown(m.assigned), shown(m.revoking))
		}
	}
}

func TestARandomLifeOfConsumersSharesNothing(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 6))
		l := &processors{world: newWorld(t), r: r, offsets: map[string]core.Offset{}}
		l.do(Resume{Settings: l.settings})
		counts := map[string]int{"t": 1 + r.IntN(6), "u": r.IntN(4)}
		show := func() { l.topics(fmt.Sprint("t:", counts["t"]), fmt.Sprint("u:", counts["u"])) }
		show()
		for i := range 4 {
			c := &processor{name: fmt.Sprint("c", i), topics: []string{"t", "u"}}
			if i%2 == 0 {
				c.static = &c.name
			}
			l.fresh(c)
			l.clients = append(l.clients, c)
		}
		for range 300 {
			c := l.clients[r.IntN(4)]
			switch n := r.IntN(60); {
			case n == 0:
				l.restart()
			case n == 1: // dies without a word
				l.fresh(c)
			case n == 2: // leaves; a static member says that it will be back
				epoch := leaving
				if c.static != nil && r.IntN(2) == 0 {
					epoch = away
				}
				c.owned = assignor.Partitions{}
				l.do(ConsumerBeat{Ref: 1, Group: "g", MemberID: c.id, Epoch: epoch, InstanceID: c.static, RebalanceMs: -1, Image: l.image})
				l.fresh(c)
			case n == 3:
				c.gone = !c.gone
			case n == 4:
				counts["t"]++
				show()
			case n == 5:
				c.topics, c.full = []string{"t", "u"}[:1+r.IntN(2)], true
			case n < 12:
				l.wait(int64(r.IntN(9000)))
			case n < 25:
				l.commit(c)
			default:
				l.step(c, true)
			}
			l.law()
		}
		l.settle(seed, counts)
	}
}

// settle: once faults end, every partition is worked on by one client, shared evenly, and confirmed offsets are there.
func (l *processors) settle(seed uint64, counts map[string]int) {
	for _, c := range l.clients {
		c.gone, c.topics, c.full = false, []string{"t", "u"}, true
	}
	for range 80 {
		for _, c := range l.clients {
			l.step(c, false)
			l.law()
		}
		l.wait(1500)
	}
	all, least, most := assignor.Partitions{}, 1000, 0
	for _, c := range l.clients {
		if !l.valid(c) || all.Meets(c.owned) {
			l.t.Fatalf("seed %d: %s (valid %v) works on %s, others on %s", seed, c.name, l.valid(c), shown(c.owned), shown(all))
		}
		all = all.Or(c.owned)
		least, most = min(least, c.owned.Len()), max(most, c.owned.Len())
	}
	if g := l.s.groups["g"].consumers; all.Len() != counts["t"]+counts["u"] || most-least > 1 || g.state() != "Stable" {
		l.t.Fatalf("seed %d: %s of %v are worked on, %d to %d by one; the group is %s", seed, shown(all), counts, least, most, g.state())
	}
	l.restart()
	f := l.do(OffsetFetch{Group: "g"})[0].(OffsetsFetched)
	for _, o := range f.Offsets {
		if want := l.offsets[fmt.Sprint(o.Topic, o.Partition)]; o.Offset != want {
			l.t.Fatalf("seed %d: %s/%d is %d, want %d", seed, o.Topic, o.Partition, o.Offset, want)
		}
	}
	if len(f.Offsets) != len(l.offsets) {
		l.t.Fatalf("seed %d: %d offsets, want %d", seed, len(f.Offsets), len(l.offsets))
	}
}
