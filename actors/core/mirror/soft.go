package mirror

import (
	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func (t *topic) applySoft(ev softEvent) {
	switch ev := ev.(type) {
	case ProgressReported:
		t.live[ev.Report.ID.Index].progressed(ev)
	case FailureReported:
		t.live[ev.ID.Index].failed(ev)
	case EvidenceReported:
		t.confirmed(ev)
	case GateStated:
		l := &t.live[ev.ID.Index]
		if ev.SourceEpoch >= l.gateEpoch {
			l.gateEpoch, l.gateStart = ev.SourceEpoch, ev.Start
		}
	case FailuresForgotten:
		for i := range t.live {
			t.live[i].refusedAt, t.live[i].refusedWall = 0, 0
		}
	case AdmissionNoted:
		t.admittedAt = ev.At
	case CommandSent:
		t.attempt, t.sendDue, t.deadline = ev.Attempt, ev.Due, ev.Deadline
	case PromotionDelayed:
		t.tryAfter = ev.Until
	case StepDriven:
		if ev.Since != 0 {
			t.stepSince = ev.Since
		}
		t.driveDue = ev.Due
	case ClaimNoted:
		t.claimedAt = ev.At
	default:
		panic("mirror: unknown soft event")
	}
}

func (l *live) progressed(ev ProgressReported) {
	r := ev.Report
	l.at, l.atWall, l.progress = ev.At, ev.AtWall, r
	l.contacted(r.Asked, ev.At)
	l.failedAt = 0
	if r.Sync || l.refusedAt == 0 { // async reads between refused sync fetches prove nothing of the registration
		l.refusedAt, l.failures, l.code, l.text = 0, 0, perr.None, ""
	}
	l.highest = max(l.highest, r.SourceEpoch, r.Adopted, r.LocalEpoch)
	switch {
	case r.SourceEpoch != r.Adopted:
		l.zeroAt = 0
	case r.LEO >= r.SourceHW:
		l.zeroAt, l.zeroEpoch = ev.At, r.SourceEpoch
	case l.zeroEpoch != r.SourceEpoch:
		l.zeroAt = 0
	}
}

// contacted notes that the source answered. An answer proves that the source was there after the request left,
// not when the answer arrived: it may have been under way for longer than the lease (C4).
func (l *live) contacted(asked, at int64) {
	if !leaseFromAsking {
		asked = at
	}
	l.contactAt = max(l.contactAt, asked)
}

// aboutRegistration tells the codes that say something of the registration from ordinary errors (C5).
func aboutRegistration(c perr.Code) bool {
	return c == perr.InvalidSyncRegistration || c == perr.MirrorRegistrationPropagating
}

func (l *live) failed(ev FailureReported) {
	l.code, l.text = ev.Code, ev.Text
	l.failures++
	if aboutRegistration(ev.Code) {
		l.contacted(ev.Asked, ev.At)
		l.failedAt = 0
		if l.refusedAt == 0 {
			l.refusedAt, l.refusedWall = ev.At, ev.AtWall
		}
		return
	}
	if l.failedAt == 0 {
		l.failedAt, l.failedWall = ev.At, ev.AtWall
	}
}

func (t *topic) confirmed(ev EvidenceReported) {
	e, l := ev.Evidence, &t.live[ev.Evidence.ID.Index]
	if e.GateStart != core.Unknown && e.SourceEpoch >= l.gateEpoch && (newestGateStart || l.gateStart == core.Unknown) {
		l.gateEpoch, l.gateStart = e.SourceEpoch, e.GateStart
	}
	l.highest = max(l.highest, e.SourceEpoch)
	if e.Floor != core.Unknown {
		l.floor = e.Floor
	}
	if !t.Partitions[e.ID.Index].Armed && armedPartitionsOnly {
		return
	}
	if e.T.Clock > l.claim.Clock {
		l.claim = e.T
	}
	if e.Sent > l.sent {
		l.sent, l.sentWall = e.Sent, ev.SentWall
		l.contactAt = max(l.contactAt, e.Sent)
		l.lease, l.promised = e.LeaseMs*1e6, e.Promised
	}
}
