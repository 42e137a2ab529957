package partition

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
)

// fence ends mirroring: from its event on older sessions are refused, whatever is still on its way (C9).
// The last mirrored epoch is written once per mirroring: a second run of STOPPING would find our own
// ABORT and reset batches at the end of the log and take their epoch for the source's.
func (d *decision) fence(c FenceMirror) {
	s := &d.s
	if !s.leading() {
		d.late(MirrorFenced{Ref: c.Ref})
		return
	}
	lme, leo := s.lastEpoch(), s.leo
	if s.wasFenced && !s.mirroring && lastMirrorEpochOnce {
		lme, leo = s.lme, s.fencedLEO
	}
	if !s.wasFenced || s.mirroring || c.Session > s.fenced || lme != s.lme {
		d.endAdoption()
		d.emit(MirroringFenced{Session: c.Session, LME: lme, LEO: leo})
	}
	d.publish()
	d.late(MirrorFenced{Ref: c.Ref, LME: lme, LEO: leo, OK: true})
}

// writePidReset aborts what is left open of the source's transactions (C9), then appends the control batch that says
// whose producer state survives (C13), once: a resumed STOPPING finds it above the last mirrored epoch and waits for
// that one. It follows the ABORT markers, so they are committed with it.
func (d *decision) writePidReset(c WritePidReset) {
	s := &d.s
	if !s.leading() || s.role == Mirroring {
		d.late(PidResetWritten{Ref: c.Ref})
		return
	}
	offset := core.Unknown
	if n := len(s.resets); n > 0 && s.resets[n-1].Epoch > max(s.adopted, s.lme) {
		offset = s.resets[n-1].Offset
	} else {
		if abortOpenAtStopping {
			for _, txn := range s.txns.Open {
				d.extend(batch.EndTxn(d.now.Wall, txn.ProducerID, txn.Epoch, batch.Marker{CoordinatorEpoch: -1}))
			}
		}
		offset = s.leo
		keep := batch.KeepNothing
		if c.Keep == KeepIdempotent {
			keep = batch.KeepIdempotent
		}
		d.extend(batch.MirrorPidReset(d.now.Wall, keep))
		d.report()
		d.publish()
		d.wake()
	}
	d.emit(ProduceParked{Ref: c.Ref, Wait: Wait{Base: offset, Reset: true}})
	d.tell(highwater.AwaitCommit{Ref: c.Ref, Epoch: s.epoch, Offset: offset + 1, Base: offset})
}
