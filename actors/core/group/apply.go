package group

func apply(s *State, ev Event) {
	switch ev := ev.(type) {
	case GenerationStarted:
		s.classicAgain(ev.Group)
		s.hard(ev.Group).generation = ev.Generation
	case AssignmentCommitted:
		s.classicAgain(ev.Group)
		c := s.hard(ev.Group)
		c.generation = max(c.generation, ev.Generation)
		c.assigned, c.protocolType, c.protocol, c.leader, c.members = ev.Generation, ev.ProtocolType, ev.Protocol, ev.Leader, ev.Members
		if len(ev.Members) == 0 {
			c.emptyAge = ev.Age
		}
		s.age = max(s.age, ev.Age)
	case OffsetsStored:
		c := s.hard(ev.Group)
		stored := map[position]bool{}
		for _, o := range ev.Offsets {
			s.put(c, o)
			stored[position{o.Topic, o.Partition}] = true
			s.age = max(s.age, o.Age)
		}
		s.overtake(ev.Group, stored)
	case TxnOffsetsStored:
		s.storePending(ev)
		for _, o := range ev.Offsets {
			s.age = max(s.age, o.Age)
		}
	case TxnOffsetsSettled:
		s.settlePending(ev)
	case OffsetsRemoved:
		c := s.hard(ev.Group)
		gone := map[position]bool{}
		for _, p := range ev.Positions {
			s.removeOffset(c, position{p.Topic, p.Partition})
			gone[position{p.Topic, p.Partition}] = true
		}
		s.overtake(ev.Group, gone)
	case GroupDeleted:
		s.letGoAll(ev.Group)
		if c := s.groups[ev.Group]; c != nil {
			for at := range c.offsets {
				s.removeOffset(c, at)
			}
			s.classicAgain(ev.Group)
			s.kept -= groupBytes(ev.Group)
			delete(s.groups, ev.Group)
		}
	case ConsumerChanged:
		s.changeConsumers(ev.Group, func(g *consumers) { g.changed(ev.Consumer) })
	case StaticConsumerReplaced:
		s.changeConsumers(ev.Group, func(g *consumers) { g.replace(ev.Old, ev.New) })
		s.silent(ev.Group, ev.Old)
	case ConsumerRemoved:
		s.changeConsumers(ev.Group, func(g *consumers) { g.remove(ev.Member) })
		s.silent(ev.Group, ev.Member)
	case GroupEpochRaised:
		s.changeConsumers(ev.Group, func(g *consumers) { g.raised(ev) })
		if c := s.groups[ev.Group]; len(c.consumers.members) == 0 {
			c.emptyAge = ev.Age
		}
		s.age = max(s.age, ev.Age)
	case TargetAssigned:
		s.changeConsumers(ev.Group, func(g *consumers) { g.assignedAnew(ev) })
	case ConsumerReconciled:
		s.changeConsumers(ev.Group, func(g *consumers) { g.reconciled(ev) })
	case TopicsLooked:
		s.beatsOf(ev.Group).looked = ev.looked
	case ConsumerHeard:
		s.heard(ev)
	case GroupConfigured:
		s.configured(ev)
	case ShardAged:
		s.age = max(s.age, ev.Age)
	case SettingsChanged:
		s.settings = ev.Settings
	case MembershipChanged:
		if old := s.live[ev.Group]; old != nil {
			s.held -= old.size
			delete(s.live, ev.Group)
		}
		if ev.live != nil {
			l := ev.live.clone()
			l.size = l.bytes()
			s.held += l.size
			s.live[ev.Group] = l
		}
	case MemberSeen:
		if l := s.live[ev.Group]; l != nil && l.members[ev.Member] != nil {
			l.members[ev.Member].deadline = ev.Deadline
		}
	case RetentionLooked:
		s.looked, s.lookedAt, s.lookedAge = true, ev.At, ev.Age
	case TimerArmed:
		s.armed = ev.At
	default:
		panic("group: unknown event")
	}
}

func (s *State) hard(group string) *committed {
	c := s.groups[group]
	if c == nil {
		c = newCommitted()
		s.groups[group] = c
		s.kept += groupBytes(group)
	}
	return c
}

func (s *State) put(c *committed, o OffsetRecord) {
	at := position{o.Topic, o.Partition}
	if old, again := c.offsets[at]; again {
		s.kept -= old.bytes()
	}
	c.offsets[at] = o
	s.kept += o.bytes()
}

func (s *State) removeOffset(c *committed, at position) {
	if o, stored := c.offsets[at]; stored {
		s.kept -= o.bytes()
		delete(c.offsets, at)
	}
}
