package mirror

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

const (
	freshNs = int64(1e9)  // lag is measured against an answer younger than this
	latchNs = int64(10e9) // how long a partition's lag zero counts while others catch up
	stallNs = int64(1e9)  // how long gating may be predicted to hold producers up
)

// promote registers a topic that has caught up (C7). Under load all partitions are never at lag zero at one
// instant, so each latches it for a while; what was measured against a dead leader's last answer says nothing,
// so it must be fresh (F42).
func (w *turn) promote() {
	t := w.t
	if t.phase() != CatchingUp || w.now.Mono < t.tryAfter || !t.Created {
		return
	}
	if t.Pending != pendingNone && (t.Pending == pendingSwitchover || !registerEndsSaga) {
		return
	}
	for _, l := range t.live {
		if !l.caughtUp(w.now.Mono) {
			return
		}
	}
	if w.s.belowMinClass(t) {
		return // a Register would be admitted, and hold the source's producers for nothing
	}
	w.issue(pendingRegister)
}

// caughtUp decides for one partition.
func (l *live) caughtUp(now int64) bool {
	r := l.progress
	switch {
	case l.at == 0 || r.SourceEpoch != r.Adopted:
		return false
	case freshLagOnly && now-l.at >= freshNs:
		return false
	case enoughISR && r.ISRSize < r.MinISR:
		return false
	case latchLagZero:
		return l.zeroAt != 0 && now-l.zeroAt < latchNs && l.shortStall()
	}
	return r.LEO >= r.SourceHW
}

// shortStall predicts how long producers would wait for what is still missing.
func (l *live) shortStall() bool {
	r := l.progress
	if r.LEO >= r.SourceHW || !predictStall {
		return true
	}
	return r.Rate > 0 && float64(r.LagBytes)/float64(r.Rate)*1e9 < float64(stallNs)
}

// decideRegisterAnswer takes the source's answer. One to an older command says nothing of the newest: a late
// OK could claim a gate that an Unregister has ended since (C3).
func (s *State) decideRegisterAnswer(now core.Now, c RegisterAnswered) outcome {
	t := s.topics[c.Topic]
	if t == nil || t.Pending != pendingRegister || ignoreForeignAnswers && c.Generation != t.Generation {
		return outcome{}
	}
	w := s.turn(now, t)
	switch {
	case c.Newest != 0:
		w.overtaken(c.Newest, c.Fresh)
	case c.Code == perr.None:
		w.admitted(c)
	case !isAnswer(c.Code):
		// asked again when it is due
	default:
		w.refused(c)
	}
	return w.out
}

// admitted begins arming. The answer itself proves nothing: leaders may not have applied the registration
// yet, so nothing is claimed before every partition's floor has reached its gate start (C1, F12, model G3).
func (w *turn) admitted(c RegisterAnswered) {
	if c.Epoch == 0 && w.s.provenOnly(w.t) && refuseBelowMinClass {
		w.refused(RegisterAnswered{Code: perr.MirrorSyncVersionMismatch, Text: belowMinClassText})
		return
	}
	w.happen(TopicAdmitted{Topic: w.t.Topic, Epoch: c.Epoch})
	w.happen(AdmissionNoted{Topic: w.t.Topic, At: w.now.Mono})
	w.sawEra(c.Era)
	if countAfterAnswer {
		w.happen(FailuresForgotten{Topic: w.t.Topic})
	}
	for _, g := range c.Gates {
		if g.Partition >= 0 && int(g.Partition) < len(w.t.Partitions) {
			w.happen(GateStated{ID: core.PartitionID{Topic: w.t.Topic, Index: g.Partition}, SourceEpoch: g.LeaderEpoch, Start: g.Start})
		}
	}
	if !w.promoted() {
		w.tell()
	}
}

// sawEra notes the era that the source takes the writes under: a failover must begin one above it (C8).
func (w *turn) sawEra(era core.Era) {
	if era > w.t.Era && era.Plausible() && followSourceEra {
		w.happen(EraSeen{Topic: w.t.Topic, Era: era})
	}
}

// promoted claims a topic whose partitions are all armed, once T is known: a claim without T says nothing.
// The evidence that arms brings it; where the partitions stayed armed over a restart or another Register, the next
// evidence of each does (C2, C4).
func (w *turn) promoted() bool {
	t := w.t
	if t.phase() != Arming {
		return false
	}
	at := t.smallest()
	if claimInsideGate && (!t.allArmed() || promoteWithT && at.Clock == 0) {
		return false
	}
	if promoteWithT && at.Clock > t.Clock {
		w.happen(ClaimConfirmed{Topic: t.Topic, Clock: at.Clock, Index: at.Index})
		w.happen(ClaimNoted{Topic: t.Topic, At: w.now.Mono})
	}
	w.happen(TopicPromoted{Topic: t.Topic})
	w.tell()
	return true
}

// refused backs off. RELEASED(n) states that the source does not gate; any other refusal leaves open what an
// earlier Register did there, so that it is taken back (F25).
func (w *turn) refused(c RegisterAnswered) {
	t := w.t
	ev := RegisterRefused{Topic: t.Topic, Code: int16(c.Code), RetryAttempt: t.RetryAttempt + 1}
	ev.Text = fmt.Sprintf("the source refused to gate: %s (%s)", c.Text, c.Code)
	if c.Code == perr.MirrorSyncReleasedRequiresFreshPromotion {
		ev.Release = c.Number
		ev.Text = "released by the source, recovering"
		if c.Held {
			ev.Text = "released by the source and held there: its operator must run --release-sync --unhold"
		}
	}
	w.happen(ev)
	w.delay()
	if w.t.Standing && demotionUnregisters {
		w.issue(pendingUnregister)
		return
	}
	w.tell()
}

// overtaken: the source knows numbers that this journal never gave out, so the journal is an older one. What it
// promised of its data may be gone: a new incarnation, and numbers above all that were used (C3, model K5).
func (w *turn) overtaken(newest core.Generation, fresh core.Incarnation) {
	if !restoredStartsAfresh {
		return
	}
	kind := w.t.Pending
	w.happen(GenerationOvertaken{Topic: w.t.Topic, Newest: newest, Incarnation: fresh})
	w.issue(kind)
}
