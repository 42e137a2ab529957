package partition

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
)

// adopt takes the result of a divergence check: it finds where the common prefix ends, cuts there as R11
// allows, and puts the log under the source's epoch. The check runs on every source epoch change, clean
// or not, because a mirror reads past the source's HW (R3, F04).
func (d *decision) adopt(c AdoptSource) {
	s := &d.s
	switch {
	case !s.leading() || s.role != Mirroring || c.Session < s.session || (s.wasFenced && c.Session <= s.fenced && fenceOldSessions):
		d.answerMirror(c.Ref, MirrorStale, "")
		return
	case c.SourceEpoch < s.adopted && s.mirroring && refuseLowerSourceEpoch && !c.Accept:
		d.diverged(c, fmt.Sprintf("the source is at epoch %d, but epoch %d was mirrored already: it was restored or is another cluster", c.SourceEpoch, s.adopted))
		return
	case c.SourceEpoch > s.epoch-epochStride && raiseEpochAboveSource:
		d.answerMirror(c.Ref, MirrorEpochTooLow, fmt.Sprintf("leader epoch %d must be raised above source epoch %d", s.epoch, c.SourceEpoch))
		return
	case c.KnowsLEO && (c.OfLEO != s.leo || c.OfEpoch != NewestEpoch(s.epochs)) && askAboutWholeLog:
		// The question was about less than we hold: what a follower had appended when it became the leader may
		// not have been on disk, so its view did not show it. This answer is late: the next question is about all.
		d.late(d.mirrorAnswer(c.Ref, MirrorAgain, ""))
		return
	case c.SourceStart > s.leo && followSourceStart:
		d.startOver(c)
		return
	}
	to, final := s.commonEnd(c)
	if !final {
		// The epoch it named is not in our log: ask again with ours. Nothing is cut on a guess.
		a := d.mirrorAnswer(c.Ref, MirrorAgain, "")
		a.LastEpoch = s.newestAtOrBelow(c.EndEpoch)
		d.late(a)
		return
	}
	if c.Differs && anotherRecordDiverges {
		if !c.FollowUnclean && !(c.Accept && operatorMayAccept) {
			d.diverged(c, fmt.Sprintf("the source has another record at %d under the same leader epoch %d: it was restored from an older copy, which counts its epochs again; ours is kept", to-1, c.EndEpoch))
			return
		}
		// Epochs that were counted twice do not say where the two histories part: nothing of ours is taken for common.
		to = s.logStart
	}
	if to >= s.leo {
		d.adoptNow(c, s.leo, false, "")
		return
	}
	to = s.whole(to)
	if why := s.refusesCut(c, to); why != "" {
		d.diverged(c, why)
		return
	}
	d.endAdoption()
	d.emit(AdoptionBegan{Adopt: c, To: to})
	if !quarantineBeforeTruncation || s.leo == s.logStart {
		d.cutAndAdopt()
		return
	}
	d.quarantine(c, to, fmt.Sprintf("source epoch %d: the source's log parts from ours here", c.SourceEpoch))
}

// quarantine asks for what will be cut to be saved (F43).
func (d *decision) quarantine(c AdoptSource, from core.Offset, reason string) {
	d.late(QuarantineRange{
		Session: c.Session, From: from, To: d.s.leo, Mirror: d.s.mirror, SourceEpoch: c.SourceEpoch, Epoch: d.s.epoch, Reason: reason,
	})
}

// startOver follows a source whose log begins above our end: retention or DeleteRecords there went further than
// we had read. What we hold lies behind a gap that nobody can fill, so it moves to quarantine; the data that
// follows is another incarnation (R2, F52).
func (d *decision) startOver(c AdoptSource) {
	s := &d.s
	d.endAdoption()
	d.emit(AdoptionBegan{Adopt: c, To: s.logStart})
	if s.leo == s.logStart {
		d.beginAt(c, s.leo)
		return
	}
	if !quarantineBeforeTruncation {
		d.cutAndAdopt()
		return
	}
	d.quarantine(c, s.logStart, gap(c, s.leo))
}

func gap(c AdoptSource, end core.Offset) string {
	return fmt.Sprintf("records %d to %d were deleted at the source before they were mirrored: its log begins at %d, ours ended at %d",
		end, c.SourceStart-1, c.SourceStart, end)
}

// beginAt puts an empty log, which ended at end, where the source's begins. A copy that never held anything
// loses nothing by it.
func (d *decision) beginAt(c AdoptSource, end core.Offset) {
	reset := ""
	if end > 0 {
		reset = gap(c, end)
	}
	d.emit(LogStartedAt{Start: c.SourceStart})
	d.advanceLogStart(c.SourceStart, ReasonReplicated) // the source had committed it: HW is not below the log start
	d.adoptNow(c, c.SourceStart, false, reset)
}

// commonEnd is where our log and the source's part, exclusive; final is false if the source must be asked
// once more.
func (s *State) commonEnd(c AdoptSource) (to core.Offset, final bool) {
	if s.leo == s.logStart {
		if s.lastEpoch() != core.NoEpoch && c.EndEpoch != core.NoEpoch {
			return min(s.leo, max(c.EndOffset, 0)), true // all of it was deleted, and the source may have lost the end since
		}
		return s.leo, true
	}
	if c.EndEpoch == core.NoEpoch || (len(s.epochs) > 0 && c.EndEpoch < s.epochs[0].Epoch) {
		return min(max(c.EndOffset, 0), s.logStart), true
	}
	if !knownEpoch(s.epochs, c.EndEpoch) && c.EndEpoch < s.lastEpoch() {
		return 0, false
	}
	_, end := endOf(s.epochs, s.leo, c.EndEpoch)
	return min(end, max(c.EndOffset, 0)), true
}

// NewestEpoch is the last epoch of a history, NoEpoch of an empty one.
func NewestEpoch(epochs []EpochStart) core.LeaderEpoch {
	if len(epochs) == 0 {
		return core.NoEpoch
	}
	return epochs[len(epochs)-1].Epoch
}

func (s *State) newestAtOrBelow(epoch core.LeaderEpoch) core.LeaderEpoch {
	found := core.NoEpoch
	for _, e := range s.epochs {
		if e.Epoch <= epoch {
			found = e.Epoch
		}
	}
	return found
}

// refusesCut says why R11 forbids a cut to to, or "". A source that lost committed data, noticed or not,
// must not make us destroy the last copy; one that only had a clean election must not stop us.
func (s *State) refusesCut(c AdoptSource, to core.Offset) string {
	if c.FollowUnclean || c.Accept && operatorMayAccept {
		return ""
	}
	if s.mirroring && c.SourceEpoch == s.adopted && anEpochNeverShrinks {
		// A leader's log does not shrink within its epoch, and every restart is a new one (R12): this is an older
		// copy of the source, which counts its epochs again.
		return fmt.Sprintf("the source's log ends at %d in epoch %d, in which we mirrored up to %d: it was restored from an older copy; ours is kept", to, c.SourceEpoch, s.leo)
	}
	h, r := s.trackedHW(), s.highestFloor()
	if to < h && keepBelowSourceHW {
		return fmt.Sprintf("the source ends the common history at %d, but it had committed up to %d: it lost data; ours is kept", to, h)
	}
	if !keepBelowFloorUnlessClean {
		return ""
	}
	clean := c.Stated && c.LastUnclean <= s.adopted && followCleanLineage
	if c.Stated && !clean && to < r {
		return fmt.Sprintf("the source had an unclean election in epoch %d and ends the common history at %d, below the floor %d we stated; ours is kept", c.LastUnclean, to, r)
	}
	return ""
}

// quarantined goes on when what will be cut is safe (F43).
func (d *decision) quarantined(c Quarantined) {
	s := &d.s
	if !s.leading() || !s.adopting.on || s.adopting.adopt.Session != c.Session ||
		s.adopting.to != c.From || s.leo != c.To {
		return
	}
	d.cutAndAdopt()
}

// unsaved gives a cut up: the disk would not take the copy. Whoever asked asks again.
func (d *decision) unsaved(c QuarantineFailed) {
	if a := d.s.adopting; a.on && a.adopt.Session == c.Session && a.to == c.From && d.s.leo == c.To {
		d.emit(AdoptionEnded{})
		d.answerMirror(a.adopt.Ref, MirrorUnsaved, fmt.Sprintf("records %d to %d must be cut and could not be saved first: %s", c.From, c.To-1, c.Text))
	}
}

// endAdoption answers whoever asked for a cut that a change of seat or session forgets: unanswered, the
// fetcher would wait for ever.
func (d *decision) endAdoption() {
	if a := d.s.adopting; a.on && answerForgottenCuts {
		d.emit(AdoptionEnded{})
		d.answerMirror(a.adopt.Ref, MirrorStale, "")
	}
}

func (d *decision) cutAndAdopt() {
	s := &d.s
	c, to := s.adopting.adopt, s.adopting.to
	below := to < s.highestFloor()
	rearm := below && !(c.Stated && c.LastUnclean <= s.adopted)
	end, over := s.leo, c.SourceStart > s.leo && followSourceStart
	d.truncate(LogTruncated{From: s.leo, To: to, SourceEpoch: c.SourceEpoch, BelowFloor: below, WallMs: d.now.Wall})
	if over {
		d.beginAt(c, end)
		return
	}
	d.adoptNow(c, to, rearm, "")
}

// adoptNow begins a mirror term. Every follower is sent to align again: until it has, its LEO may count
// records we have just cut (R4, F05).
func (d *decision) adoptNow(c AdoptSource, leo core.Offset, rearm bool, reset string) {
	s := &d.s
	cut := s.adopting.on
	same := c.SourceEpoch == s.adopted && c.SourceIncarnation == s.adoptedOf
	if s.current && same && c.Session == s.session && !cut {
		d.answerMirror(c.Ref, MirrorOK, "") // asked twice
		return
	}
	if !same || !s.mirroring {
		d.emit(SourceEpochAdopted{SourceEpoch: c.SourceEpoch, LEO: leo, Incarnation: c.SourceIncarnation})
	}
	if c.SourceStart > s.hw && c.SourceStart > s.logStart && c.SourceStart <= s.leo && dropWhatNobodyCompared {
		// What the source deleted could not be compared. It had committed records there, and ours may be others, which an
		// election had cut at the source: HW must not come to cover them.
		d.advanceLogStart(c.SourceStart, ReasonReplicated)
	}
	d.emit(TermBegan{Term: s.term + 1, Session: c.Session, Epoch: c.SourceEpoch, LEO: leo, Cut: cut})
	d.tell(highwater.SourceAdopted{Term: s.term, SourceEpoch: c.SourceEpoch, SourceIncarnation: c.SourceIncarnation, LEO: leo, Truncated: cut})
	d.realign()
	d.report()
	d.publish()
	if cut {
		d.wake()
	}
	a := d.mirrorAnswer(c.Ref, MirrorOK, "")
	a.BelowFloor = rearm
	switch {
	case reset != "":
		a.Reset, a.Text = true, reset
	case rearm:
		a.Text = fmt.Sprintf("cut to %d, below a floor we had stated", leo)
	}
	d.late(a)
}

func (d *decision) realign() {
	s := &d.s
	if !realignFollowersEachTerm {
		return
	}
	for _, f := range s.followers {
		d.alignFollower(f.ID, s.lastEpoch(), s.leo)
	}
}

func (d *decision) diverged(c AdoptSource, why string) {
	d.emit(Troubled{Text: "DIVERGED: " + why})
	d.publish()
	d.answerMirror(c.Ref, MirrorDiverged, why)
}
