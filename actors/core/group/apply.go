package group

func apply(s *State, ev Event) {
	switch ev := ev.(type) {
	case GenerationStarted:
		s.hard(ev.Group).generation = ev.Generation
	case AssignmentCommitted:
		c := s.hard(ev.Group)
		c.generation = max(c.generation, ev.Generation)
		c.assigned, c.protocolType, c.protocol, c.leader, c.members = ev.Generation, ev.ProtocolType, ev.Protocol, ev.Leader, ev.Members
	case OffsetsStored:
		c := s.hard(ev.Group)
		for _, o := range ev.Offsets {
			s.put(c, o)
			s.overtake(ev.Group, o)
		}
	case TxnOffsetsStored:
		s.storePending(ev)
	case TxnOffsetsSettled:
		s.settlePending(ev)
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
