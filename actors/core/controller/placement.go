package controller

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// problem is a refusal on its way into an answer; Code 0 is none.
type problem struct {
	Code perr.Code
	Text string
}

// Limits on one topic: a request that names more would make one journal entry of unbounded size.
const maxPartitions = 10_000

// place chooses replicas for a new topic: as asked, or spread.
func (s *State) place(c CreateTopic) ([][]core.ReplicaID, problem) {
	if c.Assignment != nil {
		return s.assigned(c)
	}
	n := int32(len(s.brokers))
	partitions, rf := c.Partitions, int32(c.Replication)
	if partitions == -1 {
		partitions = max(1, s.defaults.Partitions)
	}
	if rf == -1 || c.Mirrored {
		rf = min(3, n)
		if d := int32(s.defaults.Replication); d > 0 && !c.Mirrored {
			rf = d
		}
	}
	switch {
	case partitions <= 0:
		return nil, problem{perr.InvalidPartitions, fmt.Sprintf("topic %s: %d partitions; ask for 1 or more, or -1 for the default", c.Name, partitions)}
	case partitions > maxPartitions:
		return nil, problem{perr.PolicyViolation, fmt.Sprintf("topic %s: %d partitions; %d is the most for one topic", c.Name, partitions, maxPartitions)}
	case rf <= 0:
		return nil, problem{perr.InvalidReplicationFactor, fmt.Sprintf("topic %s: replication factor %d; ask for 1 or more, or -1 for the default", c.Name, rf)}
	case rf > n:
		return nil, problem{perr.InvalidReplicationFactor, fmt.Sprintf("topic %s: replication factor %d is larger than the number of brokers, %d; ask for %d or less, or start with more --data-dir", c.Name, rf, n, n)}
	}
	return s.spread(int(partitions), int(rf)), problem{}
}

// spread is Kafka's striping: leaders go round the live brokers, and the distance to the followers
// grows by one with every round, so that the load of a stopped broker spreads over all others. Fenced
// brokers take replicas (they will be back) but never the first place.
func (s *State) spread(partitions, rf int) [][]core.ReplicaID {
	ids := s.brokerIDs()
	live := filter(ids, func(id core.ReplicaID) bool { return s.brokers[id].Live })
	if len(live) == 0 {
		live = ids
	}
	out := make([][]core.ReplicaID, partitions)
	for p := range out {
		at := int(s.placed%int64(len(live))) + p
		leader := live[at%len(live)]
		shift := at / len(live)
		others := without(ids, leader)
		first := slices.IndexFunc(others, func(id core.ReplicaID) bool { return id > leader })
		replicas := []core.ReplicaID{leader}
		for j := range rf - 1 {
			replicas = append(replicas, others[(max(0, first)+shift+j)%len(others)])
		}
		out[p] = replicas
	}
	return out
}

func (s *State) assigned(c CreateTopic) ([][]core.ReplicaID, problem) {
	bad := func(format string, args ...any) ([][]core.ReplicaID, problem) {
		return nil, problem{perr.InvalidReplicaAssignment, "topic " + c.Name + ": " + fmt.Sprintf(format, args...)}
	}
	if c.Partitions != -1 || c.Replication != -1 {
		return nil, problem{perr.InvalidRequest, fmt.Sprintf("topic %s: give either an assignment or numbers; with an assignment both numbers must be -1", c.Name)}
	}
	if len(c.Assignment) == 0 {
		return nil, problem{perr.InvalidPartitions, fmt.Sprintf("topic %s: the assignment names no partition", c.Name)}
	}
	out := make([][]core.ReplicaID, len(c.Assignment))
	for i := range out {
		replicas, given := c.Assignment[int32(i)]
		switch {
		case !given:
			return bad("partitions must be numbered 0 to %d without a gap; %d is missing", len(out)-1, i)
		case len(replicas) == 0:
			return bad("partition %d has no replica", i)
		case len(replicas) != len(c.Assignment[0]):
			return bad("partition %d has %d replicas, partition 0 has %d; all need the same number", i, len(replicas), len(c.Assignment[0]))
		}
		for j, id := range replicas {
			if _, known := s.brokers[id]; !known {
				return bad("partition %d names broker %d; this cluster has %v", i, id, s.brokerIDs())
			}
			if slices.Contains(replicas[:j], id) {
				return bad("partition %d names broker %d twice", i, id)
			}
		}
		out[i] = slices.Clone(replicas)
	}
	return out, problem{}
}
