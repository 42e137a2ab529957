package highwater

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Machine is the high watermark as every driver runs it.
func Machine() core.Machine[State, Command, Event, Effect] {
	return core.Machine[State, Command, Event, Effect]{
		Name: "highwater", Init: New, Decide: Decide, Apply: Apply,
		Encode: encode, Decode: decode, Snapshot: snapshot, Restore: restore,
	}
}

// decision collects what one command leads to. s is a copy that every emitted event is applied to, so
// later steps see earlier ones and the caller's state stays as it was. The copy is held by value, so that a
// decision stays on the stack.
type decision struct {
	s   State
	now core.Now
	out core.Outcome[Event, Effect]
	// hwMoved and gatesMoved say that the outside should hear of it.
	hwMoved    bool
	gatesMoved bool
	// looked says that time passed or acks were given up: a gate that began to hold HW in between is told now.
	looked bool
}

func (d *decision) emit(ev Event) {
	Apply(&d.s, ev)
	d.out.Events = with(d.out.Events, ev)
}
func (d *decision) early(f Effect) { d.out.Early = with(d.out.Early, f) }
func (d *decision) late(f Effect)  { d.out.Late = with(d.out.Late, f) }

// with appends, and makes room for the usual few at once.
func with[T any](list []T, one T) []T {
	if list == nil {
		list = make([]T, 0, 4)
	}
	return append(list, one)
}

// Decide says what one command leads to. s is not changed.
func Decide(s *State, now core.Now, cmd Command) core.Outcome[Event, Effect] {
	d := &decision{s: *s, now: now}
	d.s.draft = true
	switch c := cmd.(type) {
	case LeaderStarted:
		d.lead(c)
	case AppliedImage:
		d.applyImage(c)
	case ReportReplica:
		d.reportReplica(c)
	case SourceAdopted:
		if s.leading && c.Term > s.term {
			d.emit(TermBegan{Adopted: c, At: now.Mono})
		}
	case TrackSourceHW:
		d.trackSource(c)
	case AwaitCommit:
		d.await(c)
	case ReportFloor:
		d.reportFloor(c)
	case ReportReplicas:
		d.reportReplicas(c)
	case WeakAcked:
		d.weakAcked(c)
	case StampDurable:
		if s.stampOpen && c.Number == s.hard.Stamp {
			d.emit(StampConfirmed(c))
		}
		return d.out
	case ISRRefused:
		if s.leading {
			d.emit(ISRProposalRefused{PartitionEpoch: c.PartitionEpoch, At: now.Mono})
		}
	case StepDown:
		if s.leading && c.Epoch >= s.epoch {
			d.emit(SteppedDown{})
			d.late(PublishGates{Epoch: s.epoch, HW: s.hw})
		}
	case Tick:
		d.looked = true
		if s.timer != 0 && now.Mono >= s.timer {
			d.emit(TimerArmed{})
		}
	default:
		panic(fmt.Sprintf("highwater: unknown command %T", cmd))
	}
	d.settle()
	return d.out
}

// settle draws every conclusion the new facts allow. Order matters: an addition to the ISR counts before
// HW moves, and the stamp is open before an ack is given under it.
func (d *decision) settle() {
	if !d.s.leading {
		return
	}
	d.settleISR()
	d.settleStamp()
	d.settleHighWatermark()
	d.settleUnderMin()
	d.settleTimeouts()
	d.settleFloor()
	d.settleWeak()
	d.settleAdditions()
	d.settleAdmission()
	d.settleGates()
	d.settleTimer()
}

func (d *decision) lead(c LeaderStarted) {
	if c.Epoch < d.s.epoch || (c.Epoch == d.s.epoch && d.s.leading) {
		return
	}
	d.emit(LeaderBegan{Started: c, At: d.now.Mono})
	if max(d.s.hard.To, 0) < c.HW && c.Mode == Leading {
		d.emit(LedgerGap{LeaderEpoch: c.Epoch, From: max(d.s.hard.To, 0), To: c.HW, WallMs: d.now.Wall})
	}
	switch {
	case d.s.hw > c.HW:
		// The epoch was raised in place while HW was on its way, under the old epoch, where nobody took it any more.
		d.late(Advance{Epoch: c.Epoch, HW: d.s.hw, Shown: true})
	case c.Mode != Mirroring:
		d.late(Show{Epoch: c.Epoch, HW: c.HW})
	}
	d.applied(nil)
}

// applyImage takes an image of our epoch; a newer one waits for the leader's start, which comes from
// another actor and may be overtaken.
func (d *decision) applyImage(c AppliedImage) {
	if c.Epoch < d.s.epoch || c.Version < max(d.s.image.Version, d.s.ahead.Version) {
		return
	}
	before := d.s.gates
	d.emit(ImageArrived{Image: c, At: d.now.Mono})
	d.applied(before)
}

// applied tells the ledger of every gate that was not in force before (C2, D17).
func (d *decision) applied(before []gate) {
	if !d.s.leading || !d.s.imaged {
		return
	}
	d.gatesMoved = true
	for _, g := range d.s.gates {
		known := false
		for _, old := range before {
			known = known || (old.Key == g.Key && old.Epoch == g.Epoch && old.Incarnation == g.Incarnation)
		}
		if !known {
			d.late(GateApplied{Key: g.Key, Epoch: g.Epoch, LeaderEpoch: d.s.epoch, GateStart: g.Start})
		}
	}
}

func (d *decision) reportReplica(c ReportReplica) {
	if !d.s.leading || c.Epoch != d.s.epoch {
		return
	}
	if c.Term != d.s.term && (requireMirrorTerm || c.Replica == d.s.self) {
		return
	}
	if p, known := d.s.progressOf(c.Replica); !known || c.LEO < p.LEO {
		return
	}
	d.emit(ReplicaProgressed{Replica: c.Replica, LEO: c.LEO, At: d.now.Mono})
}

func (d *decision) refuse(refs []core.RequestID, code perr.Code, text string) {
	d.early(Refuse{Epoch: d.s.epoch, Refs: refs, Code: code, Text: text})
}
