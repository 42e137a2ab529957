package group

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// client is a consumer that does what it is told, except when the test makes it forget.
type client struct {
	name     string
	static   *string
	member   string
	gen      int32
	waiting  core.RequestID // the request it waits for, 0 if none
	synced   bool
	gone     bool
	assigned string
}

type life struct {
	*world
	r       *rand.Rand
	clients []*client
	asked   map[core.RequestID]*client
	next    core.RequestID
	ids     int
	rounds  map[int32]string // generation: leader and protocol, as told
	newest  int32
	offsets map[string]core.Offset // the twin: topic/partition to the offset that was confirmed last
}

func (l *life) ask(c *client, build func(core.RequestID) Command) []Effect {
	l.next++
	l.asked[l.next] = c
	if c != nil {
		c.waiting = l.next
	}
	return l.do(build(l.next))
}

// told gives answers to clients: every request is answered at most once, and everybody who is told of
// a generation is told the same.
func (l *life) told(effects []Effect) {
	for _, e := range effects {
		ref := e.(core.Reply).ReplyTo()
		c, open := l.asked[ref]
		if !open {
			l.t.Fatalf("%#v answers a request that is not open", e)
		}
		delete(l.asked, ref)
		if c == nil || c.waiting != ref {
			continue
		}
		c.waiting = 0
		switch e := e.(type) {
		case Joined:
			l.joined(c, e)
		case Synced:
			switch e.Code {
			case perr.None:
				c.synced, c.assigned = true, string(e.Assignment)
			case perr.UnknownMemberId, perr.FencedInstanceId:
				c.member, c.gen = "", -1
			default:
				c.gen = -1
			}
		case Beaten:
			if e.Code == perr.UnknownMemberId || e.Code == perr.FencedInstanceId {
				c.member = ""
			}
			if e.Code != perr.None {
				c.gen = -1
			}
		}
	}
}

func (l *life) joined(c *client, e Joined) {
	switch e.Code {
	case perr.None:
		c.member, c.gen, c.synced = e.MemberID, e.Generation, false
		if e.Generation < l.newest {
			l.t.Fatalf("generation %d after %d", e.Generation, l.newest)
		}
		// A static leader that came back before v9 is told the id it had, so the leader is not compared.
		if told, known := l.rounds[e.Generation]; known && told != e.Protocol {
			l.t.Fatalf("generation %d is told as %q and as %q", e.Generation, told, e.Protocol)
		}
		l.rounds[e.Generation], l.newest = e.Protocol, e.Generation
	case perr.MemberIdRequired:
		c.member = e.MemberID
	case perr.UnknownMemberId, perr.FencedInstanceId:
		c.member, c.gen = "", -1
	default: // the client asks again
	}
}

// step lets one client do the next thing it wants.
func (l *life) step(c *client) {
	if c.waiting != 0 || c.gone {
		return
	}
	switch {
	case c.gen < 0:
		l.ids++
		l.told(l.ask(c, func(ref core.RequestID) Command {
			return JoinGroup{Ref: ref, Group: "g", MemberID: c.member, NewMemberID: fmt.Sprintf("%s-%d", c.name, l.ids), InstanceID: c.static,
				NeedsKnownID: c.static == nil, SkipsAssignment: true, ProtocolType: "consumer", Protocols: []Protocol{{"range", []byte(c.name)}, {"rr", nil}},
				SessionTimeoutMs: 10_000, RebalanceTimeoutMs: 20_000}
		}))
	case !c.synced:
		l.told(l.ask(c, func(ref core.RequestID) Command {
			s := SyncGroup{Ref: ref, Group: "g", Generation: c.gen, MemberID: c.member, InstanceID: c.static}
			for _, other := range l.clients {
				s.Assignments = append(s.Assignments, Assignment{other.member, []byte(fmt.Sprint(c.gen, other.name))})
			}
			return s
		}))
	case l.r.IntN(3) == 0:
		o := OffsetToCommit{Topic: "t", Partition: int32(l.r.IntN(3)), Offset: core.Offset(l.r.IntN(1000))}
		for _, e := range l.ask(nil, func(ref core.RequestID) Command {
			return OffsetCommit{Ref: ref, Group: "g", Generation: c.gen, MemberID: c.member, InstanceID: c.static, Offsets: []OffsetToCommit{o}}
		}) {
			if e.(OffsetsCommitted).Codes[0] == 0 {
				l.offsets[fmt.Sprint(o.Topic, o.Partition)] = o.Offset
			}
			l.told([]Effect{e})
		}
	default:
		l.told(l.ask(c, func(ref core.RequestID) Command {
			return Heartbeat{Ref: ref, Group: "g", Generation: c.gen, MemberID: c.member, InstanceID: c.static}
		}))
	}
}

func (l *life) crash() {
	clear(l.asked) // the shell fails whoever waits; clients try again
	for _, c := range l.clients {
		c.waiting = 0
	}
	l.told(l.restart())
}

func TestARandomLifeKeepsTheLawsAndSettles(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 5))
		l := &life{world: newWorld(t), r: r, asked: map[core.RequestID]*client{}, rounds: map[int32]string{}, offsets: map[string]core.Offset{}}
		l.settings.InitialDelayMs = int64(r.IntN(2)) * 3000
		l.told(l.do(Resume{Settings: l.settings}))
		for i := range 4 {
			c := &client{name: fmt.Sprint("c", i), gen: -1}
			if i%2 == 0 {
				c.static = &c.name
			}
			l.clients = append(l.clients, c)
		}
		for range 250 {
			c := l.clients[r.IntN(4)]
			switch n := r.IntN(40); {
			case n == 0:
				l.crash()
			case n == 1: // the client dies silently and comes back knowing nothing
				*c = client{name: c.name, static: c.static, gen: -1}
			case n == 2: // its connection breaks: it asks again
				c.waiting = 0
			case n == 3 && c.member != "":
				l.told(l.ask(nil, func(ref core.RequestID) Command {
					return LeaveGroup{Ref: ref, Group: "g", Members: []Leaver{{c.member, c.static}}}
				}))
				*c = client{name: c.name, static: c.static, gen: -1}
			case n == 4:
				c.gone = !c.gone
			case n < 10:
				l.told(l.wait(int64(r.IntN(4000))))
			default:
				l.step(c)
			}
		}
		l.settle(seed)
	}
}

// settle: once faults end, everybody gets an assignment of one generation, and every confirmed offset
// is what the twin remembers.
func (l *life) settle(seed uint64) {
	for _, c := range l.clients {
		c.gone = false
	}
	for range 60 {
		for _, c := range l.clients {
			l.step(c)
		}
		l.told(l.wait(1500))
	}
	for _, c := range l.clients {
		if !c.synced || c.gen != l.newest {
			l.t.Fatalf("seed %d: %+v is not settled in generation %d: %+v", seed, *c, l.newest, l.s.live["g"])
		}
	}
	l.crash()
	f := l.do(OffsetFetch{Group: "g"})[0].(OffsetsFetched)
	if len(f.Offsets) != len(l.offsets) {
		l.t.Fatalf("seed %d: %d offsets, want %d", seed, len(f.Offsets), len(l.offsets))
	}
	for _, o := range f.Offsets {
		if want := l.offsets[fmt.Sprint(o.Topic, o.Partition)]; o.Offset != want {
			l.t.Fatalf("seed %d: %s/%d is %d, want %d", seed, o.Topic, o.Partition, o.Offset, want)
		}
	}
}
