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
			c.offsets[position{o.Topic, o.Partition}] = o
		}
	case SettingsChanged:
		s.settings = ev.Settings
	case MembershipChanged:
		if ev.live == nil {
			delete(s.live, ev.Group)
		} else {
			s.live[ev.Group] = ev.live.clone()
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
	}
	return c
}
