package controller

import (
	"bytes"
	"maps"
	"slices"

	"lockstep/actors/core"
)

// A topic is deleted in the journal first and on the volumes afterwards; a crash, or a broker that is
// stopped meanwhile, leaves logs behind. They are dropped when they are seen again. Logs of topics
// nobody has heard of are left alone: the control stream may be the one that is too old.

// dropLeftovers asks for what is left of deleted topics in logs.
func (s *State) dropLeftovers(out outcome, logs []ReplicaLog) outcome {
	for _, l := range logs {
		if _, gone := s.deleted[l.ID.Topic]; gone {
			out.Late = append(out.Late, DropReplica{ID: l.ID, Replica: l.Replica})
		}
	}
	return out
}

// forgettable lists deleted topics of which no log was found although all their brokers are here.
func (s *State) forgettable(e electorate) []core.TopicID {
	found := map[core.TopicID]bool{}
	for r := range e.logs {
		found[r.id.Topic] = true
	}
	var ids []core.TopicID
	for _, id := range s.deletedIDs() {
		absent := slices.ContainsFunc(s.deleted[id], func(b core.ReplicaID) bool { return !e.live[b] })
		if !absent && !found[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *State) deletedIDs() []core.TopicID {
	return slices.SortedFunc(maps.Keys(s.deleted), func(a, b core.TopicID) int { return bytes.Compare(a[:], b[:]) })
}

// holders lists the brokers that have a replica of any partition.
func (t *topic) holders() []core.ReplicaID {
	var ids []core.ReplicaID
	for _, p := range t.partitions {
		ids = append(ids, p.Replicas...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
