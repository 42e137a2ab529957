package group

import (
	"bytes"
	"fmt"
	"slices"

	"lockstep/protocol/perr"
)

func (t *turn) join(c JoinGroup) {
	refuse := func(code perr.Code, text string) {
		t.reply(Joined{Ref: c.Ref, Code: code, Text: text, Generation: -1, MemberID: c.MemberID})
	}
	tooMuch, why := t.tooMuch(c)
	switch {
	case c.Group == "":
		refuse(perr.InvalidGroupId, "the group id is empty")
	case c.SessionTimeoutMs < t.settings.MinSessionMs || c.SessionTimeoutMs > t.settings.MaxSessionMs:
		refuse(perr.InvalidSessionTimeout, fmt.Sprintf("session timeout %d ms is outside group.min.session.timeout.ms=%d to group.max.session.timeout.ms=%d",
			c.SessionTimeoutMs, t.settings.MinSessionMs, t.settings.MaxSessionMs))
	case !t.known && c.MemberID != "":
		refuse(perr.UnknownMemberId, "")
	case t.full(c):
		refuse(perr.GroupMaxSizeReached, fmt.Sprintf("group %s has group.max.size=%d members", c.Group, t.settings.MaxSize))
	case tooMuch != 0:
		refuse(tooMuch, why)
	case !t.supports(c.ProtocolType, c.Protocols):
		refuse(perr.InconsistentGroupProtocol, fmt.Sprintf("group %s has members of type %q and no protocol that all of them and this member support", c.Group, t.protocolType))
	case c.MemberID == "":
		t.joinNewcomer(c)
	case t.isPending(c.MemberID) && c.InstanceID == nil: // static members are given no id to come back with
		delete(t.pending, c.MemberID)
		t.add(c, c.MemberID)
	default:
		if code := t.fence(c.MemberID, c.InstanceID); code != 0 {
			refuse(code, "")
			return
		}
		t.rejoin(c, t.members[c.MemberID])
	}
}

func (t *turn) isPending(id string) bool {
	_, is := t.pending[id]
	return is
}

// full counts ids that were handed out. Whoever has a place, or takes over that of its instance id,
// needs no new one.
func (t *turn) full(c JoinGroup) bool {
	if c.InstanceID != nil && t.statics[*c.InstanceID] != "" || t.members[c.MemberID] != nil || t.isPending(c.MemberID) {
		return false
	}
	return t.settings.MaxSize > 0 && len(t.members)+len(t.pending) >= int(t.settings.MaxSize)
}

// supports: a group without members takes any protocol; otherwise one must be left that all know.
func (t *turn) supports(kind string, protocols []Protocol) bool {
	if len(t.members) == 0 {
		return kind != "" && len(protocols) > 0
	}
	return kind == t.protocolType && slices.ContainsFunc(protocols, func(p Protocol) bool { return t.allSupport(p.Name) })
}

func (l *live) allSupport(protocol string) bool {
	for _, m := range l.members {
		if !slices.ContainsFunc(m.protocols, func(p Protocol) bool { return p.Name == protocol }) {
			return false
		}
	}
	return true
}

// fence checks that a request comes from the member it names: an instance id belongs to whoever
// joined with it last (G01). Code 0: it does.
func (l *live) fence(id string, instance *string) perr.Code {
	if instance != nil {
		switch owner, known := l.statics[*instance]; {
		case !known:
			return perr.UnknownMemberId
		case owner != id:
			return perr.FencedInstanceId
		}
	}
	if l.members[id] == nil {
		return perr.UnknownMemberId
	}
	return 0
}

func (t *turn) joinNewcomer(c JoinGroup) {
	switch {
	case c.InstanceID != nil && t.statics[*c.InstanceID] != "":
		t.replaceStatic(c, t.members[t.statics[*c.InstanceID]])
	case c.NeedsKnownID:
		// Without this a client that times out and joins again would leave a ghost behind each time (G02).
		t.pending[c.NewMemberID] = t.now + c.SessionTimeoutMs*ms
		t.reply(Joined{Ref: c.Ref, Code: perr.MemberIdRequired, Generation: -1, MemberID: c.NewMemberID})
	default:
		t.add(c, c.NewMemberID)
	}
}

func (t *turn) add(c JoinGroup, id string) {
	if len(t.members) == 0 {
		t.protocolType = c.ProtocolType
	}
	m := &member{id: id, instance: c.InstanceID, fresh: true, deadline: t.now + newMemberJoin}
	t.put(m)
	t.park(m, c)
	if t.phase == Preparing && t.initial {
		t.newcomer = true
	}
	t.prepare()
}

// park takes over what the member says of itself and owes it an answer.
func (t *turn) park(m *member, c JoinGroup) {
	if m.joining {
		t.refuseJoin(m, perr.RebalanceInProgress) // the client asked again; this request is the one it waits for
	}
	m.clientID, m.clientHost = c.ClientID, c.ClientHost
	m.sessionMs, m.rebalanceMs, m.protocols, m.skips = c.SessionTimeoutMs, c.RebalanceTimeoutMs, c.Protocols, c.SkipsAssignment
	m.joining, m.joinRef = true, c.Ref
}

// rejoin: in a settled group a follower that says the same as before only missed an answer; a leader
// that joins again wants a new round, for it saw something change.
func (t *turn) rejoin(c JoinGroup, m *member) {
	same := slices.EqualFunc(m.protocols, c.Protocols, func(a, b Protocol) bool { return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata) })
	switch {
	case same && (t.phase == Completing || t.phase == Stable && t.leader != m.id):
		t.reply(t.joined(m, c.Ref))
	default:
		t.park(m, c)
		t.prepare()
	}
}

// replaceStatic gives the place of a static member that came back without its id to the newcomer, and
// fences whoever still uses the old id (G01). A stable group goes on without a rebalance as long as
// the same protocol would be selected.
func (t *turn) replaceStatic(c JoinGroup, old *member) {
	if old.joining {
		t.refuseJoin(old, perr.FencedInstanceId)
	}
	if old.syncing {
		t.refuseSync(old, perr.FencedInstanceId)
	}
	oldLeader := t.leader
	m := *old
	m.id = c.NewMemberID
	delete(t.members, old.id)
	t.members[m.id], t.statics[*c.InstanceID] = &m, m.id
	if t.leader == old.id {
		t.leader = m.id
	}
	t.park(&m, c)
	m.deadline = t.now + m.sessionMs*ms
	if t.phase != Stable || t.selectProtocol() != t.protocol {
		t.prepare()
		return
	}
	m.joining = false
	t.store()
	answer := t.joined(&m, c.Ref)
	if m.skips {
		answer.SkipAssignment = t.leader == m.id
	} else {
		// Before v9 the returning leader must not assign: it is told of the id it had.
		answer.Leader, answer.Members = oldLeader, nil
	}
	t.reply(answer)
}

func (t *turn) refuseJoin(m *member, code perr.Code) {
	t.reply(Joined{Ref: m.joinRef, Code: code, Generation: -1, MemberID: m.id})
	m.joining = false
}

func (t *turn) refuseSync(m *member, code perr.Code) {
	t.reply(Synced{Ref: m.syncRef, Code: code})
	m.syncing = false
}
