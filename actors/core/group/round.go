package group

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// prepare asks for a new round of joins, or sees whether the one that is running is complete.
func (t *turn) prepare() {
	if t.phase == Preparing {
		t.tryComplete()
		return
	}
	for _, m := range t.inOrder() {
		m.assignment = nil
		if m.syncing {
			t.refuseSync(m, perr.RebalanceInProgress) // G10
		}
	}
	t.syncBy = 0
	t.joinBy = t.now + t.rebalance()
	if t.phase == Empty {
		// A deployment starts its consumers one after the other: one round for all of them (G11).
		delay := t.settings.InitialDelayMs * ms
		t.initial, t.newcomer = delay > 0, false
		t.joinBy, t.delayLeft = t.now+delay, max(0, t.rebalance()-delay)
	}
	t.phase = Preparing
	t.tryComplete()
}

// tryComplete ends the round once everybody known has joined. Ids that were only just handed out
// count as known: their owners are about to join.
func (t *turn) tryComplete() {
	if t.phase != Preparing || t.initial || len(t.pending) > 0 {
		return
	}
	for _, m := range t.members {
		if !m.joining {
			return
		}
	}
	t.complete()
}

// joinOver is the end of the time for joining.
func (t *turn) joinOver() {
	if t.initial && t.newcomer && t.delayLeft > 0 {
		more := min(t.settings.InitialDelayMs*ms, t.delayLeft)
		t.newcomer, t.delayLeft, t.joinBy = false, t.delayLeft-more, t.now+more
		return
	}
	t.complete()
}

// complete begins the next generation with those who joined. Static members keep their place: they
// are expected back under the same instance id.
func (t *turn) complete() {
	t.initial = false
	for _, m := range t.inOrder() {
		if !m.joining && m.instance == nil {
			t.forget(m)
		}
	}
	if len(t.members) > 0 && !t.electLeader() {
		t.joinBy = t.now + t.rebalance() // only absent static members: until their sessions end
		return
	}
	t.generation++
	if len(t.members) == 0 {
		t.phase, t.protocol, t.leader, t.joinBy, t.syncBy = Empty, "", "", 0, 0
		t.store()
		return
	}
	if neverReuseGeneration {
		t.event(GenerationStarted{Group: t.group, Generation: t.generation})
	}
	t.phase, t.protocol = Completing, t.selectProtocol()
	t.joinBy, t.syncBy = 0, t.now+t.rebalance()
	for _, m := range t.inOrder() {
		m.synced, m.fresh = false, false
		m.deadline = t.now + m.sessionMs*ms
		if m.joining {
			t.reply(t.joined(m, m.joinRef))
			m.joining = false
		}
	}
}

// electLeader keeps the leader if it joined, else takes the first that did; false if nobody did.
func (t *turn) electLeader() bool {
	if m := t.members[t.leader]; m != nil && m.joining {
		return true
	}
	for _, m := range t.inOrder() {
		if m.joining {
			t.leader = m.id
			return true
		}
	}
	return false
}

// selectProtocol: every member votes for the first of its protocols that all support; equal votes are
// decided by the leader's order of preference.
func (l *live) selectProtocol() string {
	votes := map[string]int{}
	for _, m := range l.members {
		if i := slices.IndexFunc(m.protocols, func(p Protocol) bool { return l.allSupport(p.Name) }); i >= 0 {
			votes[m.protocols[i].Name]++
		}
	}
	best, most := "", 0
	leader := l.members[l.leader]
	if leader == nil {
		return best
	}
	for _, p := range leader.protocols {
		if votes[p.Name] > most {
			best, most = p.Name, votes[p.Name]
		}
	}
	return best
}

// joined is the answer to a member of the current generation.
func (t *turn) joined(m *member, ref core.RequestID) Joined {
	out := Joined{Ref: ref, Generation: t.generation, ProtocolType: t.protocolType, Protocol: t.protocol, Leader: t.leader, MemberID: m.id}
	if m.id == t.leader {
		for _, o := range t.inOrder() {
			out.Members = append(out.Members, JoinedMember{MemberID: o.id, InstanceID: o.instance, Metadata: o.metadata(t.protocol)})
		}
	}
	return out
}

// store journals the generation with its members. A group that never had one leaves nothing behind.
func (t *turn) store() {
	if !t.known && len(t.members) == 0 {
		return
	}
	ev := AssignmentCommitted{Group: t.group, Generation: t.generation, ProtocolType: t.protocolType, Protocol: t.protocol, Leader: t.leader, Age: t.age}
	for _, m := range t.inOrder() {
		r := MemberRecord{Member: m.id, Instance: m.instance, ClientID: m.clientID, ClientHost: m.clientHost,
			SessionMs: m.sessionMs, RebalanceMs: m.rebalanceMs, Assignment: orNil(m.assignment)}
		for _, p := range m.protocols {
			r.Protocols = append(r.Protocols, ProtocolRecord{Name: p.Name, Metadata: orNil(p.Metadata)})
		}
		ev.Members = append(ev.Members, r)
	}
	t.event(ev)
}

// orNil: empty and nil are the same bytes on disk, so they must be the same event.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// forget drops a member; whoever still waits in its name is told that it is gone.
func (t *turn) forget(m *member) {
	if m.joining {
		t.refuseJoin(m, perr.UnknownMemberId)
	}
	if m.syncing {
		t.refuseSync(m, perr.UnknownMemberId)
	}
	delete(t.members, m.id)
	if m.instance != nil && t.statics[*m.instance] == m.id {
		delete(t.statics, *m.instance)
	}
	if t.leader == m.id {
		t.leader = ""
		if rest := t.inOrder(); len(rest) > 0 {
			t.leader = rest[0].id
		}
	}
}

// remove drops a member and starts a round without it.
func (t *turn) remove(m *member) {
	t.forget(m)
	if t.phase == Stable || t.phase == Completing || t.phase == Preparing {
		t.prepare()
	}
}

// expire does what is due now.
func (t *turn) expire() {
	for id, at := range t.pending {
		if at <= t.now {
			delete(t.pending, id)
		}
	}
	for _, m := range t.inOrder() {
		if m.deadline <= t.now && !m.sessionHeld() {
			t.remove(m)
		}
	}
	if t.phase == Preparing && t.joinBy <= t.now {
		t.joinOver()
	}
	t.tryComplete()
	if t.syncBy != 0 && t.syncBy <= t.now {
		t.syncOver()
	}
}

// syncOver removes the members that never fetched their assignment: they took part in the round and
// then went silent, while partitions may wait for them.
func (t *turn) syncOver() {
	t.syncBy = 0
	silent := false
	for _, m := range t.inOrder() {
		if !m.synced {
			t.forget(m)
			silent = true
		}
	}
	if silent {
		t.prepare()
	}
}
