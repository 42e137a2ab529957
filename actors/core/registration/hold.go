package registration

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// held reports whether an operator refuses recoveries of a key. Numbers, not flags: a hold of the whole mirror
// covers topics that nobody has registered yet, and lifting it for one topic leaves it on the others (C4, F35).
func (s *State) held(k LedgerKey) bool {
	e, m := s.entries[k], s.mirrors[k.Mirror]
	return holdRefusesRecovery && max(e.hold, m.hold) > max(e.lifted, m.lifted)
}

// holder is the cluster whose mirror of a name an operator holds: the owner of the name first, then one that gave it up
// (F33). A mirror that is forgotten and held would otherwise be refused for ever, by a text that names a remedy which is
// refused too. Without either it is the owner.
func (s *State) holder(name core.MirrorName) (core.MirrorKey, bool) {
	owner, known := s.owner(name)
	if known && s.holds(owner) || !unholdFindsForgotten {
		return owner, known
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.mirrors), compareMirrors) {
		if at.Mirror == name && s.holds(at) {
			return at, true
		}
	}
	return owner, known
}

func (s *State) holds(at core.MirrorKey) bool {
	if m := s.mirrors[at]; m.hold > m.lifted {
		return true
	}
	for k := range s.entries {
		if k.Mirror == at && s.held(k) {
			return true
		}
	}
	return false
}

// decideLift ends a hold. It releases and admits nothing: the destination's next recovery is judged as ever.
func (s *State) decideLift(c LiftHold) (out outcome) {
	answer := ReleaseAnswered{Ref: c.Ref}
	at, known := s.holder(c.Mirror)
	if !known {
		answer.Code = perr.UnknownClusterMirror
		answer.Text = fmt.Sprintf("cluster %s has no synchronous registration of mirror %q: run this on the source", s.cluster, c.Mirror)
		return reply(out, answer)
	}
	answer.Cluster = at.Cluster
	rows, found := s.toRelease(at, ReleaseMirror{Topics: c.Topics, Force: true})
	var lifted []core.TopicID
	for i, row := range rows {
		switch {
		case row.Code != perr.None:
		case !row.Held && len(c.Topics) > 0:
			rows[i].Code, rows[i].Text = perr.InvalidRequest, fmt.Sprintf("topic %q of mirror %q is not held", row.Name, at.Mirror)
		case row.Held:
			lifted = append(lifted, row.Topic)
		}
	}
	answer.Topics = rows
	m, whole := s.mirrors[at], len(c.Topics) == 0
	if whole && len(lifted) == 0 && m.hold <= m.lifted {
		answer.Code = perr.InvalidRequest
		answer.Text = fmt.Sprintf("nothing of mirror %q is held in cluster %s (%d topics registered or released)", at.Mirror, s.cluster, len(found))
		return reply(out, answer)
	}
	if c.DryRun || !whole && len(lifted) == 0 {
		return reply(out, answer)
	}
	ev := HoldLifted{Cluster: at.Cluster, Mirror: at.Mirror, Number: m.number, Whole: whole}
	if !whole {
		ev.Topics = lifted
	}
	out.Events = []Event{ev}
	out.Late = append(out.Late, NotifyLifted{Key: at, Topics: ev.Topics})
	return reply(out, answer)
}

func (s *State) liftHold(ev HoldLifted) {
	at := core.MirrorKey{Cluster: ev.Cluster, Mirror: ev.Mirror}
	if ev.Whole {
		m := s.mirrors[at]
		m.lifted = ev.Number
		s.mirrors[at] = m
	}
	for _, topic := range ev.Topics {
		k := LedgerKey{at, topic}
		e := s.entries[k]
		e.lifted = ev.Number
		s.entries[k] = e
	}
}
