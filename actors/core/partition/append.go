package partition

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// appendClient is the produce path of the leader: fence, admission, sequence, stamp, append, replicate,
// ask for confirmation.
func (d *decision) appendClient(c AppendBatch) {
	s := &d.s
	weak := c.Acks != -1 && s.admission.gated && obeyWeakAcks
	if weak && c.Weak == WeakUpgrade {
		c.Acks = -1
	}
	refuse := func(code perr.Code, text string) {
		d.late(RefuseProduce{Ref: c.Ref, Code: code, Text: text, LogStart: s.logStart})
	}
	if code, text := s.closedForClients(); code != 0 {
		refuse(code, text)
		return
	}
	switch {
	case c.Acks != -1 && !s.admission.known && weakNeedsAdmission:
		// Whether mirrors gate this log, and whether all of them have the partition, comes from the HW actor: HW holds
		// acks=all back until then, and nothing would hold these back.
		refuse(perr.LeaderNotAvailable, "the leader has just begun and does not know yet what its mirrors need: produce again")
		return
	case weak && c.Weak == WeakRefuse:
		refuse(perr.InvalidRequiredAcks, fmt.Sprintf("acks=%d is not protected by the topic's synchronous mirrors: produce with acks=all, or set lockstep.weak.acks=allow", c.Acks))
		return
	case (c.Acks == -1 || s.admission.closed) && s.admission.code != 0 && obeyAdmission:
		refuse(s.admission.code, s.admission.text)
		return
	}
	original, duplicate, code := d.was.checkSequence(c.Batch)
	if code != 0 {
		refuse(code, "") // an old epoch is told as such, whatever became of its transaction (T15)
		return
	}
	if duplicate {
		d.confirm(c, original.Base, original.End, original.At, true)
		return
	}
	if code, text := s.txns.judge(c.Batch, c.InTxn); code != 0 {
		refuse(code, text)
		return
	}
	base := s.leo
	b := c.Batch.Stamped(int64(base), int32(s.epoch))
	d.append(b)
	d.push(b)
	d.report()
	d.publish()
	d.wake()
	d.confirm(c, base, core.Offset(b.LastOffset()), b.MaxTimestamp, false)
}

// closedForClients says why clients may not change this log here, whatever they ask for.
func (s *State) closedForClients() (perr.Code, string) {
	switch {
	case !s.leading():
		return perr.NotLeaderOrFollower, ""
	case s.role != Writable && s.opening && openingAsksToWait:
		return perr.NotLeaderOrFollower, "the topic is about to be written here: ask again"
	case s.role != Writable && mirrorsAreReadOnly:
		return perr.ReadOnlyTopic, "the topic is mirrored by " + string(s.mirror) + ": only its source writes to it"
	case s.fence.Number != 0 && fenceRefusesProduce:
		return s.fence.Code, s.fence.Text
	default:
		return 0, ""
	}
}

// confirm answers by the acks asked for. A duplicate waits for the HW of its original: an early success
// would be an ack for a record that a mirror may not have (R7). at is the newest time of the batch in the log.
func (d *decision) confirm(c AppendBatch, base, last core.Offset, at int64, duplicate bool) {
	s := &d.s
	if !c.Batch.HasAppendTime() {
		at = -1 // the producer's own times are no news to it
	}
	if c.Acks != -1 {
		// Late: behind the leader's own fsync (D26).
		d.late(AckProduce{Ref: c.Ref, Base: base, LogStart: s.logStart, LogAppendTime: at})
		if s.admission.gated && countWeakAcks {
			d.tell(highwater.WeakAcked{Epoch: s.epoch, From: base, To: last + 1, Acks: c.Acks, Client: c.Client})
		}
		return
	}
	if duplicate && !duplicateWaitsForOriginal {
		d.late(AckProduce{Ref: c.Ref, Base: base, LogStart: s.logStart, LogAppendTime: at})
		return
	}
	offset := last + 1
	if !confirmPastLastOffset {
		offset = last
	}
	d.emit(ProduceParked{Ref: c.Ref, Wait: Wait{Base: base, At: at}})
	d.tell(highwater.AwaitCommit{
		Ref: c.Ref, Epoch: s.epoch, Offset: offset, Base: base, Bytes: int64(len(c.Batch.Bytes)), Deadline: c.Deadline,
	})
}

// append puts one stamped batch at the end of the log and offers it to the tail cache.
func (d *decision) append(b batch.Batch) {
	d.emit(BatchAppended{Batch: b, Note: d.s.hw})
	d.early(CacheBatch{Batch: b})
}
