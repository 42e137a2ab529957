package highwater

import (
	"slices"

	"lockstep/actors/core"
)

// settleISR proposes at most one change at a time: a follower that may join, else one that lags.
func (d *decision) settleISR() {
	s, now := &d.s, d.now.Mono
	if !s.imaged {
		return
	}
	if s.pending.On {
		if now-s.pending.At >= proposalRetry {
			d.propose(s.pending.ISR)
		}
		return
	}
	if now < s.pending.PausedUntil {
		return
	}
	committed := s.image.ISR
	next := committed[:len(committed):len(committed)]
	line := s.admissionLine()
	for _, p := range s.replicas {
		if contains(committed, p.Replica) || contains(s.image.Fenced, p.Replica) || p.LEO == core.Unknown {
			continue
		}
		// Caught up, too: else one that stopped reporting is added again as soon as it has been removed.
		if p.LEO >= line && s.caughtUp(p, now) {
			next = append(next, p.Replica)
		}
	}
	if len(next) == len(committed) {
		lags := func(r core.ReplicaID) bool {
			p, known := s.progressOf(r)
			return r != s.self && (!known || !s.caughtUp(p, now))
		}
		if slices.ContainsFunc(next, lags) {
			next = slices.DeleteFunc(slices.Clone(next), lags)
		}
	}
	if len(next) != len(committed) {
		slices.Sort(next)
		d.propose(next)
	}
}

func (d *decision) propose(isr []core.ReplicaID) {
	pe := d.s.image.PartitionEpoch
	if d.s.pending.On {
		pe = d.s.pending.PartitionEpoch
	}
	d.emit(ISRProposed{PartitionEpoch: pe, ISR: isr, At: d.now.Mono})
	d.late(ProposeISR{Epoch: d.s.epoch, PartitionEpoch: pe, ISR: isr})
}

// proposalRefused forgets a proposal that was sent once: the answer is about that very one. One that was
// sent again may have been committed the first time, so it goes on counting until an image says so (Z2).
func (s *State) proposalRefused(e ISRProposalRefused) {
	if !s.pending.On || s.pending.PartitionEpoch != e.PartitionEpoch || s.pending.Sent > 1 {
		return
	}
	replicas := slices.Clone(s.replicas)
	for i := range replicas {
		r := replicas[i].Replica
		if contains(s.pending.ISR, r) && !contains(s.image.ISR, r) {
			replicas[i].RefusedAt = e.At
		}
	}
	s.replicas = replicas
	s.pending = proposal{PausedUntil: e.At + refusalPause}
}
