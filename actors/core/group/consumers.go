package group

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
)

// consumers is a group of the consumer protocol (KIP-848) as durable events say: the coordinator assigns, and each
// member moves to its target by itself, giving up what it has to before others get it. Values in it are replaced and
// never changed, so that a decision may hold them.
type consumers struct {
	epoch       int32 // raised when members, subscriptions or topics change
	topics      map[string]subscribedTopic
	targetEpoch int32 // the group epoch that the targets are made for
	assignor    string
	targets     map[string]assignor.Partitions
	members     map[string]*consumer
	statics     map[string]string           // instance id to member id
	owners      map[core.PartitionID]string // who has it, or has to give it up; follows from members
	size        int64                       // bytes when last counted, by bounds.go
}

// subscribedTopic is a topic as the group was assigned it.
type subscribedTopic struct {
	id         core.TopicID
	partitions int32
}

// consumer is one member.
type consumer struct {
	said               ConsumerRecord
	epoch              int32 // of the group epoch it has reached; away for a static member that is to come back
	previous           int32
	stage              stage
	assigned, revoking assignor.Partitions
}

// stage is where a member stands on the way to its target.
type stage int8

const (
	settled    stage = 0 // has all of its target that it can get in its epoch
	unrevoked  stage = 1 // is to give up revoking, and stays on its epoch until it says so
	unreleased stage = 2 // is on the newest epoch and waits for partitions that others have
)

// Member epochs that are requests (KIP-848).
const (
	joining int32 = 0
	leaving int32 = -1
	away    int32 = -2 // a static member that is to come back
)

// beats is what is known of the members of such a group since Resume.
type beats struct {
	session   map[string]int64 // mono ns until when a member counts as alive
	rebalance map[string]int64 // mono ns until when a member has to give up what it is to
	looked    looked
}

// looked says when the topics of a group were looked up.
type looked struct {
	image    int64 // version of the image that names were looked up in
	all      int64 // version of the image whose names were all matched with the patterns
	allSince int64 // mono ns of when that was
}

func newConsumers() *consumers {
	return &consumers{topics: map[string]subscribedTopic{}, targets: map[string]assignor.Partitions{}, members: map[string]*consumer{},
		statics: map[string]string{}, owners: map[core.PartitionID]string{}}
}

// inOrder lists members by id, so that decisions do not depend on map order.
func (g *consumers) inOrder() []*consumer {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *consumer) int { return cmp.Compare(a.said.Member, b.said.Member) })
}

// state is Kafka's name of where the group stands.
func (g *consumers) state() string {
	if len(g.members) == 0 {
		return "Empty"
	}
	if g.epoch > g.targetEpoch {
		return "Assigning"
	}
	for _, m := range g.members {
		if m.stage != settled || m.epoch != g.targetEpoch {
			return "Reconciling"
		}
	}
	return "Stable"
}

// put replaces a member, and says who has what.
func (g *consumers) put(m *consumer) {
	id := m.said.Member
	if old := g.members[id]; old != nil {
		g.disown(old)
		g.unname(old)
	}
	g.members[id] = m
	if m.said.Instance != nil {
		g.statics[*m.said.Instance] = id
	}
	for _, set := range []assignor.Partitions{m.assigned, m.revoking} {
		for t, list := range set {
			for _, p := range list {
				g.owners[core.PartitionID{Topic: t, Index: p}] = id
			}
		}
	}
}

func (g *consumers) disown(m *consumer) {
	for _, set := range []assignor.Partitions{m.assigned, m.revoking} {
		for t, list := range set {
			for _, p := range list {
				if at := (core.PartitionID{Topic: t, Index: p}); g.owners[at] == m.said.Member {
					delete(g.owners, at)
				}
			}
		}
	}
}

func (g *consumers) remove(id string) {
	m := g.members[id]
	if m == nil {
		return
	}
	g.disown(m)
	delete(g.members, id)
	delete(g.targets, id)
	g.unname(m)
}

// unname frees the instance id of a member that goes, or comes back under another one.
func (g *consumers) unname(m *consumer) {
	if m.said.Instance != nil && g.statics[*m.said.Instance] == m.said.Member {
		delete(g.statics, *m.said.Instance)
	}
}

// replace gives the place of a static member to a new id.
func (g *consumers) replace(old, id string) {
	m := g.members[old]
	if m == nil {
		return
	}
	target := g.targets[old]
	g.remove(old)
	g.targets[id] = target
	g.put(m.replacedBy(id))
}

// replacedBy is what a static member that came back begins with: the place, on no epoch yet.
func (m *consumer) replacedBy(id string) *consumer {
	n := *m
	n.said.Member, n.epoch, n.previous = id, joining, joining
	return &n
}

func (m *consumer) bytes() int64 {
	r := &m.said
	n := memberCost + len(r.Member) + len(r.ClientID) + len(r.ClientHost) + len(r.Regex) + len(r.Assignor) + 8*(m.assigned.Len()+m.revoking.Len())
	for _, t := range r.Topics {
		n += 16 + len(t)
	}
	for _, p := range r.Protocols {
		n += len(p.Name) + len(p.Metadata)
	}
	return int64(n)
}

func (g *consumers) bytes() int64 {
	n := int64(0)
	for _, m := range g.members {
		n += m.bytes()
	}
	for _, t := range g.targets {
		n += int64(offsetCost + 4*t.Len())
	}
	for name := range g.topics {
		n += int64(offsetCost + len(name))
	}
	return n
}

func setOf(list []TopicPartitionsRecord) assignor.Partitions {
	set := assignor.Partitions{}
	for _, r := range list {
		if len(r.Partitions) > 0 {
			set[r.ID] = r.Partitions
		}
	}
	return set
}

func records(set assignor.Partitions) []TopicPartitionsRecord {
	var list []TopicPartitionsRecord
	for _, t := range slices.SortedFunc(maps.Keys(set), func(a, b core.TopicID) int { return bytes.Compare(a[:], b[:]) }) {
		list = append(list, TopicPartitionsRecord{ID: t, Partitions: set[t]})
	}
	return list
}
