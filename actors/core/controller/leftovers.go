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

// dropLeftovers asks for what is left of deleted topics, and of replicas that were taken away, in logs.
func (s *State) dropLeftovers(out outcome, logs []ReplicaLog) outcome {
	for _, l := range logs {
		if _, gone := s.deleted[l.ID.Topic]; gone || s.takenAway(l.ID, l.Replica) {
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
		absent := slices.ContainsFunc(s.deleted[id].Replicas, func(b core.ReplicaID) bool { return !e.live[b] })
		if !absent && !found[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *State) deletedIDs() []core.TopicID {
	return slices.SortedFunc(maps.Keys(s.deleted), func(a, b core.TopicID) int { return bytes.Compare(a[:], b[:]) })
}

// leftover is what has to be remembered of a topic: the brokers that hold a replica of any partition, or one that was
// taken away, and its newest epoch.
func (s *State) leftover(t *topic) DeletedRecord {
	d := DeletedRecord{Topic: t.id}
	for _, p := range t.partitions {
		d.Replicas = append(d.Replicas, p.Replicas...)
		d.Replicas = append(d.Replicas, s.moving[p.id()].Left...)
		d.Epoch = max(d.Epoch, p.LeaderEpoch)
	}
	slices.Sort(d.Replicas)
	d.Replicas = slices.Compact(d.Replicas)
	return d
}

// firstEpoch is 0, or above every epoch that an old log of the same topic may carry: a mirrored topic
// that is made again keeps its id, and the log of a broker that was away must not look newer than it.
func (s *State) firstEpoch(id core.TopicID) core.LeaderEpoch {
	if d, known := s.deleted[id]; known {
		return d.Epoch + 1
	}
	return 0
}
