package highwater

import (
	"slices"

	"lockstep/actors/core"
)

// progressed takes over a durable LEO and keeps Kafka's notion of being caught up: a follower is caught
// up when it has all the leader has now, or at the instant of its last report if it now has all the
// leader had then.
func (s *State) progressed(e ReplicaProgressed) {
	end := s.end()
	replicas := s.ownReplicas()
	for i := range replicas {
		p := &replicas[i]
		switch {
		case p.Replica == e.Replica && p.Replica == s.self:
			p.LEO = e.LEO
		case p.Replica == e.Replica:
			if e.LEO >= end {
				p.CaughtUp = e.At
			} else if p.EndThen != core.Unknown && p.ReportedAt != 0 && e.LEO >= p.EndThen {
				p.CaughtUp = max(p.CaughtUp, p.ReportedAt)
			}
			p.LEO, p.ReportedAt, p.EndThen = e.LEO, e.At, end
		case e.Replica == s.self && p.LEO != core.Unknown && p.LEO >= end:
			// Until this very report of the leader it had everything: an idle partition must not make it
			// look late when the first record after hours arrives.
			p.CaughtUp = e.At
		}
	}
}

// caughtUp reports whether a follower is within the lag time.
func (s *State) caughtUp(p progress, now int64) bool {
	if p.LEO != core.Unknown && p.LEO >= s.end() {
		return true
	}
	return now-p.CaughtUp <= replicaLagTime
}

// lateAt is when p stops being caught up if nothing more is heard; false if it has everything.
func (s *State) lateAt(p progress) (int64, bool) {
	if p.LEO != core.Unknown && p.LEO >= s.end() {
		return 0, false
	}
	return p.CaughtUp + replicaLagTime + 1, true
}

// maximalISR is everybody the controller may elect: what it committed, and what it may have committed
// because we asked for it. A removal counts only when it is committed (F58). Nobody writes to what it returns.
func (s *State) maximalISR() []core.ReplicaID {
	if isr := s.image.ISR; !s.pending.On && contains(isr, s.self) && slices.IsSorted(isr) {
		return isr
	}
	all := slices.Clone(s.image.ISR)
	if s.pending.On {
		if !removalCountsWhenCommitted {
			all = slices.DeleteFunc(all, func(r core.ReplicaID) bool { return !contains(s.pending.ISR, r) })
		}
		if additionCountsAtOnce {
			for _, r := range s.pending.ISR {
				if !contains(all, r) {
					all = append(all, r)
				}
			}
		}
	}
	if !contains(all, s.self) {
		all = append(all, s.self)
	}
	slices.Sort(all)
	return all
}

// counting lists the durable LEOs that hold HW and floor: the maximal ISR, and a caught-up replica that
// waits to join. Without the latter HW runs away from it under load and it never gets in (R5).
func (s *State) counting(now int64) []core.Offset {
	maximal := s.maximalISR()
	leos := make([]core.Offset, 0, len(s.replicas))
	for _, p := range s.replicas {
		switch {
		case contains(maximal, p.Replica):
			leos = append(leos, p.LEO)
		case joinerHoldsFloor && s.waitsToJoin(p, now):
			leos = append(leos, p.LEO)
		}
	}
	return leos
}

func (s *State) waitsToJoin(p progress, now int64) bool {
	return p.LEO != core.Unknown && !contains(s.image.Fenced, p.Replica) &&
		now-p.RefusedAt > replicaLagTime && s.caughtUp(p, now)
}

// admissionLine is the durable LEO a follower needs to join. A mirror's own HW lags behind what its
// source has acked because of the floors, so there the line is R (F06).
func (s *State) admissionLine() core.Offset {
	line := max(s.hw, s.epochStart)
	if s.mode != Leading {
		if admitAboveFloor {
			line = max(line, s.r)
		} else {
			line = s.hw
		}
	}
	return line
}
