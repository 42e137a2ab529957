package partition

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/compaction"
	"lockstep/protocol/batch"
)

// prepareCleaning begins a pass of compaction over this replica's own log. It ends with whatever takes the seat, and with
// any cut: what it was about to write would then stand for other records.
func (d *decision) prepareCleaning(c PrepareCleaning) {
	s := &d.s
	if s.seat == seatNone || s.adopting.on {
		d.late(CleaningPrepared{Ref: c.Ref})
		return
	}
	limit := s.readable()
	d.emit(CleaningBegan{Pass: c.Ref, Limit: min(limit, s.txns.LSO(limit))})
	p := CleaningPrepared{Ref: c.Ref, OK: true, Pass: c.Ref, LogStart: s.logStart, Cleaned: max(s.cleaned, s.logStart), Limit: s.cleaning.limit}
	p.Newest = make(map[int64]compaction.Newest, len(d.was.producers))
	for id, of := range d.was.producers {
		p.Newest[id] = of.newest(s.hw)
	}
	for _, a := range s.txns.Aborted {
		p.Aborted = append(p.Aborted, compaction.Aborted{ProducerID: a.ProducerID, First: a.First, Marker: a.Marker})
	}
	d.late(p)
}

// newest is what a log must keep of a producer for whoever copies it (T06): the newest below hw, for what lies above may be
// cut, and then it is the newest again.
func (p producer) newest(hw core.Offset) compaction.Newest {
	n := compaction.Newest{Data: core.Unknown, Marker: core.Unknown}
	for _, b := range p {
		switch {
		case b.End >= hw && newestIsCommitted:
			return n
		case b.Marker:
			n.Marker = b.Base
		default:
			n = compaction.Newest{Data: b.End, Marker: core.Unknown}
		}
	}
	return n
}

// cleanBatches puts the next batches of a pass in the place of those inside of them. What is not committed is not touched,
// whoever asks for it.
func (d *decision) cleanBatches(c CleanBatches) {
	s := &d.s
	if why := s.refusesCleaning(c); why != "" {
		d.late(BatchesCleaned{Ref: c.Ref, Text: why})
		return
	}
	aborted, below := len(s.txns.Aborted), core.Offset(0)
	for _, b := range c.Batches {
		below = core.Offset(b.LastOffset()) + 1
		if below > s.logStart {
			d.emit(BatchCleaned{Batch: b, Limit: s.cleaning.limit})
		}
	}
	if c.Done {
		d.emit(LogCleaned{To: max(s.cleaned, c.To), Horizon: c.Horizon, WallMs: d.now.Wall})
		below = max(below, c.To)
	}
	// Before the view: whoever is told of fewer aborted transactions is not given what they wrote.
	if below > 0 {
		d.late(DropCacheHead{Below: below})
	}
	if c.Done || len(s.txns.Aborted) != aborted {
		d.publish()
	}
	d.late(BatchesCleaned{Ref: c.Ref, OK: true})
}

func (s *State) refusesCleaning(c CleanBatches) string {
	if c.Pass == 0 || c.Pass != s.cleaning.pass {
		return "the pass has ended: the log was cut, or another leads"
	}
	if c.To > s.cleaning.limit && cleanCommittedOnly {
		return fmt.Sprintf("the pass ends at %d, above its limit %d", c.To, s.cleaning.limit)
	}
	for i, b := range c.Batches {
		if core.Offset(b.LastOffset()) >= s.cleaning.limit && cleanCommittedOnly {
			return fmt.Sprintf("the batch at %d ends at %d, above the limit %d of the pass", b.BaseOffset, b.LastOffset(), s.cleaning.limit)
		}
		if b.BaseOffset < 0 || i > 0 && b.BaseOffset <= c.Batches[i-1].LastOffset() {
			return fmt.Sprintf("the batch at %d is out of order", b.BaseOffset)
		}
	}
	return ""
}

// cleanedBatch changes nothing that is known of the log but what its bytes do not say any more.
func (s *State) cleanedBatch(e BatchCleaned) {
	b := e.Batch
	if aCutTakesWhatWasHidden {
		s.emptied = max(s.emptied, e.Limit)
	}
	if !b.IsNothing() {
		return
	}
	s.emptied = max(s.emptied, core.Offset(b.LastOffset())+1)
	s.txns = s.txns.without(core.Offset(b.BaseOffset), core.Offset(b.LastOffset()))
}

// noteEmpty remembers an empty batch until HW has passed it: nobody but who loses committed records cuts below that.
func (s *State) noteEmpty(b batch.Batch) {
	if b.IsNothing() {
		s.empties = append(s.empties, emptyBatch{Base: core.Offset(b.BaseOffset), Last: core.Offset(b.LastOffset())})
	}
	for len(s.empties) > 0 && (s.empties[0].Last < s.note || len(s.empties) > mostEmpties || !cutsGoAroundEmpties) {
		s.emptied = max(s.emptied, s.empties[0].Last+1)
		s.empties = s.empties[1:]
	}
}

// cutCleaned rolls back what is known of passes.
func (s *State) cutCleaned(to core.Offset) {
	s.cleaned, s.emptied = min(s.cleaned, to), min(s.emptied, to)
	n := len(s.empties)
	for n > 0 && s.empties[n-1].Last >= to {
		n--
	}
	s.empties = s.empties[:n:n]
	if aCutEndsCleaning {
		s.cleaning = cleaning{}
	}
}

// whole is where a cut at to may be made. Below the limit of a pass records are gone in favour of newer ones, which a cut may
// take, and batches begin and end elsewhere than they were written. So the log goes as a whole: whoever cuts committed records
// copies them again anyway. Inside of an empty batch above it, which is not committed, the cut goes before it.
func (s *State) whole(to core.Offset) core.Offset {
	if to < s.emptied && to > s.logStart {
		return s.logStart
	}
	for _, e := range s.empties {
		if e.Base < to && to <= e.Last && to > s.logStart {
			return max(e.Base, s.logStart)
		}
	}
	return to
}

// without forgets aborted transactions whose markers are gone, and with them their records: a reader would skip what their
// producers wrote since.
func (t Transactions) without(first, last core.Offset) Transactions {
	var kept []AbortedTxn
	for i, a := range t.Aborted {
		switch in := a.Marker >= first && a.Marker <= last; {
		case in && kept == nil:
			kept = append(make([]AbortedTxn, 0, len(t.Aborted)), t.Aborted[:i]...)
		case !in && kept != nil:
			kept = append(kept, a)
		}
	}
	if kept != nil {
		t.Aborted = kept
	}
	return t
}
