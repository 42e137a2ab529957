package group

import (
	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// heartbeat is the one request that comes every few seconds from everybody, so it does not copy the
// group.
func (s *State) heartbeat(c Heartbeat, now core.Now) outcome {
	if s.live[c.Group] == nil && s.groups[c.Group] != nil {
		return s.turn(c.Group, now, func(t *turn) { // after a restart, before Resume reached us
			t.reply(Beaten{Ref: c.Ref, Code: t.beat(c)})
		})
	}
	var out outcome
	l := s.live[c.Group]
	if l == nil {
		code := perr.UnknownMemberId // K3
		if c.Group == "" {
			code = perr.InvalidGroupId
		}
		answer(&out, Beaten{Ref: c.Ref, Code: code})
		return out
	}
	code := l.beat(c)
	if code == perr.None || code == perr.RebalanceInProgress {
		out.Events = append(out.Events, MemberSeen{Group: c.Group, Member: c.MemberID, Deadline: now.Mono + l.members[c.MemberID].sessionMs*ms})
	}
	answer(&out, Beaten{Ref: c.Ref, Code: code})
	return out
}

// beat: during a round of joins the session is kept alive and the member is told to join (G09).
func (l *live) beat(c Heartbeat) perr.Code {
	switch code := l.fence(c.MemberID, c.InstanceID); {
	case code != 0:
		return code
	case c.Generation != l.generation:
		return perr.IllegalGeneration
	}
	switch l.phase {
	case Empty:
		return perr.UnknownMemberId
	case Preparing:
		return perr.RebalanceInProgress
	case Completing, Stable:
		return perr.None
	default:
		panic("group: unknown phase")
	}
}

// leave removes members at once, without waiting for their sessions to end.
func (t *turn) leave(c LeaveGroup) {
	out := Left{Ref: c.Ref, Members: make([]LeftMember, len(c.Members))}
	if c.Group == "" {
		out.Code, out.Members = perr.InvalidGroupId, nil
		t.reply(out)
		return
	}
	removed := false
	for i, who := range c.Members {
		id := who.MemberID
		if id == "" && who.InstanceID != nil {
			id = t.statics[*who.InstanceID]
		}
		out.Members[i] = LeftMember{MemberID: who.MemberID, InstanceID: who.InstanceID}
		if t.isPending(id) {
			delete(t.pending, id)
			continue
		}
		if code := t.fence(id, who.InstanceID); code != 0 {
			out.Members[i].Code = code
			continue
		}
		t.forget(t.members[id])
		removed = true
	}
	if removed {
		t.prepare() // one round for the whole batch
	} else {
		t.tryComplete() // a round may have waited for an id that was only taken back
	}
	t.reply(out)
}
