package partition

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
)

// Apply is total: what happened has happened.
func Apply(s *State, ev Event) {
	switch e := ev.(type) {
	case BatchAppended:
		s.appended(e)
	case BatchCleaned:
		s.cleanedBatch(e)
	case LogCleaned:
		s.cleaned, s.horizon = max(s.cleaned, e.To), e.Horizon
		s.cleaning = cleaning{}
	case CleaningBegan:
		s.cleaning = cleaning{pass: e.Pass, limit: e.Limit}
	case LogTruncated:
		s.truncated(e.To)
	case LeaderEpochBegan:
		s.led = max(s.led, e.Epoch)
	case SourceEpochAdopted:
		s.adopted, s.adoptedOf, s.mirroring = e.SourceEpoch, e.Incarnation, true
	case SourceHighWatermarkTracked:
		s.sourceHW = max(s.sourceHW, e.HW)
	case MirroringFenced:
		s.fenced, s.mirroring, s.wasFenced = max(s.fenced, e.Session), false, true
		s.lme, s.fencedLEO = e.LME, e.LEO
		s.current, s.adopting = false, adoption{}
	case LogStartedAt:
		s.startedAt(e.Start)
	case LogStartAdvanced:
		s.startAdvanced(e.To)
	case ProducersForgotten:
		s.forgetBelow(e.Before)
	case Led:
		s.take(e.Lead)
	case LeadUpdated:
		s.updateLead(e.Lead)
	case Followed:
		s.follow(e.Follow)
	case FollowerAligned:
		s.setFollower(follower{ID: e.Follower, Aligned: true, Pushing: true})
	case BatchPushed:
		s.pushed(e)
	case FollowerReported:
		s.credited(e)
	case Joined:
		s.joined, s.term, s.tail = true, e.Term, e.Tail
		s.stash, s.stashBytes = nil, 0
	case Left:
		s.joined = false
		s.stash, s.stashBytes = nil, 0
	case BatchesStashed:
		s.stash = append(s.stash[:len(s.stash):len(s.stash)], e.Batches...)
		for _, b := range e.Batches {
			s.stashBytes += int64(len(b.Bytes))
		}
	case StashDrained:
		s.drain(e.From)
	case HighWatermarkLearned:
		s.hw = max(s.hw, min(e.HW, s.leo))
	case HighWatermarkShown:
		s.shown = max(s.shown, min(e.HW, s.leo))
	case ProduceParked:
		if s.waits != nil {
			s.waits[e.Ref] = e.Wait
		}
	case WaitsEnded:
		for _, ref := range e.Refs {
			delete(s.waits, ref)
		}
	case AdmissionLearned:
		a := e.Admission
		s.admission = admission{known: true, code: a.Code, text: a.Text, gated: a.Gated, closed: a.Closed, r: a.R, h: a.H}
	case FetchParked:
		if s.parked != nil {
			s.parked[e.Fetch.Ref] = e.Fetch
		}
	case FetchesWoken:
		for _, ref := range e.Refs {
			delete(s.parked, ref)
		}
	case AdoptionBegan:
		s.adopting, s.current = adoption{on: true, adopt: e.Adopt, to: e.To}, false
	case AdoptionEnded:
		s.adopting = adoption{}
	case TermBegan:
		s.beginTerm(e)
	case SourceHeard:
		s.heardHW, s.heardStart, s.heardForgotten = max(s.heardHW, e.HW), max(s.heardStart, e.LogStart), max(s.heardForgotten, e.Forgotten)
	case Troubled:
		s.trouble = e.Text
	case Looked:
		s.lookedAt = e.At
	default:
		panic(fmt.Sprintf("partition: unknown event %T", ev))
	}
}

func (s *State) appended(e BatchAppended) {
	b := e.Batch
	base := core.Offset(b.BaseOffset)
	s.leo = core.Offset(b.LastOffset()) + 1
	s.note = max(s.note, e.Note)
	s.hw = max(s.hw, min(e.Note, s.leo))
	s.noteEpoch(core.LeaderEpoch(b.LeaderEpoch), base)
	s.noteProducer(b)
	s.noteReset(b)
	s.txns = s.txns.after(b, s.note)
	s.noteEmpty(b)
}

func (s *State) truncated(to core.Offset) {
	s.leo = min(s.leo, to)
	s.logStart = min(s.logStart, s.leo)
	s.note, s.hw, s.shown = min(s.note, to), min(s.hw, to), min(s.shown, to)
	s.sourceHW, s.heardHW = min(s.sourceHW, to), min(s.heardHW, to)
	s.floorMark = min(s.floorMark, to)
	s.admission.r, s.admission.h = min(s.admission.r, to), min(s.admission.h, to)
	s.epochStart = min(s.epochStart, to)
	s.cutEpochs(to)
	s.cutCleaned(to)
	s.cutProducers(to)
	if transactionsFollowTheLog {
		s.txns = s.txns.cut(to)
	}
}

func (s *State) take(c Lead) {
	hw, waits, parked := s.hw, s.waits, s.parked
	shown := core.Offset(0)
	if s.leading() {
		shown = s.readable()
	}
	s.soft = emptySeat()
	s.waits, s.parked = waits, parked
	s.seat, s.leader, s.epoch, s.epochStart = seatLeader, s.self, c.Epoch, s.leo
	s.hw = max(hw, min(s.note, s.leo))
	s.shown = max(shown, min(s.note, s.leo))
	s.floorMark = s.leo
	s.updateLead(c)
	s.followers = nil
	for _, r := range c.Replicas {
		if r != s.self {
			s.followers = append(s.followers, follower{ID: r})
		}
	}
}

func (s *State) updateLead(c Lead) {
	if c.Session > s.session || c.Role != Mirroring {
		s.current, s.adopting = false, adoption{}
	}
	if s.leading() {
		s.shown = s.readable()
	}
	s.role, s.mirror, s.session = c.Role, c.Mirror, max(s.session, c.Session)
	s.fence, s.opening = c.Fence, c.Opening
	for _, r := range c.Replicas {
		if _, known := s.follower(r); !known && r != s.self {
			s.followers = append(s.followers[:len(s.followers):len(s.followers)], follower{ID: r})
		}
	}
}

func (s *State) follow(c Follow) {
	hw, waits, parked := s.hw, s.waits, s.parked
	s.soft = emptySeat()
	s.waits, s.parked = waits, parked
	s.seat, s.leader, s.epoch = seatFollower, c.Leader, c.Epoch
	s.hw = max(hw, min(s.note, s.leo))
}

func (s *State) beginTerm(e TermBegan) {
	s.term, s.session, s.current, s.adopting = e.Term, e.Session, true, adoption{}
	s.trouble, s.heardStart, s.heardForgotten = "", 0, 0
	if !realignFollowersEachTerm {
		return
	}
	followers := slices.Clone(s.followers)
	for i := range followers {
		followers[i] = follower{ID: followers[i].ID}
	}
	s.followers = followers
}
