package controller

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// acceptLoss elects the longest of the LOSSY replicas that are up. It raises lastUncleanEpoch, so that mirrors which
// hold more than it keep what they have and ask their operator (R11, R12). Where an intact replica could lead, now or
// once its broker is started, there is no loss to accept.
func (s *State) acceptLoss(c AcceptLoss) outcome {
	done := Done{Ref: c.Ref}
	t, p, known := s.partition(c.ID)
	if !known {
		done.Code, done.Text = perr.UnknownTopicOrPartition, "there is no such partition; kafka-topics.sh --describe shows those there are"
		return reply(outcome{}, done)
	}
	whole := filter(p.ISR, func(id core.ReplicaID) bool { return !slices.Contains(p.Lossy, id) })
	e := s.electorate(c.Logs)
	next := p
	next.Lossy = nil
	leader := longest(next, e, p.Replicas)
	switch {
	case p.Leader != core.NoReplica:
		done.Code, done.Text = perr.ElectionNotNeeded, fmt.Sprintf("%s/%d is led by broker %d", t.name, p.Index, p.Leader)
	case len(whole) > 0 && acceptOnlyLoss:
		done.Code, done.Text = perr.EligibleLeadersNotAvailable, fmt.Sprintf("%s/%d: %s holds every acknowledged record; run clusterctl brokers start %d", t.name, p.Index, brokers(whole), whole[0])
	case leader == core.NoReplica:
		done.Code, done.Text = perr.EligibleLeadersNotAvailable, fmt.Sprintf("%s/%d: no replica is up; run clusterctl brokers start for one of %s", t.name, p.Index, brokers(p.Replicas))
	}
	if done.Code != perr.None {
		return reply(outcome{}, done)
	}
	next.Leader, next.ISR, next.Text = leader, []core.ReplicaID{leader}, ""
	next.Lossy = slices.DeleteFunc(slices.Clone(p.Lossy), func(id core.ReplicaID) bool { return id == leader })
	next.LeaderEpoch, next.PartitionEpoch = newestEpoch(p, e)+1, p.PartitionEpoch+1
	if stateUncleanElection {
		next.LastUnclean = next.LeaderEpoch
	}
	done.Text = fmt.Sprintf("%s/%d is led by broker %d in epoch %d", t.name, p.Index, leader, next.LeaderEpoch)
	ev := PartitionChanged{Partition: next}
	elsewhere := func(o PartitionRecord) bool { return o.Topic != p.Topic || o.Index != p.Index }
	facts := append([]image.Fact{s.fact(next)}, s.whole([]core.ReplicaID{leader}, elsewhere)...)
	return reply(publish(outcome{Events: []Event{ev}}, facts...), done)
}
