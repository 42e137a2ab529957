package registration

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
)

func apply(s *State, ev Event) {
	s.version++
	switch ev := ev.(type) {
	case TopicRegistered:
		s.register(ev)
	case CommandNumbered:
		k := key(ev.Cluster, ev.Mirror, ev.Topic)
		e := s.entries[k]
		e.name = ev.Name
		e.number(ev.Generation, ev.Content)
		s.entries[k] = s.markersAfter(k, e, ev.Content)
	case TopicUnregistered:
		k := key(ev.Cluster, ev.Mirror, ev.Topic)
		e := s.entries[k]
		e.registered, e.leaving, e.gates = false, false, nil
		delete(s.leaveBy, k)
		e.number(ev.Generation, ev.Content)
		s.entries[k] = s.markersAfter(k, e, ev.Content)
		s.endFence(ev.Topic, k.Mirror, "the mirror unregistered meanwhile")
	case MirrorReleased:
		s.release(ev)
	case ReleaseEnded:
		s.endRelease(ev)
	case ReleaseArmed:
		s.leaveBy[ev.Key] = ev.Until
	case PromiseChanged:
		s.promised = ev.Ms
		if ev.Ms <= s.promises {
			s.lowerAt = 0
		}
	case PromiseNoted:
		s.lease, s.promises, s.lowerAt = ev.Lease, ev.Ms, ev.LowerAt
	case HoldLifted:
		s.liftHold(ev)
	case PartitionsConfirmed:
		k := key(ev.Cluster, ev.Mirror, ev.Topic)
		e := s.entries[k]
		if e.registered && e.epoch == ev.Epoch {
			e.partitions = max(e.partitions, ev.Partitions)
			s.entries[k] = e
		}
	case AdditionReported:
		s.additions = maps.Clone(s.additions)
		if s.additions == nil {
			s.additions = map[addition]bool{}
		}
		s.additions[addition(ev)] = true
	case GateApplied:
		s.applyGate(key(ev.Cluster, ev.Mirror, ev.Topic), ev.Epoch, ev.Gate)
	case TopicDropped:
		s.dropped[ev.Topic] = true
		delete(s.successions, ev.Topic)
		delete(s.draining, ev.Topic)
		for k := range s.entries {
			if k.Topic == ev.Topic {
				delete(s.entries, k)
				delete(s.told, k)
				delete(s.leaveBy, k)
			}
		}
	case TopicReturned:
		delete(s.dropped, ev.Topic)
	case DestinationTold:
		s.told[ev.Key] = max(s.told[ev.Key], ev.Number)
	case UngatingAwaited:
		s.waiting = append(s.waiting, ev)
	case UngatedReported:
		s.noteUngated(ev)
	case UngatingAnswered:
		s.waiting = slices.DeleteFunc(s.waiting, func(w UngatingAwaited) bool { return w.Answer.Ref == ev.Ref })
	default:
		if !s.applySuccession(ev) {
			panic("registration: unknown event")
		}
	}
}

func key(cluster core.ClusterID, name core.MirrorName, topic core.TopicID) LedgerKey {
	return LedgerKey{Mirror: core.MirrorKey{Cluster: cluster, Mirror: name}, Topic: topic}
}

// number notes the newest command. A peer without generations leaves the number alone.
func (e *entry) number(g core.Generation, content CommandRecord) {
	if g == 0 {
		return
	}
	e.generation, e.numbered, e.content = max(e.generation, g), true, content
}

// markersAfter leaves the markers as they are: a destination must not undo a release by leaving and coming
// back (C3, model K4).
func (s *State) markersAfter(k LedgerKey, e entry, c CommandRecord) entry {
	if c.Unregister && !unregisterKeepsMarker {
		e.admitted = max(e.marker, s.mirrors[k.Mirror].marker)
	}
	return e
}

func (s *State) register(ev TopicRegistered) {
	k := key(ev.Cluster, ev.Mirror, ev.Topic)
	e := s.entries[k]
	e.name, e.partitions = ev.Name, ev.Partitions
	e.registered, e.leaving, e.epoch, e.gates = true, false, ev.Epoch, nil
	delete(s.leaveBy, k)
	e.plain = ev.Generation == 0
	e.incarnation, e.minISR = ev.Content.Incarnation, ev.Content.MinISR
	e.admitted = max(e.admitted, ev.Admitted)
	e.number(ev.Generation, ev.Content)
	s.entries[k] = e
	s.lastEpoch = max(s.lastEpoch, ev.Epoch)
	m := s.mirrors[k.Mirror]
	m.owner = true
	if !mirrorMarkerStays && ev.Admitted != 0 && ev.Admitted == m.marker {
		m.marker = 0
	}
	s.mirrors[k.Mirror] = m
}

func (s *State) release(ev MirrorReleased) {
	at := core.MirrorKey{Cluster: ev.Cluster, Mirror: ev.Mirror}
	m := s.mirrors[at]
	m.number = max(m.number, ev.Number)
	if ev.Whole {
		m.marker = ev.Number
		if ev.Hold {
			m.hold = ev.Number
		}
	}
	if ev.Forgotten {
		m.owner = false
	}
	s.mirrors[at] = m
	for _, topic := range ev.Topics {
		k := LedgerKey{at, topic}
		e := s.entries[k]
		e.leaving = ev.AfterLease && (e.registered || e.leaving)
		if !e.leaving {
			delete(s.leaveBy, k)
		}
		e.registered, e.gates, e.numbered = false, nil, false
		e.marker = ev.Number
		if ev.Hold {
			e.hold = ev.Number
		}
		s.entries[k] = e
		s.endFence(topic, at, fmt.Sprintf("an operator released the mirror meanwhile (release %d)", ev.Number))
	}
}

// applyGate keeps the gate of the newest leader: an older leader's start says nothing of what the newer one
// acknowledged (C2, model G6).
func (s *State) applyGate(k LedgerKey, epoch core.RegistrationEpoch, gate GateRecord) {
	e := s.entries[k]
	if !e.registered || e.epoch != epoch {
		return
	}
	gates := slices.Clone(e.gates)
	i, known := slices.BinarySearchFunc(gates, gate.Partition, func(g GateRecord, p int32) int { return int(g.Partition) - int(p) })
	switch {
	case !known:
		gates = slices.Insert(gates, i, gate)
	case newestGateOnly && gate.LeaderEpoch >= gates[i].LeaderEpoch:
		gates[i] = gate
	}
	e.gates = gates
	s.entries[k] = e
}

func (s *State) noteUngated(ev UngatedReported) {
	s.waiting = slices.Clone(s.waiting)
	for i, w := range s.waiting {
		if w.Key == ev.Key && w.Epoch == ev.Epoch && int(ev.Partition) < len(w.Answer.LEO) {
			w.Answer.LEO = slices.Clone(w.Answer.LEO)
			w.Answer.LEO[ev.Partition] = max(w.Answer.LEO[ev.Partition], ev.LEO)
			s.waiting[i] = w
		}
	}
}
