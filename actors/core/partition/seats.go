package partition

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/perr"
)

// lead takes the leader's seat. A replica that already led this epoch and has lost its memory since must
// not go on in it: what it appended under the number may be gone, and floors and followers would take
// other bytes for the same (R12, P1).
func (d *decision) lead(c Lead) {
	s := &d.s
	if c.Epoch < s.epoch {
		return
	}
	if s.leading() && c.Epoch == s.epoch {
		role := s.role
		if c.Session > s.session || c.Role != Mirroring {
			d.endAdoption()
		}
		d.emit(LeadUpdated{Lead: c})
		if role != c.Role {
			d.wakeAll()
		}
		d.publish()
		return
	}
	if c.Epoch <= s.led && requireNewEpochToLead {
		d.emit(Troubled{Text: fmt.Sprintf("epoch %d was led here before a restart: waiting for a higher one", c.Epoch)})
		d.publish()
		return
	}
	d.failWaits()
	d.endAdoption()
	d.emit(LeaderEpochBegan{Epoch: c.Epoch, Start: s.leo})
	d.emit(Led{Lead: c})
	d.tell(highwater.LeaderStarted{
		Epoch: c.Epoch, EpochStart: s.leo, LEO: s.leo, HW: s.hw, Mode: highwaterMode(c.Role),
		Self: s.self, Replicas: c.Replicas,
	})
	d.report()
	d.publish()
	d.wakeAll()
}

func highwaterMode(r Role) highwater.Mode {
	switch r {
	case Writable:
		return highwater.Leading
	case Mirroring:
		return highwater.Mirroring
	case Stopping:
		return highwater.Stopping
	default:
		panic(fmt.Sprintf("partition: unknown role %d", r))
	}
}

// follow takes a follower's seat: all waits of the older epoch fail in this very event, before any HW of
// another leader can confirm them (R6, F54).
func (d *decision) follow(c Follow) {
	s := &d.s
	if c.Epoch < s.epoch || (c.Epoch == s.epoch && s.seat != seatNone && (s.leading() || s.leader == c.Leader)) {
		return
	}
	d.failWaits()
	d.endAdoption()
	if s.leading() {
		d.tell(highwater.StepDown{Epoch: s.epoch})
	}
	d.emit(Followed{Follow: c})
	d.joinLeader()
	d.publish()
	d.wakeAll()
}

// failWaits answers everybody who waits, in order of their references.
func (d *decision) failWaits() {
	if len(d.was.waits) == 0 || !failWaitersOnStepDown {
		return
	}
	refs := make([]core.RequestID, 0, len(d.was.waits))
	for ref := range d.was.waits {
		refs = append(refs, ref)
	}
	slices.Sort(refs)
	d.emit(WaitsEnded{Refs: refs})
	for _, ref := range refs {
		d.fail(ref, d.was.waits[ref], perr.NotLeaderOrFollower, "the leader of this partition changed")
	}
}

// fail answers one who waits for a confirmation that will not come.
func (d *decision) fail(ref core.RequestID, wait Wait, code perr.Code, text string) {
	switch {
	case wait.Reset:
		d.late(PidResetWritten{Ref: ref})
	case wait.Marker:
		d.late(MarkerWritten{Ref: ref, Code: code, Text: text})
	default:
		d.late(RefuseProduce{Ref: ref, Code: code, Text: text, LogStart: d.s.logStart})
	}
}

func (d *decision) tell(c highwater.Command) { d.early(TellHighWatermark{Command: c}) }

// report says how far this replica is durable: it is late, so what was appended so far is on disk when it
// is performed (F08, P3).
func (d *decision) report() {
	s := &d.s
	if s.leader == core.NoReplica || (!s.leading() && !s.joined) {
		return
	}
	r := ReportDurable{Leader: s.leader, Epoch: s.epoch, Term: s.term, LEO: s.leo}
	if reportOnlyDurable {
		d.late(r)
	} else {
		d.early(r)
	}
}

// advanced takes HW and confirmations in one step, so that an acknowledged record is readable (D2).
func (d *decision) advanced(c Advanced) {
	s := &d.s
	if !s.leading() || c.Epoch != s.epoch {
		return // of an older epoch: its waits have failed already (R6)
	}
	moved := c.HW > s.hw
	if moved {
		d.emit(HighWatermarkLearned{HW: c.HW})
		d.followSource()
	}
	seen := s.readable()
	if c.Shown && c.HW > s.shown {
		d.emit(HighWatermarkShown{HW: c.HW})
	}
	if moved || s.readable() > seen {
		d.publish()
	}
	var refs []core.RequestID
	for _, ref := range c.Confirmed {
		wait, ok := d.was.waits[ref]
		if !ok {
			continue
		}
		refs = append(refs, ref)
		switch {
		case wait.Reset:
			d.late(PidResetWritten{Ref: ref, OK: true})
		case wait.Marker:
			d.late(MarkerWritten{Ref: ref})
		default:
			d.late(AckProduce{Ref: ref, Base: wait.Base, LogStart: s.logStart, LogAppendTime: wait.At})
		}
	}
	if len(refs) > 0 {
		d.emit(WaitsEnded{Refs: refs})
	}
	if moved || s.readable() > seen {
		d.wake()
	}
	if moved {
		d.pushHighWatermark()
	}
}

// shown lets readers see what is on disk.
func (d *decision) shown(c Shown) {
	s := &d.s
	if !s.leading() || c.Epoch != s.epoch || c.HW <= s.shown {
		return
	}
	d.emit(HighWatermarkShown{HW: c.HW})
	d.publish()
	d.wake()
}

func (d *decision) refused(c Refused) {
	if !d.s.leading() || c.Epoch != d.s.epoch {
		return
	}
	var refs []core.RequestID
	for _, ref := range c.Refs {
		wait, ok := d.was.waits[ref]
		if !ok {
			continue
		}
		refs = append(refs, ref)
		d.fail(ref, wait, c.Code, c.Text)
	}
	if len(refs) > 0 {
		d.emit(WaitsEnded{Refs: refs})
	}
}
