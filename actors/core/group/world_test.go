package group

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/actors/core/image"
)

// world drives a shard as the shell does, with a clock of its own, keeps what a journal would keep, and
// checks the laws of machines at every step.
type world struct {
	t        *testing.T
	s        *State
	now      int64 // ms
	wall     int64 // ms that the wall clock is ahead of now
	timers   []int64
	entries  []core.Entry
	snapshot []byte
	covered  int
	settings Settings
	image    *image.Image
}

func newWorld(t *testing.T) *world {
	return &world{t: t, s: Machine().Init(""), settings: DefaultSettings(), image: &image.Image{}}
}

func (s *State) clone() *State {
	c := &State{groups: map[string]*committed{}, settings: s.settings, live: map[string]*live{}, armed: s.armed,
		looked: s.looked, lookedAt: s.lookedAt, lookedAge: s.lookedAge}
	for name, l := range s.live {
		c.live[name] = l.clone()
	}
	c.beats = map[string]*beats{}
	for name, b := range s.beats {
		c.beats[name] = &beats{session: maps.Clone(b.session), rebalance: maps.Clone(b.rebalance), looked: b.looked}
	}
	return c
}

func (w *world) do(cmd Command) []Effect {
	w.t.Helper()
	hard, soft := w.s.snapshot(), w.s.clone()
	out := Machine().Decide(w.s, core.Now{Mono: w.now * ms, Wall: w.now + w.wall}, cmd)
	if after := w.s.clone(); !slices.Equal(hard, w.s.snapshot()) || !reflect.DeepEqual(soft, after) {
		w.t.Fatalf("deciding %#v changed the state", cmd)
	}
	for _, ev := range out.Events {
		if _, volatile := ev.(VolatileEvent); !volatile {
			entry, durable := Machine().Encode(ev)
			back, err := Machine().Decode(entry)
			if !durable || err != nil || !reflect.DeepEqual(back, ev) {
				w.t.Fatalf("decoding the encoded event gave (%v)\n got %#v\nwant %#v", err, back, ev)
			}
			w.entries = append(w.entries, entry)
		}
		Machine().Apply(w.s, ev)
	}
	for _, e := range out.Early {
		timer, ok := e.(ArmTimer)
		if !ok {
			w.t.Fatalf("%T leaves before its event is durable", e)
		}
		w.timers = append(w.timers, timer.At)
	}
	w.check()
	return out.Late
}

// check: what holds in every state of a group.
func (w *world) check() {
	w.t.Helper()
	for name, c := range w.s.groups {
		if c.consumers != nil {
			w.checkConsumers(name, c.consumers)
		}
	}
	for name, l := range w.s.live {
		if (len(l.members) == 0) != (l.phase == Empty) && len(l.pending) == 0 {
			w.t.Fatalf("group %s: %d members, %s", name, len(l.members), l.phase)
		}
		for id, m := range l.members {
			if m.id != id || m.instance != nil && l.statics[*m.instance] != id {
				w.t.Fatalf("group %s: member %s is filed under %s, statics %v", name, m.id, id, l.statics)
			}
			if m.joining && l.phase != Preparing || m.syncing && l.phase != Completing {
				w.t.Fatalf("group %s is %s, yet %s waits (join %v, sync %v)", name, l.phase, id, m.joining, m.syncing)
			}
		}
		if len(l.members) > 0 && l.members[l.leader] == nil {
			w.t.Fatalf("group %s: leader %q is not a member", name, l.leader)
		}
		if at := l.earliest(); len(l.members) > 0 && at == 0 && l.phase != Completing {
			w.t.Fatalf("group %s: nobody will ever look again", name)
		}
		if at := l.earliest(); at != 0 && (w.s.armed == 0 || w.s.armed > at) {
			w.t.Fatalf("group %s is due at %d, the timer is armed for %d", name, at, w.s.armed)
		}
	}
}

// topics makes the topics that exist, with their partitions, as "t:3 u:1"; ids follow from names, "t'" is t made anew.
func (w *world) topics(list ...string) {
	img := &image.Image{Version: w.image.Version + 1, Topics: map[core.TopicID]*image.Topic{}, Names: map[string]core.TopicID{}}
	for _, one := range list {
		name, n, _ := strings.Cut(one, ":")
		id := topicID(name)
		count, err := strconv.Atoi(n)
		if err != nil {
			w.t.Fatal(one, err)
		}
		name = strings.TrimSuffix(name, "'")
		img.Names[name] = id
		img.Topics[id] = &image.Topic{ID: id, Name: name, Partitions: make([]image.Partition, count)}
	}
	w.image = img
}

func topicID(name string) (id core.TopicID) {
	copy(id[:], name)
	return id
}

// shown renders partitions as "t[0 1] u[2]".
func shown(set assignor.Partitions) string {
	var list []string
	for id, partitions := range set {
		list = append(list, strings.TrimRight(string(id[:]), "\x00")+fmt.Sprint(partitions))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (w *world) checkConsumers(name string, g *consumers) {
	w.t.Helper()
	owners := map[core.PartitionID]string{}
	for id, m := range g.members {
		if m.said.Member != id || m.said.Instance != nil && g.statics[*m.said.Instance] != id {
			w.t.Fatalf("group %s: member %+v is filed under %s, statics %v", name, m.said, id, g.statics)
		}
		if m.epoch > g.epoch || g.targetEpoch > g.epoch || m.assigned.Meets(m.revoking) || (m.stage == unrevoked) != (m.revoking.Len() > 0) {
			w.t.Fatalf("group %s: member %s on epoch %d of %d (target %d), stage %d, has %v, gives up %v", name, id, m.epoch, g.epoch, g.targetEpoch, m.stage, m.assigned, m.revoking)
		}
		if b := w.s.beats[name]; w.s.looked && (b == nil || b.session[id] == 0 || m.stage == unrevoked && b.rebalance[id] == 0) {
			w.t.Fatalf("group %s: nobody will ever look for member %s (stage %d)", name, id, m.stage)
		}
		for t, list := range m.assigned.Or(m.revoking) {
			for _, p := range list {
				at := core.PartitionID{Topic: t, Index: p}
				if other := owners[at]; other != "" {
					w.t.Fatalf("group %s: %s and %s both have %s[%d]", name, other, id, t[:2], p)
				}
				owners[at] = id
			}
		}
	}
	for inst, id := range g.statics {
		if m := g.members[id]; m == nil || m.said.Instance == nil || *m.said.Instance != inst {
			w.t.Fatalf("group %s: instance id %s is filed for %s, which is %+v", name, inst, id, m)
		}
	}
	if !maps.Equal(owners, g.owners) {
		w.t.Fatalf("group %s: owners %v, by members %v", name, g.owners, owners)
	}
	if b := w.s.beats[name]; b != nil {
		if at := b.earliest(); at != 0 && (w.s.armed == 0 || w.s.armed > at) {
			w.t.Fatalf("group %s is due at %d, the timer is armed for %d", name, at, w.s.armed)
		}
		for id := range b.session {
			if g.members[id] == nil {
				w.t.Fatalf("group %s: the session of %s, which is gone", name, id)
			}
		}
	}
}

// wait lets time pass and delivers ticks at the instants that were asked for.
func (w *world) wait(millis int64) (late []Effect) {
	until := w.now + millis
	for {
		slices.Sort(w.timers)
		if len(w.timers) == 0 || w.timers[0] > until*ms {
			break
		}
		w.now = max(w.now, (w.timers[0]+ms-1)/ms)
		w.timers = w.timers[1:]
		late = append(late, w.do(Tick{})...)
	}
	w.now = until
	return late
}

// restart is a new process: all that is soft is gone, replay in two ways agrees.
func (w *world) restart() []Effect {
	w.t.Helper()
	w.timers = nil
	lived, kept := w.s.snapshot(), w.s.kept
	for _, snapshot := range []bool{false, true} {
		s, from := Machine().Init(""), 0
		if snapshot && w.snapshot != nil {
			var err error
			if s, err = Machine().Restore("", w.snapshot); err != nil {
				w.t.Fatal(err)
			}
			from = w.covered
		}
		for _, e := range w.entries[from:] {
			ev, err := Machine().Decode(e)
			if err != nil {
				w.t.Fatal(err)
			}
			Machine().Apply(s, ev)
		}
		if !slices.Equal(s.snapshot(), lived) || s.kept != kept {
			w.t.Fatalf("replay (snapshot %v) differs from what was lived, with %d bytes after %d", snapshot, s.kept, kept)
		}
		w.s = s
	}
	w.snapshot, w.covered = lived, len(w.entries)
	return w.do(Resume{Settings: w.settings})
}

func render(e Effect, ref func(core.RequestID) string) string {
	switch e := e.(type) {
	case Joined:
		if e.Code != 0 {
			return strings.TrimSpace(fmt.Sprintf("%s: joined %s member=%s %s", ref(e.Ref), e.Code.Name(), e.MemberID, e.Text))
		}
		out := fmt.Sprintf("%s: joined gen=%d %s/%s leader=%s member=%s", ref(e.Ref), e.Generation, e.ProtocolType, e.Protocol, e.Leader, e.MemberID)
		if e.SkipAssignment {
			out += " skip"
		}
		for _, m := range e.Members {
			out += fmt.Sprintf(" [%s%s %s]", m.MemberID, instance(m.InstanceID), said(m.Metadata))
		}
		return out
	case Synced:
		if e.Code != 0 {
			return fmt.Sprintf("%s: synced %s", ref(e.Ref), e.Code.Name())
		}
		if has, ok := readAssignment(e.Assignment); ok && len(e.Assignment) > 0 {
			return fmt.Sprintf("%s: synced %s/%s has %v", ref(e.Ref), e.ProtocolType, e.Protocol, has)
		}
		return fmt.Sprintf("%s: synced %s/%s assignment=%q", ref(e.Ref), e.ProtocolType, e.Protocol, e.Assignment)
	case Beaten:
		return fmt.Sprintf("%s: beat %s", ref(e.Ref), e.Code.Name())
	case Left:
		out := fmt.Sprintf("%s: left %s", ref(e.Ref), e.Code.Name())
		for _, m := range e.Members {
			out += fmt.Sprintf(" [%s%s %s]", m.MemberID, instance(m.InstanceID), m.Code.Name())
		}
		return out
	case OffsetsCommitted:
		out := ref(e.Ref) + ": committed"
		for _, c := range e.Codes {
			out += " " + c.Name()
		}
		return out
	case OffsetsFetched:
		out := fmt.Sprintf("%s: fetched %s", ref(e.Ref), e.Code.Name())
		for _, o := range e.Offsets {
			out += fmt.Sprintf(" %s/%d@%d:%d%q", o.Topic, o.Partition, o.Offset, o.LeaderEpoch, o.Metadata)
		}
		return out
	case ConsumerBeaten:
		if e.Code != 0 {
			return fmt.Sprintf("%s: heard %s %s", ref(e.Ref), e.Code.Name(), e.Text)
		}
		out := fmt.Sprintf("%s: heard %s epoch=%d", ref(e.Ref), e.MemberID, e.Epoch)
		if e.Assigned {
			out += " has " + shown(e.Assignment)
		}
		return strings.TrimRight(out, " ")
	case ConsumersDescribed:
		out := fmt.Sprintf("%s: described found=%v %s epoch=%d target=%d %s", ref(e.Ref), e.Found, e.State, e.Epoch, e.TargetEpoch, e.Assignor)
		for _, m := range e.Members {
			kind := ""
			if len(m.Said.Protocols) > 0 {
				kind = " classic"
			}
			out += fmt.Sprintf(" [%s%s%s epoch=%d has %s wants %s]", m.Said.Member, instance(m.Said.Instance), kind, m.Epoch, shown(m.Assigned), shown(m.Target))
		}
		return out
	case ConfiguredListed:
		return fmt.Sprintf("%s: configured are %v", ref(e.Ref), e.Groups)
	case Configured:
		return strings.TrimSpace(fmt.Sprintf("%s: configured %s %v over %v %s", ref(e.Ref), e.Code.Name(), e.Settings, e.Defaults, e.Text))
	case Deleted:
		return fmt.Sprintf("%s: deleted %s", ref(e.Ref), e.Code.Name())
	case OffsetsDeleted:
		out := fmt.Sprintf("%s: offsets deleted %s", ref(e.Ref), e.Code.Name())
		for _, c := range e.Codes {
			out += " " + c.Name()
		}
		return out
	case Described:
		d := e.Description
		out := fmt.Sprintf("%s: described found=%v %s gen=%d %s/%s leader=%s", ref(e.Ref), e.Found, d.State, d.Generation, d.ProtocolType, d.Protocol, d.Leader)
		for _, m := range d.Members {
			out += fmt.Sprintf(" [%s%s %s@%s %s %q]", m.MemberID, instance(m.InstanceID), m.ClientID, m.ClientHost, said(m.Metadata), m.Assignment)
		}
		return out
	case Listed:
		out := ref(e.Ref) + ": listed"
		for _, g := range e.Groups {
			out += fmt.Sprintf(" [%s %q %s %s]", g.Group, g.ProtocolType, g.State, g.Type)
		}
		return out
	default:
		panic(fmt.Sprintf("unknown effect %T", e))
	}
}

// said shows a subscription as scripts write it.
func said(b []byte) string {
	if names, ok := subscribedTopics(b); ok {
		return "topics=" + strings.Join(names, "+")
	}
	return string(b)
}

func instance(id *string) string {
	if id == nil {
		return ""
	}
	return "(" + *id + ")"
}
