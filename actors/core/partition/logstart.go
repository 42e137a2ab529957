package partition

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// Reason says why a log begins later than it did.
type Reason = int8

// The reasons of LogStartAdvanced.
const (
	ReasonClient     Reason = 0 // DeleteRecords
	ReasonTime       Reason = 1 // retention.ms
	ReasonSize       Reason = 2 // retention.bytes
	ReasonReplicated Reason = 3 // the leader, or the source of a mirror, begins there
)

// deleteRecords gives up the head of the log for a client. Readers may not see all of it yet, because the ledger is still to
// write HW down: the event says itself that HW was there.
func (d *decision) deleteRecords(c DeleteRecords) {
	s := &d.s
	refuse := func(code perr.Code, text string) {
		d.late(RecordsDeleted{Ref: c.Ref, Code: code, Text: text, LogStart: s.logStart})
	}
	if code, text := s.closedForClients(); code != 0 {
		refuse(code, text)
		return
	}
	before, hw := c.Before, s.hw
	if before == core.Unknown {
		before = hw
	}
	if before < 0 || before > hw && (deleteCommittedOnly || before > s.leo) {
		refuse(perr.OffsetOutOfRange, fmt.Sprintf("records below %d cannot be deleted: the high watermark is %d", c.Before, hw))
		return
	}
	if before > s.logStart {
		d.shorten(before, ReasonClient)
	}
	d.late(RecordsDeleted{Ref: c.Ref, LogStart: s.logStart})
}

// expireRecords does what the retention of the topic asks for.
func (d *decision) expireRecords(c ExpireRecords) {
	s := &d.s
	if code, _ := s.closedForClients(); code != 0 || c.Epoch != s.epoch {
		return
	}
	if before := min(c.Before, s.hw); before > s.logStart {
		d.shorten(before, c.Reason)
	}
}

// shorten moves the log start of a leader, and tells everybody.
func (d *decision) shorten(to core.Offset, why Reason) {
	d.advanceLogStart(to, why)
	d.publish()
	d.wake()
	d.pushHighWatermark()
}

func (d *decision) advanceLogStart(to core.Offset, why Reason) {
	d.emit(LogStartAdvanced{From: d.s.logStart, To: to, Reason: why, WallMs: d.now.Wall})
}

// followStart takes over where the leader's log begins, as far as our own HW.
func (d *decision) followStart(start core.Offset) bool {
	to := min(start, d.s.hw)
	if to <= d.s.logStart || !followLogStart {
		return false
	}
	d.advanceLogStart(to, ReasonReplicated)
	return true
}

// followSource does the same at the leader of a mirror, and forgets the producers that the source has forgotten. Its HW may
// come later than what the source states, which is not stated again.
func (d *decision) followSource() bool {
	s := &d.s
	if !s.leading() || s.role != Mirroring || !s.current {
		return false
	}
	started := d.followStart(s.heardStart)
	return d.followForgetting(s.heardForgotten) || started
}

// beginAnew puts a follower whose log ends below the leader's start there: what lies between is nowhere any more.
func (d *decision) beginAnew(start core.Offset) {
	s := &d.s
	if s.leo > s.logStart {
		d.truncate(LogTruncated{From: s.leo, To: s.logStart, SourceEpoch: core.NoEpoch, WallMs: d.now.Wall})
	}
	d.emit(LogStartedAt{Start: start})
	d.advanceLogStart(start, ReasonReplicated) // it was committed, and a restart must know that
}

// beginsInside: records were deleted up to the middle of this batch, and it is the first that an empty log is given.
func (s *State) beginsInside(b batch.Batch) bool {
	return s.leo == s.logStart && core.Offset(b.BaseOffset) < s.leo && core.Offset(b.LastOffset()) >= s.leo
}

// beginWith puts the first batch into an empty log. It may begin below the log start, which then stays where it is.
func (d *decision) beginWith(b batch.Batch) {
	start := d.s.logStart
	d.emit(LogStartedAt{Start: core.Offset(b.BaseOffset)})
	d.append(b)
	if start > d.s.logStart {
		d.advanceLogStart(start, ReasonReplicated)
	}
}

// startedAt is an empty log that begins at start. What was known of other records is not known of these.
func (s *State) startedAt(start core.Offset) {
	s.logStart, s.leo = start, start
	s.note, s.hw, s.shown = min(s.note, start), min(s.hw, start), min(s.shown, start)
	s.epochs, s.resets, s.txns = nil, nil, Transactions{}
	s.cutCleaned(start)
	if s.producers != nil {
		clear(s.producers)
	}
}

// startAdvanced drops the head of the log. Producers stay: a retry may repeat a batch that was deleted (T06).
func (s *State) startAdvanced(to core.Offset) {
	s.logStart = max(s.logStart, to)
	s.note, s.hw, s.shown = max(s.note, to), max(s.hw, to), max(s.shown, to)
	if s.mirroring {
		s.sourceHW = max(s.sourceHW, to) // the source had committed what it deleted (R11)
	}
	s.dropEpochs(to)
	s.txns = s.txns.from(to)
	if s.producers != nil && !producersOutliveTheirLog {
		for id, p := range s.producers {
			if p[len(p)-1].End < to {
				delete(s.producers, id)
			}
		}
	}
}

// dropEpochs forgets epochs that ended at or below start. The one that start lies in begins there, as in Kafka, also when
// nothing of it is left: where it ended is still asked for.
func (s *State) dropEpochs(start core.Offset) {
	n := 0
	for n+1 < len(s.epochs) && s.epochs[n+1].Start <= start {
		n++
	}
	if len(s.epochs) == 0 || s.epochs[n].Start >= start {
		s.epochs = s.epochs[n:]
		return
	}
	kept := append([]EpochStart(nil), s.epochs[n:]...)
	kept[0].Start = start
	s.epochs = kept
}

// from leaves what concerns offsets at or above start. A transaction that began below begins there: nothing before it holds
// up readers any more, and none of it is skipped.
func (t Transactions) from(start core.Offset) Transactions {
	raise := func(at core.Offset) core.Offset { return max(at, start) }
	var out Transactions
	for _, o := range t.Open {
		o.First = raise(o.First)
		out.Open = append(out.Open, o)
	}
	for _, e := range t.ended {
		if e.Marker >= start {
			e.First = raise(e.First)
			out.ended = append(out.ended, e)
		}
	}
	for _, a := range t.Aborted {
		if a.Marker >= start {
			a.First, a.Stable = raise(a.First), raise(a.Stable)
			out.Aborted = append(out.Aborted, a)
		}
	}
	return out
}
