package group

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/protocol/perr"
)

// Migration is group.consumer.migration.policy: which way a group with members may change between the protocols (KIP-848).
type Migration uint8

const (
	MigrationDisabled Migration = 0
	Upgrade           Migration = 1 // a classic group becomes one of the consumer protocol with its first such member
	Downgrade         Migration = 2 // and a classic one again when the last such member goes
	Bidirectional               = Upgrade | Downgrade
)

// Migrations are the policies by Kafka's names.
var Migrations = map[string]Migration{"disabled": MigrationDisabled, "upgrade": Upgrade, "downgrade": Downgrade, "bidirectional": Bidirectional}

// classic: the member speaks the classic protocol in a group of the consumer protocol.
func (m *consumer) classic() bool { return len(m.said.Protocols) > 0 }

// upgrade makes members of the consumer protocol of those that a classic group has. They go on as they are: the number
// of their generation becomes their epoch, and what they were assigned is theirs until they give it up. Whoever waits
// for the end of a round is told that it is over.
func (b *beat) upgrade(l *live) (perr.Code, string) {
	refuse := func(why string) (perr.Code, string) {
		return perr.GroupIdNotFound, fmt.Sprintf("Group %s is not a consumer group: %s.", b.req.Group, why)
	}
	limit := b.s.settings.ConsumerMaxSize
	switch {
	case b.s.settings.Migration&Upgrade == 0:
		return refuse("group.consumer.migration.policy lets no classic group become one")
	case l.protocolType != consumerType:
		return refuse(fmt.Sprintf("its members are of type %q", l.protocolType))
	case limit > 0 && len(l.members) >= int(limit):
		return perr.GroupMaxSizeReached, fmt.Sprintf("The consumer group has reached its maximum capacity of %d members.", limit)
	}
	g := newConsumers()
	g.epoch, g.targetEpoch, g.assignor = l.generation, l.generation, assignor.Names[0]
	free := func(t core.TopicID, p int32) bool {
		_, taken := g.owners[core.PartitionID{Topic: t, Index: p}]
		return !taken
	}
	owned := map[string]assignor.Partitions{}
	for _, m := range l.inOrder() {
		r := ConsumerRecord{Member: m.id, Instance: m.instance, ClientID: m.clientID, ClientHost: m.clientHost, RebalanceMs: m.rebalanceMs}
		said, ok := readSubscription(m.protocols[0].Metadata)
		had, whole := readAssignment(b.s.lastAssigned(b.req.Group, l, m))
		if !ok || !whole {
			return refuse(fmt.Sprintf("what member %s says cannot be read", m.id))
		}
		if hasUserData(b.s.lastAssigned(b.req.Group, l, m)) {
			return refuse(fmt.Sprintf("the assignor of its members gave member %s more than partitions, which would be lost", m.id))
		}
		r.speaks(m.protocols, m.sessionMs, said)
		owned[m.id] = byID(said.owned, b.req.Image.TopicNamed)
		g.put(&consumer{said: r, epoch: l.generation, previous: l.generation, assigned: byID(had, b.req.Image.TopicNamed).Keep(free), revoking: assignor.Partitions{}})
		if m.joining {
			answer(&b.out, Joined{Ref: m.joinRef, Code: perr.RebalanceInProgress, Generation: -1, MemberID: m.id})
		}
		if m.syncing {
			answer(&b.out, Synced{Ref: m.syncRef, Code: perr.RebalanceInProgress})
		}
	}
	for _, m := range g.inOrder() {
		// One that keeps what it has through a round works on it until it has heard of its new assignment.
		n := *m
		n.assigned = n.assigned.Or(owned[m.said.Member].Keep(free))
		g.put(&n)
		g.targets[m.said.Member] = n.assigned
	}
	g.topics = subscriptionsOf(g.inOrder()).lookUp(b.req.Image, b.req.Asker, nil, true)
	b.g = g
	b.event(MembershipChanged{Group: b.req.Group})
	for _, m := range g.inOrder() {
		b.event(ConsumerChanged{Group: b.req.Group, Consumer: m.said})
	}
	b.event(GroupEpochRaised{Group: b.req.Group, Epoch: g.epoch, Topics: topicRecords(g.topics), Age: b.s.ageAt(b.now)})
	b.event(TargetAssigned{Group: b.req.Group, Epoch: g.epoch, Assignor: g.assignor, Targets: targetRecords(g.targets)})
	for _, m := range g.inOrder() {
		b.event(ConsumerReconciled{Group: b.req.Group, Member: m.said.Member, Epoch: m.epoch, Previous: m.previous, Assigned: records(m.assigned)})
		b.hear(*m, m.said.SessionMs*ms, 0)
	}
	return 0, ""
}

// lastAssigned is what a member was given last, also while a new round takes place: until it comes back from its client,
// the client goes on with it.
func (s *State) lastAssigned(group string, l *live, m *member) []byte {
	if len(m.assignment) > 0 {
		return m.assignment
	}
	if c := s.groups[group]; c != nil && c.assigned == l.generation {
		for _, r := range c.members {
			if r.Member == m.id {
				return r.Assignment
			}
		}
	}
	return nil
}

// speaks takes over what a classic member says of itself.
func (r *ConsumerRecord) speaks(protocols []Protocol, sessionMs int64, said saidTopics) {
	r.SessionMs, r.Protocols, r.Topics, r.Regex, r.Assignor = sessionMs, nil, nil, "", ""
	for _, p := range protocols {
		r.Protocols = append(r.Protocols, ProtocolRecord{Name: p.Name, Metadata: orNil(p.Metadata)})
	}
	if len(said.topics) > 0 {
		r.Topics = slices.Compact(slices.Sorted(slices.Values(said.topics)))
	}
}

// downgradable: somebody is left, nobody of them speaks the consumer protocol, and the group may change.
func (s *State) downgradable(left []*consumer) bool {
	limit := s.settings.MaxSize
	return s.settings.Migration&Downgrade != 0 && len(left) > 0 && (limit <= 0 || len(left) <= int(limit)) &&
		!slices.ContainsFunc(left, func(m *consumer) bool { return !m.classic() })
}

// downgrade makes a classic group of the classic members of one of the consumer protocol. A round of joins begins at
// once, since what was taken from those who went is nobody's; its number is used up even if a crash ends it (D25).
func (s *State) downgrade(group string, g *consumers, left []*consumer, now core.Now) (events []Event, at int64) {
	l := &live{phase: Preparing, generation: g.epoch, protocolType: consumerType, leader: left[0].said.Member, members: map[string]*member{},
		statics: map[string]string{}, pending: map[string]int64{}}
	ev := AssignmentCommitted{Group: group, Generation: g.epoch, ProtocolType: consumerType, Leader: l.leader, Age: s.ageAt(now)}
	for _, c := range left {
		r := &c.said
		m := &member{id: r.Member, clientID: r.ClientID, clientHost: r.ClientHost, instance: r.Instance, sessionMs: r.SessionMs, rebalanceMs: r.RebalanceMs,
			deadline: now.Mono + r.SessionMs*ms}
		for _, p := range r.Protocols {
			m.protocols = append(m.protocols, Protocol(p))
		}
		l.put(m)
		ev.Members = append(ev.Members, MemberRecord{Member: r.Member, Instance: r.Instance, ClientID: r.ClientID, ClientHost: r.ClientHost, SessionMs: r.SessionMs,
			RebalanceMs: r.RebalanceMs, Protocols: r.Protocols, Assignment: g.written(c, c.assigned.Or(c.revoking))})
	}
	l.joinBy = now.Mono + l.rebalance()
	ev.Protocol = l.selectProtocol()
	l.protocol = ev.Protocol
	return []Event{ev, GenerationStarted{Group: group, Generation: g.epoch + 1}, MembershipChanged{Group: group, live: l}}, l.earliest()
}

// written is an assignment as a classic member reads it, in the version of its subscription.
func (g *consumers) written(m *consumer, set assignor.Partitions) []byte {
	names := map[core.TopicID]string{}
	for name, t := range g.topics {
		names[t.id] = name
	}
	said, _ := readSubscription(m.said.Protocols[0].Metadata)
	named := map[string][]int32{}
	for t, list := range set {
		if name := names[t]; name != "" {
			named[name] = list
		}
	}
	return writeAssignment(said.version, named)
}
