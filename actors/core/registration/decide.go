package registration

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

type outcome = core.Outcome[Event, Effect]

func decide(s *State, now core.Now, cmd Command) outcome {
	switch c := cmd.(type) {
	case RegisterTopic:
		return s.decideRegister(c)
	case UnregisterTopic:
		return s.decideUnregister(now, c)
	case SupersedeTopic:
		return s.decideSupersede(now, c)
	case ReportFenced:
		return s.decideFenced(c)
	case ReleaseMirror:
		return s.decideRelease(now, c)
	case ReleasePublished:
		return s.decidePublished(now, c)
	case LiftHold:
		return s.decideLift(c)
	case ReportGate:
		return s.decideGate(c)
	case ReportUngated:
		return s.decideUngated(c)
	case ReportAddition:
		return s.decideAddition(c)
	case ReportTold:
		if s.released(LedgerKey{c.Key, c.Topic}) != c.Number || c.Number == 0 {
			return outcome{}
		}
		return outcome{Events: []Event{DestinationTold{LedgerKey{c.Key, c.Topic}, c.Number}}}
	case DropTopic:
		return s.decideDrop(c)
	case ReturnTopic:
		if s.dropped[c.Topic] && returnedTopicGates {
			return outcome{Events: []Event{TopicReturned(c)}}
		}
		return outcome{}
	case Resume:
		return s.decideResume(now, c)
	case Describe:
		return outcome{Late: []Effect{Described{Ref: c.Ref, Ledger: describe(s)}}}
	case Tick:
		return s.decideTick(now)
	default:
		panic("registration: unknown command")
	}
}

// publish adds what leaders and evidence need to know once the events are on disk. Facts carry whole values,
// so they are derived from the state after the events (F39). Topics that gate less are un-gated by their
// fact: the ledger that vouches for them is replaced first, or evidence stamped after a release could still
// find it confirmed (C4, model G5).
func (s *State) publish(out outcome, topics ...core.TopicID) outcome {
	next := s.after(out.Events)
	all := next.registrations()
	facts := make([]image.Fact, 0, len(topics))
	for _, t := range topics {
		facts = append(facts, image.RegistrationsChanged{ID: t, Registrations: all[t]})
	}
	effects := []Effect{PublishLedger{next.ledger()}, Publish{facts}}
	if !ledgerBeforeFacts {
		effects[0], effects[1] = effects[1], effects[0]
	}
	// Early, a crash could forget a release under which acks were given (model G9).
	if publishOnlyDurable {
		out.Late = append(out.Late, effects...)
	} else {
		out.Early = append(out.Early, effects...)
	}
	return out
}

// registrations is what the leaders of each topic gate on.
func (s *State) registrations() map[core.TopicID]image.Registrations {
	all := make(map[core.TopicID]image.Registrations)
	for _, k := range s.keys() {
		e, r := s.entries[k], all[k.Topic]
		if e.registered || e.leaving {
			r.Gates = append(r.Gates, image.Gate{Key: k.Mirror, Epoch: e.epoch, Incarnation: e.incarnation, MinISR: e.minISR, Partitions: e.partitions, Plain: e.plain})
		} else if s.released(k) != 0 {
			r.Released = append(r.Released, k.Mirror)
		}
		all[k.Topic] = r
	}
	for id, moving := range s.successions {
		r := all[id]
		r.Era, r.Fence = moving.Era, moving.refusal(id)
		all[id] = r
	}
	return all
}

func (s *State) ledger() Ledger {
	l := Ledger{Version: s.version, Lease: s.lease, Promised: s.promises > 0, Entries: make(map[LedgerKey]LedgerEntry, len(s.entries))}
	for k, e := range s.entries {
		row := LedgerEntry{Released: s.released(k), Leaving: e.leaving}
		if e.registered {
			row.Epoch = e.epoch
		}
		l.Entries[k] = row
	}
	return l
}

// decideResume derives everything again from the journal, before any partition accepts produce: a
// registration dropped here would leave its topic un-gated under a standing claim (C10, F41).
func (s *State) decideResume(now core.Now, c Resume) (out outcome) {
	exists := make(map[core.TopicID]bool, len(c.Topics))
	for _, t := range c.Topics {
		exists[t] = true
	}
	topics := s.known()
	for _, id := range topics {
		if !exists[id] || !keepOverRestart {
			out.Events = append(out.Events, TopicDropped{id})
		}
	}
	out.Events = append(out.Events, s.promise(now, c)...)
	next := s.after(out.Events)
	out = s.publish(out, topics...)
	out = next.noteLeaving(out)
	if next.lowerAt != 0 {
		out.Early = append(out.Early, ArmTimer{At: next.lowerAt})
	}
	for _, id := range next.moving() {
		if next.successions[id].standing() == Fenced {
			out = armFence(now, out, id, c.Patience)
		}
	}
	return out
}

// decideDrop closes the gates of a deleted topic. A topic created later under the same name has another id
// and starts without any of this (F34).
func (s *State) decideDrop(c DropTopic) (out outcome) {
	if !slices.Contains(s.known(), c.Topic) || !closeGatesOfDeleted {
		return out
	}
	out.Events = append(out.Events, TopicDropped(c))
	return s.answerAsking(s.publish(out, c.Topic), c.Topic)
}

// decideGate notes from where on a leader gates (D17). A leader that applied a registration which has ended
// since is not written down.
func (s *State) decideGate(c ReportGate) (out outcome) {
	k := LedgerKey{c.Key, c.ID.Topic}
	e := s.entries[k]
	if !e.registered || e.epoch != c.Epoch {
		return out
	}
	for _, g := range e.gates {
		if g.Partition == c.ID.Index && g.LeaderEpoch >= c.LeaderEpoch {
			return out
		}
	}
	out.Events = append(out.Events, GateApplied{
		Cluster: c.Key.Cluster, Mirror: c.Key.Mirror, Topic: c.ID.Topic, Epoch: c.Epoch,
		Gate: GateRecord{Partition: c.ID.Index, LeaderEpoch: c.LeaderEpoch, Start: c.GateStart},
	})
	return out
}
