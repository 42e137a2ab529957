package group

import "lockstep/protocol/perr"

func (t *turn) sync(c SyncGroup) {
	m := t.members[c.MemberID]
	if code := t.checkSync(c); code != 0 {
		t.reply(Synced{Ref: c.Ref, Code: code})
		return
	}
	switch t.phase {
	case Empty:
		t.reply(Synced{Ref: c.Ref, Code: perr.UnknownMemberId})
	case Preparing:
		t.reply(Synced{Ref: c.Ref, Code: perr.RebalanceInProgress})
	case Completing:
		if m.id == t.leader && t.tooMuchAssigned(c.Assignments) {
			t.reply(Synced{Ref: c.Ref, Code: perr.GroupMaxSizeReached})
			return
		}
		if m.syncing {
			t.refuseSync(m, perr.RebalanceInProgress) // asked again; this is the request it waits for
		}
		m.syncing, m.syncRef, m.synced = true, c.Ref, true
		if m.id == t.leader {
			t.assign(c.Assignments)
		}
		t.syncDone()
	case Stable:
		m.synced = true
		m.deadline = t.now + m.sessionMs*ms
		t.reply(t.syncedAs(m, c))
		t.syncDone()
	default:
		panic("group: unknown phase")
	}
}

func (t *turn) checkSync(c SyncGroup) perr.Code {
	switch code := t.fence(c.MemberID, c.InstanceID); {
	case c.Group == "":
		return perr.InvalidGroupId
	case code != 0:
		return code // also for a group never seen (K3)
	case c.Generation != t.generation:
		return perr.IllegalGeneration
	case c.ProtocolType != nil && *c.ProtocolType != t.protocolType, c.Protocol != nil && t.phase != Preparing && *c.Protocol != t.protocol:
		return perr.InconsistentGroupProtocol
	}
	return 0
}

// assign makes the generation stable: the leader's word is journaled, then everybody who waits is
// told. A member the leader left out gets an empty assignment.
func (t *turn) assign(given []Assignment) {
	for _, m := range t.inOrder() {
		m.assignment = nil
	}
	for _, a := range given {
		if m := t.members[a.MemberID]; m != nil {
			m.assignment = a.Data
		}
	}
	t.phase = Stable
	t.store()
	for _, m := range t.inOrder() {
		if m.syncing {
			m.syncing = false
			m.deadline = t.now + m.sessionMs*ms
			t.reply(t.syncedAs(m, SyncGroup{Ref: m.syncRef}))
		}
	}
}

func (t *turn) syncedAs(m *member, c SyncGroup) Synced {
	return Synced{Ref: c.Ref, ProtocolType: t.protocolType, Protocol: t.protocol, Assignment: m.assignment}
}

// syncDone stops waiting once every member has asked for its assignment.
func (t *turn) syncDone() {
	if t.phase != Stable {
		return
	}
	for _, m := range t.members {
		if !m.synced {
			return
		}
	}
	t.syncBy = 0
}
