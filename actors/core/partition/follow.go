package partition

import (
	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// joinLeader asks the leader whether our log is a prefix of its own.
func (d *decision) joinLeader() {
	s := &d.s
	if s.seat != seatFollower || s.leader == core.NoReplica {
		return
	}
	d.emit(Looked{At: d.now.Mono})
	d.early(TellReplica{To: s.leader, Command: JoinLeader{
		From: s.self, Epoch: s.epoch, LastEpoch: s.lastEpoch(), LEO: s.leo,
	}})
	d.early(ArmTimer{At: d.now.Mono + joinEvery})
}

func (d *decision) obeys(from core.ReplicaID, epoch core.LeaderEpoch) bool {
	return d.s.seat == seatFollower && d.s.leader == from && d.s.epoch == epoch
}

// alignTo cuts to the end of the newest epoch that both logs know, durably, and asks again. It also
// arrives when the leader itself truncated: until it is done, our LEO means other bytes (R4, F05).
func (d *decision) alignTo(c AlignTo) {
	s := &d.s
	if !d.obeys(c.From, c.Epoch) {
		return
	}
	if s.joined {
		d.emit(Left{})
	}
	to := c.EndOffset
	if c.EndEpoch == core.NoEpoch {
		to = min(to, s.logStart)
	} else if _, local := endOf(s.epochs, s.leo, c.EndEpoch); local < to {
		to = local
	}
	if to = s.whole(to); to < s.leo {
		d.truncate(LogTruncated{From: s.leo, To: max(to, 0), SourceEpoch: core.NoEpoch, WallMs: d.now.Wall})
		d.publish()
		d.wake()
	}
	d.joinLeader()
}

// truncate records the cut and drops what it invalidates.
func (d *decision) truncate(cut LogTruncated) {
	d.emit(cut)
	d.early(DropCache{From: cut.To})
}

// aligned is the leader's word that our log is a prefix of its own in Term.
func (d *decision) aligned(c Aligned) {
	s := &d.s
	if !d.obeys(c.From, c.Epoch) {
		return
	}
	resumed := s.joined && c.Term == s.term
	if !resumed && (c.LEO != s.leo || c.LastEpoch != s.lastEpoch()) {
		return // about a log we no longer have: the newest JoinLeader is answered too
	}
	if s.leo < c.LogStart {
		d.beginAnew(c.LogStart)
	}
	d.emit(Joined{Term: c.Term, Tail: c.Tail, Adopted: c.Adopted})
	if standAsTheLeader {
		d.standUnder(c.Under, c.AdoptedIncarnation)
	}
	d.noteSource(c.Adopted, c.AdoptedIncarnation, core.Unknown)
	d.learn(c.HW)
	if d.followStart(c.LogStart) {
		d.publish()
	}
	d.report()
	d.readOn()
}

// replicate appends what the leader pushed or what was read from its journal. Pushed batches wait in the
// stash while the journal is being read up to them.
func (d *decision) replicate(c Replicate) {
	s := &d.s
	if !d.obeys(c.From, c.Epoch) {
		return
	}
	if !s.joined || c.Term != s.term {
		if !alignBeforeHW && d.learn(c.HW) {
			d.publish()
		}
		return
	}
	if c.LogStart > s.leo && followLogStart {
		// The leader deleted what we were still reading: there is nothing left to read it from.
		d.emit(Left{})
		d.beginAnew(c.LogStart)
		d.publish()
		d.wake()
		d.joinLeader()
		return
	}
	var ahead []batch.Batch
	grown := false
	for _, b := range c.Batches {
		base := core.Offset(b.BaseOffset)
		switch {
		case base == s.leo:
			d.append(b)
			grown = true
		case s.beginsInside(b):
			d.beginWith(b)
			grown = true
		case base < s.leo && core.Offset(b.LastOffset()) >= s.leo && b.IsNothing():
			rest, _ := b.From(int64(s.leo)) // the leader has put together what was empty, around our end
			d.append(rest)
			grown = true
		case base < s.leo:
			// Already here: a catch-up that was asked for twice.
		case s.leo < s.tail && s.stashBytes <= pushCredit:
			ahead = append(ahead, b)
		default:
			d.emit(Left{}) // a gap nobody will fill
			d.joinLeader()
			return
		}
	}
	if len(ahead) > 0 {
		d.emit(BatchesStashed{Batches: ahead})
	}
	grown = d.drainStash() || grown
	d.noteSource(c.Adopted, c.AdoptedIncarnation, c.SourceHW)
	moved := d.learn(c.HW)
	moved = d.followStart(c.LogStart) || moved
	moved = d.followForgetting(c.Forgotten) || moved
	if grown {
		d.report()
	}
	if grown || moved {
		d.publish()
		d.wake()
	}
	if grown {
		d.readOn()
	}
}

// drainStash appends stashed batches that the log has reached.
func (d *decision) drainStash() (grown bool) {
	s := &d.s
	for _, b := range s.stash {
		if core.Offset(b.BaseOffset) == s.leo {
			d.append(b)
			grown = true
		}
	}
	if len(s.stash) > 0 && s.leo >= s.tail {
		d.emit(StashDrained{From: s.leo})
	}
	return grown
}

func (s *State) drain(from core.Offset) {
	var left []batch.Batch
	s.stashBytes = 0
	for _, b := range s.stash {
		if core.Offset(b.BaseOffset) >= from {
			left = append(left, b)
			s.stashBytes += int64(len(b.Bytes))
		}
	}
	s.stash = left
}

// readOn asks for the leader's journal while the log ends below what is pushed.
func (d *decision) readOn() {
	s := &d.s
	if s.seat != seatFollower || !s.joined || s.leo >= s.tail {
		return
	}
	d.emit(Looked{At: d.now.Mono})
	d.early(ReadLeaderLog{Leader: s.leader, Epoch: s.epoch, Term: s.term, From: s.leo})
	d.early(ArmTimer{At: d.now.Mono + readEvery})
}

// learn takes over the leader's HW, as far as our own log reaches.
func (d *decision) learn(hw core.Offset) bool {
	if hw = min(hw, d.s.leo); hw <= d.s.hw {
		return false
	}
	d.emit(HighWatermarkLearned{HW: hw})
	return true
}

// standUnder takes over what the leader's log stands under, which ours is a prefix of now. It may be a lower epoch than ours:
// the cut that came with ours was durable here and not at the leader. What we take from it then was not mirrored under our
// epoch, and under that name it would be held against a source that has it cut.
func (d *decision) standUnder(epoch core.LeaderEpoch, of core.Incarnation) {
	s := &d.s
	if epoch != core.NoEpoch && (epoch != s.adopted || of != s.adoptedOf) {
		d.emit(SourceEpochAdopted{SourceEpoch: epoch, LEO: s.leo, Incarnation: of})
	}
}

// noteSource keeps on a follower what R11 will need if it becomes the leader: the adopted epoch, and how
// far the source had committed. Another incarnation of the source may have counted the same epoch, or a lower one that an
// operator accepted.
func (d *decision) noteSource(adopted core.LeaderEpoch, of core.Incarnation, hw core.Offset) {
	s := &d.s
	d.standUnder(adopted, of)
	if hw != core.Unknown && hw > s.sourceHW && adopted != core.NoEpoch {
		d.emit(SourceHighWatermarkTracked{HW: hw})
	}
}

// tick lets a follower ask again when nobody answered.
func (d *decision) tick() {
	s := &d.s
	if s.seat != seatFollower || s.leader == core.NoReplica {
		return
	}
	switch {
	case !s.joined && d.now.Mono-s.lookedAt >= joinEvery:
		d.joinLeader()
	case s.joined && s.leo < s.tail && d.now.Mono-s.lookedAt >= readEvery:
		d.readOn()
	}
}
