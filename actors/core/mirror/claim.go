package mirror

import (
	"fmt"

	"lockstep/actors/core"
)

const claimEveryNs = int64(1e9) // T is journaled at most this often

// decideEvidence takes what a source leader states of our gate. It counts only under our own registration: an
// older one may have been released since (model G8), a newer one means that somebody registered in our name,
// so that what we claim is not what the source keeps.
func (s *State) decideEvidence(now core.Now, t *topic, c ReportEvidence) outcome {
	if t.phase() != Arming && t.phase() != Sync {
		return s.endUnknownGate(now, t, c)
	}
	if c.Epoch != t.Epoch && ownRegistrationOnly {
		if c.Epoch > t.Epoch && newestEvidenceGoverns {
			w := s.turn(now, t)
			w.demote(reasonOther, 0, fmt.Sprintf("the source gates under registration %d, ours is %d", c.Epoch, t.Epoch))
			return w.out
		}
		return outcome{}
	}
	if !sourceClockOnly {
		c.T.Clock = now.Wall
	}
	seen := EvidenceReported{Evidence: c, At: now.Mono}
	if c.Sent > 0 {
		seen.SentWall = now.Wall - (now.Mono-c.Sent)/1e6
	}
	w := s.turn(now, t)
	if n := c.Partitions; int(n) > len(t.Partitions) && n <= maxPartitions && !t.Gone && t.Created && countBeforeClaim {
		// The source had partitions before we registered that its metadata has not shown us yet, and may have
		// acknowledged records there: T would speak for them.
		w.happen(PartitionsAdded{Topic: t.Topic, Count: n})
		w.grow()
		w.tell()
	}
	if start, arms := t.arms(c); arms {
		w.happen(PartitionArmed{
			Topic: t.Topic, Partition: c.ID.Index, Epoch: c.Epoch,
			SourceEpoch: c.SourceEpoch, GateStart: start, Floor: c.Floor,
		})
	}
	w.gatedIn(c.ID.Index, c.SourceEpoch)
	w.happen(seen)
	w.sawEra(c.Era)
	w.promoted()
	return w.out
}

// gatedIn keeps in which source epoch an armed partition was last seen to be gated. A log stands under a source epoch
// before anybody knows whether its leader gates, and a copy of an epoch that did not gate must not be preferred to
// an older one that did, not after a restart either (C15, model T4).
func (w *turn) gatedIn(i int32, epoch core.LeaderEpoch) {
	if p := w.t.Partitions[i]; p.Armed && epoch > p.GatedIn && journalGatedEpoch {
		w.happen(PartitionGated{Topic: w.t.Topic, Partition: i, SourceEpoch: epoch})
	}
}

// endUnknownGate: the source gates on us under a registration that this journal knows nothing of, because it was
// restored from before it. Nobody reports floors for it, so that the source's producers would wait for ever:
// it is taken back. Never while stopping: an opened copy does not un-gate its old source (model W7).
func (s *State) endUnknownGate(now core.Now, t *topic, c ReportEvidence) outcome {
	p := t.phase()
	if !takeBackUnknownGate || p == Registering || p == Demoting || p == Stopping || p == Stopped {
		return outcome{}
	}
	if t.Standing || t.Pending != pendingNone || c.Epoch <= t.Epoch {
		return outcome{}
	}
	w := s.turn(now, t)
	w.issue(pendingUnregister)
	return w.out
}

// arms decides whether evidence proves that a partition's floor has reached the point from which on its leader
// gates. Both must be of one source epoch: a new leader may have a lower log, so the old leader's gate start
// says nothing of what the new one acknowledged before it gated (C2, model G2). The newest start counts: on
// an idle topic the first one may never be reached again (model G6b).
func (t *topic) arms(c ReportEvidence) (core.Offset, bool) {
	l := t.live[c.ID.Index]
	start, epoch := l.gateStart, l.gateEpoch
	if c.GateStart != core.Unknown && (newestGateStart || start == core.Unknown) {
		start, epoch = c.GateStart, c.SourceEpoch
	}
	switch {
	case t.Partitions[c.ID.Index].Armed || start == core.Unknown || c.Floor == core.Unknown:
		return start, false
	case armInOneSourceEpoch && epoch != c.SourceEpoch:
		return start, false
	}
	return start, c.Floor >= start
}

// claim journals T, the smallest over all partitions: a topic is as new as its oldest partition. Each T was
// composed while its leader gated, so every acks=all record acknowledged up to then is here (C4).
func (w *turn) claim() {
	t := w.t
	if t.phase() != Sync || w.now.Mono-t.claimedAt < claimEveryNs && t.claimedAt != 0 {
		return
	}
	at := t.smallest()
	if at.Clock <= t.Clock {
		return
	}
	w.happen(ClaimConfirmed{Topic: t.Topic, Clock: at.Clock, Index: at.Index})
	w.happen(ClaimNoted{Topic: t.Topic, At: w.now.Mono})
}

func (t *topic) smallest() (at ClaimTime) {
	for i, l := range t.live {
		older := l.claim.Clock < at.Clock
		if !smallestT {
			older = !older
		}
		if i == 0 || older {
			at = l.claim
		}
	}
	return at
}

// contact is when the newest request left that was confirmed for every partition; 0: not since start.
func (t *topic) contact() (sent, wall int64) {
	for i, l := range t.live {
		if i == 0 || l.sent < sent {
			sent, wall = l.sent, l.sentWall
		}
	}
	return sent, wall
}

// unconfirmed reports whether the claim is older than the lease: the source may have released us without
// our hearing of it, which is the one case release exists for (C4, F19).
func (s *State) unconfirmed(t *topic, now core.Now) bool {
	sent, _ := t.contact()
	return unconfirmedAfterLease && (sent == 0 || now.Mono-sent > s.leaseOf(t))
}

// leaseOf is how long a claim of a topic stands unconfirmed: no longer than a release at the source withholds acks, or
// it would still be shown when they are given without us.
func (s *State) leaseOf(t *topic) int64 {
	lease := s.leaseNs()
	for _, l := range t.live {
		if l.lease != 0 && sourceLeaseCounts {
			lease = min(lease, l.lease)
		}
	}
	return lease
}

// zeroRPO reports whether the source cannot have acknowledged anything that is not here, at this moment: it promised
// for every partition that a release withholds acks for the lease, and that has not run out (C4).
func (s *State) zeroRPO(t *topic, now core.Now) bool {
	if t.phase() != Sync || s.classOf(t) != ClassProven || s.unconfirmed(t, now) || s.partial(t, now) || len(t.live) == 0 {
		return false
	}
	for i, l := range t.live {
		if !t.Partitions[i].Armed || !l.promised && onlyPromisedIsZeroRPO {
			return false
		}
	}
	return true
}

// gated reports whether nothing speaks against a partition's gate: armed, not refused, and evidence no older
// than the lease.
func (s *State) gated(t *topic, i int, now core.Now) bool {
	l := t.live[i]
	return t.Partitions[i].Armed && l.refusedAt == 0 && l.sent != 0 && now.Mono-l.sent <= s.leaseOf(t)
}

// partial reports whether some partitions are gated and some are not. Then the topic is not called SYNC (I44).
func (s *State) partial(t *topic, now core.Now) bool {
	gated, refused := 0, 0
	for i := range t.live {
		if s.gated(t, i, now) {
			gated++
		} else if t.live[i].refusedAt != 0 {
			refused++
		}
	}
	return partialIsNotSync && gated < len(t.live) && (gated > 0 || refused > 0)
}
