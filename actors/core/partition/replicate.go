package partition

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// join answers a follower: either its log is a prefix of ours, then it is pushed to from now on (and
// reads our journal for what lies between), or it must cut first (D7).
func (d *decision) join(c JoinLeader) {
	s := &d.s
	if !s.leading() || c.Epoch != s.epoch {
		return
	}
	if _, known := s.follower(c.From); !known {
		return
	}
	epoch, end := core.NoEpoch, s.leo
	if c.LastEpoch != core.NoEpoch {
		epoch, end = endOf(s.epochs, s.leo, c.LastEpoch)
	}
	if c.LEO > s.logStart && (epoch != c.LastEpoch || end < c.LEO) {
		d.alignFollower(c.From, epoch, end)
		return
	}
	d.startPushing(c)
}

// alignFollower has a follower cut to end, where epoch ends here. At our log start nothing is common that is not deleted: the
// epoch may have ended below, and records may be deleted up to the middle of a batch of the follower's, where no log can be
// cut. Then it gives up all it has and begins anew.
func (d *decision) alignFollower(id core.ReplicaID, epoch core.LeaderEpoch, end core.Offset) {
	s := &d.s
	if end <= s.logStart && anewWhereNothingIsCommon {
		epoch, end = core.NoEpoch, s.logStart
	}
	d.early(TellReplica{To: id, Command: AlignTo{From: s.self, Epoch: s.epoch, Term: s.term, EndEpoch: epoch, EndOffset: end}})
}

// startPushing opens the push to an aligned follower at our end.
func (d *decision) startPushing(c JoinLeader) {
	s := &d.s
	d.emit(FollowerAligned{Follower: c.From, LEO: c.LEO})
	d.early(TellReplica{To: c.From, Command: Aligned{
		From: s.self, Epoch: s.epoch, Term: s.term, LastEpoch: c.LastEpoch, LEO: c.LEO,
		Behind: c.LEO < s.leo, Tail: s.leo, HW: s.hw, Adopted: s.adoptedHere(), Under: s.under(), AdoptedIncarnation: s.adoptedOf, LogStart: s.logStart,
	}})
}

// adoptedHere is the source epoch followers may take this log to stand under.
func (s *State) adoptedHere() core.LeaderEpoch {
	if s.role == Mirroring && s.current {
		return s.adopted
	}
	return core.NoEpoch
}

// under is the source epoch this log stands under, adopted in this term or in one before.
func (s *State) under() core.LeaderEpoch {
	if s.role == Mirroring && s.mirroring {
		return s.adopted
	}
	return core.NoEpoch
}

// push sends a batch to every follower that has credit. One that has none is left behind and catches up
// from our journal: memory held for a slow follower is bounded (D7).
func (d *decision) push(b batch.Batch) {
	for _, f := range d.s.followers {
		if !f.Aligned || !f.Pushing {
			continue
		}
		if f.Bytes >= pushCredit {
			d.emit(BatchPushed{Follower: f.ID, Stopped: true})
			continue
		}
		d.emit(BatchPushed{Follower: f.ID, Last: core.Offset(b.LastOffset()), Bytes: int64(len(b.Bytes))})
		d.early(TellReplica{To: f.ID, Command: d.s.replication([]batch.Batch{b})})
	}
}

// pushHighWatermark lets followers show what is committed; they note it with the next batch.
func (d *decision) pushHighWatermark() {
	for _, f := range d.s.followers {
		if f.Aligned {
			d.early(TellReplica{To: f.ID, Command: d.s.replication(nil)})
		}
	}
}

func (s *State) replication(batches []batch.Batch) Replicate {
	return Replicate{
		From: s.self, Epoch: s.epoch, Term: s.term, Batches: batches, HW: s.hw, LogStart: s.logStart,
		Adopted: s.adoptedHere(), AdoptedIncarnation: s.adoptedOf, SourceHW: s.trackedHW(),
		Forgotten: s.forgotten,
	}
}

// replicaReported gives credit back, and resumes the push once half of it is free.
func (d *decision) replicaReported(c ReplicaReported) {
	s := &d.s
	f, known := s.follower(c.Replica)
	if !s.leading() || c.Epoch != s.epoch || c.Term != s.term || !known || !f.Aligned {
		return
	}
	d.emit(FollowerReported{Follower: c.Replica, LEO: c.LEO})
	if f, _ = d.s.follower(c.Replica); !f.Pushing && f.Bytes <= pushCredit/2 {
		d.startPushing(JoinLeader{From: c.Replica, Epoch: c.Epoch, LastEpoch: core.NoEpoch, LEO: c.LEO})
	}
}

func (s *State) setFollower(f follower) {
	if s.draft {
		s.followers = slices.Clone(s.followers)
	}
	for i := range s.followers {
		if s.followers[i].ID == f.ID {
			s.followers[i] = f
		}
	}
}

// pushed may write behind the end of Flights in a draft: the state does not see it, and writes the same there
// when the event is its own.
func (s *State) pushed(e BatchPushed) {
	f, _ := s.follower(e.Follower)
	if e.Stopped {
		f.Pushing = false
	} else {
		f.Flights = append(f.Flights, flight{Last: e.Last, Bytes: e.Bytes})
		f.Bytes += e.Bytes
	}
	s.setFollower(f)
}

func (s *State) credited(e FollowerReported) {
	f, _ := s.follower(e.Follower)
	n := 0
	for n < len(f.Flights) && f.Flights[n].Last < e.LEO {
		f.Bytes -= f.Flights[n].Bytes
		n++
	}
	f.Flights = f.Flights[n:]
	s.setFollower(f)
}
