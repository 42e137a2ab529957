package group

import "lockstep/protocol/perr"

// delete removes a group nobody is in, with its offsets. Whoever holds an id that was only handed out joins anew.
func (s *State) delete(c DeleteGroup, now int64) outcome {
	var out outcome
	code := perr.None
	switch {
	case !s.known(c.Group):
		code = perr.GroupIdNotFound
	case keepGroupsInUse && (s.hasConsumers(c.Group) || s.current(c.Group, now).phase != Empty):
		code = perr.NonEmptyGroup
	default:
		out.Events = []Event{MembershipChanged{Group: c.Group}}
		if s.groups[c.Group] != nil {
			out.Events = append(out.Events, GroupDeleted{Group: c.Group})
		}
	}
	answer(&out, Deleted{Ref: c.Ref, Code: code})
	return out
}

// deleteOffsets removes positions of topics that no member subscribes to.
func (s *State) deleteOffsets(c DeleteOffsets, now int64) outcome {
	var out outcome
	reply := OffsetsDeleted{Ref: c.Ref, Codes: make([]perr.Code, len(c.Positions))}
	l := s.current(c.Group, now)
	switch {
	case !s.known(c.Group):
		reply.Code = perr.GroupIdNotFound
	case l.phase != Empty && l.protocolType != consumerType:
		reply.Code = perr.NonEmptyGroup // what they use cannot be known
	}
	if reply.Code != 0 {
		answer(&out, reply)
		return out
	}
	ev := OffsetsRemoved{Group: c.Group}
	subscribed, held := s.subscribed(c.Group, l), s.unstable(c.Group)
	taken := map[position]bool{}
	for i, p := range c.Positions {
		if subscribed(p.Topic) {
			reply.Codes[i] = perr.GroupSubscribedToTopic
			continue
		}
		at := position{p.Topic, p.Partition}
		if s.groups[c.Group] == nil || taken[at] {
			continue
		}
		if _, stored := s.groups[c.Group].offsets[at]; stored || held(at) {
			taken[at] = true
			ev.Positions = append(ev.Positions, p)
		}
	}
	if len(ev.Positions) > 0 {
		out.Events = append(out.Events, ev)
	}
	answer(&out, reply)
	return out
}
