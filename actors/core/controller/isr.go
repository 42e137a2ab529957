package controller

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

// changeISR commits a leader's proposal. The partition epoch fences it: between the proposal and now
// there may have been an election, or a fenced broker removed, that the leader has not seen.
func (s *State) changeISR(c ChangeISR) outcome {
	_, p, known := s.partition(c.ID)
	switch {
	case !known:
		return outcome{} // deleted in between; TopicGone is on its way to the leader
	case !s.proposable(p, c):
		out := publish(outcome{}, s.fact(p))
		return reply(out, ISRRefused{ID: c.ID, Leader: c.Leader, PartitionEpoch: c.PartitionEpoch})
	}
	p.ISR = slices.Clone(c.ISR)
	slices.Sort(p.ISR)
	// A leader takes a replica in only when its durable log reaches the leader's: it is refilled.
	refilled := filter(p.Lossy, func(id core.ReplicaID) bool { return slices.Contains(c.ISR, id) })
	p.Lossy = filter(p.Lossy, func(id core.ReplicaID) bool { return !slices.Contains(c.ISR, id) })
	p.PartitionEpoch++
	facts := append([]image.Fact{s.fact(p)}, s.whole(refilled, func(o PartitionRecord) bool { return o.Topic != p.Topic || o.Index != p.Index })...)
	return s.handOver(publish(outcome{Events: []Event{PartitionChanged{Partition: p}}}, facts...), p)
}

func (s *State) proposable(p PartitionRecord, c ChangeISR) bool {
	if p.Leader == core.NoReplica || c.Leader != p.Leader || c.Epoch != p.LeaderEpoch {
		return false
	}
	if fencePartitionEpoch && c.PartitionEpoch != p.PartitionEpoch {
		return false
	}
	for i, id := range c.ISR {
		if !slices.Contains(p.Replicas, id) || !s.brokers[id].Live || slices.Contains(c.ISR[:i], id) {
			return false
		}
	}
	return slices.Contains(c.ISR, c.Leader)
}
