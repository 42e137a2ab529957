package controller

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// electPreferred hands a partition to its first replica, if that one is in sync and up: elections leave a leader that may
// stay, so leaders never return by themselves to a broker that was stopped. It is a clean election: what HW has passed is
// on every member of the ISR, and what it has not is cut as after any other.
func (s *State) electPreferred(c ElectPreferred) outcome {
	done := Done{Ref: c.Ref}
	t, p, known := s.partition(c.ID)
	if !known {
		done.Code, done.Text = perr.UnknownTopicOrPartition, "there is no such partition; kafka-topics.sh --describe shows those there are"
		return reply(outcome{}, done)
	}
	e := s.electorate(c.Logs)
	preferred := p.Replicas[0]
	switch {
	case p.Leader == preferred:
		done.Code, done.Text = perr.ElectionNotNeeded, fmt.Sprintf("%s/%d is led by broker %d, its preferred leader", t.name, p.Index, preferred)
	case !electable(p, e, preferred):
		done.Code, done.Text = perr.PreferredLeaderNotAvailable, fmt.Sprintf("%s/%d: broker %d is down, or has lost records; run clusterctl brokers start %d", t.name, p.Index, preferred, preferred)
	case !slices.Contains(p.ISR, preferred):
		done.Code, done.Text = perr.PreferredLeaderNotAvailable, fmt.Sprintf("%s/%d: broker %d is not in sync yet; ask again when kafka-topics.sh --describe shows it in the ISR", t.name, p.Index, preferred)
	}
	if done.Code != perr.None {
		return reply(outcome{}, done)
	}
	next := p
	next.Leader, next.Text = preferred, ""
	next.LeaderEpoch, next.PartitionEpoch = newestEpoch(p, e)+1, p.PartitionEpoch+1
	done.Text = fmt.Sprintf("%s/%d is led by broker %d in epoch %d", t.name, p.Index, preferred, next.LeaderEpoch)
	return reply(publish(outcome{Events: []Event{PartitionChanged{Partition: next}}}, s.fact(next)), done)
}

// ElectPreferred lets the first replica of a partition lead it. Logs are the ends of all replicas. Answered with Done:
// ElectionNotNeeded where it leads already, PreferredLeaderNotAvailable where it may not.
type ElectPreferred struct {
	Ref  core.RequestID
	ID   core.PartitionID
	Logs []ReplicaLog
}

func (ElectPreferred) isCommand() {}
