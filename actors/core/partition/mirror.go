package partition

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
)

// appendMirrored appends the answer of a mirror fetch byte for byte. It must have been asked in the
// current session and come from the adopted epoch: one that was on its way while a newer epoch was
// adopted would put discarded records behind the truncation (R3, A1).
func (d *decision) appendMirrored(c AppendMirrored) {
	s := &d.s
	answer := func(o MirrorOutcome, text string) { d.answerMirror(c.Ref, o, text) }
	switch {
	case !s.leading() || s.role != Mirroring || (c.Session <= s.fenced && fenceOldSessions && s.wasFenced):
		answer(MirrorStale, "")
		return
	case !s.current:
		answer(MirrorStale, "the source epoch has not been adopted here yet")
		return
	case c.Session != s.session && requireCurrentSession:
		answer(MirrorStale, "asked in an older session")
		return
	case c.SourceEpoch != s.adopted && requireAdoptedEpoch:
		answer(MirrorStale, fmt.Sprintf("source epoch %d is not the adopted %d", c.SourceEpoch, s.adopted))
		return
	case c.SourceIncarnation != s.adoptedOf && requireAdoptedIncarnation:
		answer(MirrorStale, fmt.Sprintf("the answer is of source incarnation %s, adopted is %s: the source was started again", c.SourceIncarnation, s.adoptedOf))
		return
	}
	next, epoch := s.leo, s.lastEpoch()
	for i, b := range c.Batches {
		base, of := core.Offset(b.BaseOffset), core.LeaderEpoch(b.LeaderEpoch)
		if i == 0 && s.leo == 0 && s.logStart == 0 && base == c.SourceLogStart {
			next = base // a new copy begins where the source's log begins
		}
		if i == 0 && s.beginsInside(b) {
			next = base
		}
		switch {
		case base > next:
			answer(MirrorRejected, fmt.Sprintf("batch at offset %d does not follow offset %d: the source has nothing between; if it compacts this topic, set cleanup.policy of the topic to compact here, too", base, next))
			return
		case base < next:
			answer(MirrorRejected, fmt.Sprintf("batch at offset %d does not follow offset %d", base, next))
			return
		case of < epoch:
			answer(MirrorRejected, fmt.Sprintf("batch at offset %d goes back to epoch %d after %d", base, of, epoch))
			return
		case of > c.SourceEpoch:
			answer(MirrorStale, fmt.Sprintf("batch at offset %d has epoch %d, above the source's %d", base, of, c.SourceEpoch))
			return
		}
		next, epoch = core.Offset(b.LastOffset())+1, of
	}
	if len(c.Batches) > 0 {
		if c.SourceHW > s.sourceHW {
			d.emit(SourceHighWatermarkTracked{HW: c.SourceHW})
		}
		for i, b := range c.Batches {
			if base := core.Offset(b.BaseOffset); i == 0 && base != s.leo {
				d.beginWith(b)
			} else {
				d.append(b)
			}
			d.push(b)
		}
		d.report()
		d.publish()
		d.wake()
	} else if c.SourceHW > s.trackedHW() {
		d.emit(SourceHeard{HW: c.SourceHW, LogStart: core.Unknown})
	}
	if c.SourceLogStart > s.heardStart || c.SourceForgotten > s.heardForgotten {
		d.emit(SourceHeard{HW: core.Unknown, LogStart: c.SourceLogStart, Forgotten: c.SourceForgotten})
		if d.followSource() {
			d.publish()
			d.wake()
			d.pushHighWatermark()
		}
	}
	d.tell(highwater.TrackSourceHW{SourceEpoch: c.SourceEpoch, HW: c.SourceHW, Waits: c.HasWaiters})
	answer(MirrorOK, "")
}

// answerMirror is late: the LEO it names is on disk when it is performed.
func (d *decision) answerMirror(ref core.RequestID, o MirrorOutcome, text string) {
	d.late(d.mirrorAnswer(ref, o, text))
}

func (d *decision) mirrorAnswer(ref core.RequestID, o MirrorOutcome, text string) MirrorAnswered {
	s := &d.s
	return MirrorAnswered{
		Ref: ref, Outcome: o, LEO: s.leo, LastEpoch: s.lastEpoch(), Epoch: s.epoch, Adopted: s.adopted, Text: text,
	}
}
