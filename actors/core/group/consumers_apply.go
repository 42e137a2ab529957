package group

import "lockstep/actors/core/assignor"

// consumerGroup is the part of a group that the consumer protocol has; a classic group without members becomes one.
func (s *State) consumerGroup(name string) *consumers {
	c := s.hard(name)
	if c.consumers == nil {
		c.consumers = newConsumers()
		c.generation, c.assigned, c.protocolType, c.protocol, c.leader, c.members = 0, 0, "", "", "", nil
	}
	return c.consumers
}

// changeConsumers applies an event to a group of the consumer protocol and counts it anew.
func (s *State) changeConsumers(name string, change func(*consumers)) {
	g := s.consumerGroup(name)
	change(g)
	s.kept -= g.size
	g.size = g.bytes()
	s.kept += g.size
}

// classicAgain: a group without members of the consumer protocol is taken over by the classic one.
func (s *State) classicAgain(name string) {
	c := s.hard(name)
	if c.consumers != nil {
		s.kept -= c.consumers.size
		c.consumers, c.protocolType = nil, consumerType // had members, which is how its offsets expire
		delete(s.beats, name)
	}
}

func (g *consumers) changed(r ConsumerRecord) {
	m := &consumer{}
	if old := g.members[r.Member]; old != nil {
		*m = *old
	}
	m.said = r
	g.put(m)
}

func (g *consumers) raised(ev GroupEpochRaised) {
	g.epoch = ev.Epoch
	g.topics = map[string]subscribedTopic{}
	for _, t := range ev.Topics {
		g.topics[t.Topic] = subscribedTopic{t.ID, t.Partitions}
	}
}

func (g *consumers) assignedAnew(ev TargetAssigned) {
	g.targetEpoch, g.assignor = ev.Epoch, ev.Assignor
	g.targets = map[string]assignor.Partitions{}
	for _, t := range ev.Targets {
		g.targets[t.Member] = setOf(t.Partitions)
	}
}

func (g *consumers) reconciled(ev ConsumerReconciled) {
	if old := g.members[ev.Member]; old != nil {
		g.put(&consumer{said: old.said, epoch: ev.Epoch, previous: ev.Previous, stage: stage(ev.Stage),
			assigned: setOf(ev.Assigned), revoking: setOf(ev.Revoking)})
	}
}

// record is the group for a snapshot.
func (g *consumers) record(name string) ConsumerGroupRecord {
	out := ConsumerGroupRecord{Group: name, Epoch: g.epoch, Topics: topicRecords(g.topics), TargetEpoch: g.targetEpoch, Assignor: g.assignor,
		Targets: targetRecords(g.targets)}
	for _, m := range g.inOrder() {
		out.Consumers = append(out.Consumers, ConsumerStateRecord{Consumer: m.said, Epoch: m.epoch, Previous: m.previous, Stage: int8(m.stage),
			Assigned: records(m.assigned), Revoking: records(m.revoking)})
	}
	return out
}

func (s *State) restoreConsumers(r ConsumerGroupRecord) {
	s.changeConsumers(r.Group, func(g *consumers) {
		g.raised(GroupEpochRaised{Epoch: r.Epoch, Topics: r.Topics})
		g.assignedAnew(TargetAssigned{Epoch: r.TargetEpoch, Assignor: r.Assignor, Targets: r.Targets})
		for _, m := range r.Consumers {
			g.put(&consumer{said: m.Consumer, epoch: m.Epoch, previous: m.Previous, stage: stage(m.Stage), assigned: setOf(m.Assigned), revoking: setOf(m.Revoking)})
		}
	})
}

func (s *State) heard(ev ConsumerHeard) {
	b := s.beatsOf(ev.Group)
	b.session[ev.Member] = ev.Session
	if ev.Rebalance > 0 {
		b.rebalance[ev.Member] = ev.Rebalance
	} else {
		delete(b.rebalance, ev.Member)
	}
}

func (s *State) beatsOf(group string) *beats {
	b := s.beats[group]
	if b == nil {
		b = &beats{session: map[string]int64{}, rebalance: map[string]int64{}}
		s.beats[group] = b
	}
	return b
}

func (s *State) silent(group, member string) {
	if b := s.beats[group]; b != nil {
		delete(b.session, member)
		delete(b.rebalance, member)
	}
}
