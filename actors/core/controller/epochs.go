package controller

import (
	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// raiseEpoch gives the leader a newer epoch without an election: after an in-place restart (R12), and
// to keep a destination above the epochs of its source (D23).
func (s *State) raiseEpoch(c RaiseEpoch) outcome {
	_, p, known := s.partition(c.ID)
	if !known {
		return reply(outcome{}, EpochRaised{Ref: c.Ref, Code: perr.UnknownTopicOrPartition, Epoch: core.NoEpoch})
	}
	epoch := max(c.Min, p.LeaderEpoch)
	if c.Bump && bumpOnInPlaceRestart {
		epoch = max(epoch, p.LeaderEpoch+1)
	}
	if epoch == p.LeaderEpoch {
		// Told again: the asker may have lost the fact that answered it the first time.
		return reply(publish(outcome{}, s.fact(p)), EpochRaised{Ref: c.Ref, Epoch: epoch})
	}
	p.LeaderEpoch = epoch
	p.PartitionEpoch++
	ev := PartitionChanged{Partition: p}
	return reply(publish(outcome{Events: []Event{ev}}, s.fact(p)), EpochRaised{Ref: c.Ref, Epoch: epoch})
}
