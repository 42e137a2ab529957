package controller

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// A reassignment goes in two steps, as in Kafka: a partition has its old and its new replicas until all new ones are in
// sync, and then the new ones alone. Each step is a leader epoch of its own, because who replicates from a leader is
// fixed for its epoch; nothing else of replication, high watermark and gates knows of it.
//
// A leader that is not to stay is closed before its successor is chosen, as when its broker is stopped: the ends that are
// compared are those of replicas that hear nothing more from it.

// AlterReassignments begins, changes or cancels reassignments, each by itself. Answered with ReassignmentsAnswered.
type AlterReassignments struct {
	Ref        core.RequestID
	Entries    []ReassignmentAlteration
	SameFactor bool // a target of another size is refused
}

// ReassignmentAlteration is the target of one partition; nil cancels what is under way.
type ReassignmentAlteration struct {
	ID     core.PartitionID
	Target []core.ReplicaID
}

// FinishReassignment leaves a partition with its target, if all of that is in sync. Closed is the leader that was closed
// for it: it leads no more in its epoch, whatever became of the reassignment meanwhile. Logs are the durable ends of the
// replicas that are there. Answered with Done.
type FinishReassignment struct {
	Ref    core.RequestID
	ID     core.PartitionID
	Closed core.ReplicaID // NoReplica: nobody
	Logs   []ReplicaLog
}

func (AlterReassignments) isCommand() {}
func (FinishReassignment) isCommand() {}

func (s *State) alterReassignments(c AlterReassignments) outcome {
	var out outcome
	answer := ReassignmentsAnswered{Ref: c.Ref, Results: make([]ReassignmentResult, len(c.Entries))}
	var facts []image.Fact
	changed := map[core.PartitionID]bool{}
	after := map[core.PartitionID]ReassignmentRecord{}
	var begun []PartitionRecord
	for i, e := range c.Entries {
		r := &answer.Results[i]
		t, p, known := s.partition(e.ID)
		if !known {
			r.Code, r.Text = perr.UnknownTopicOrPartition, "there is no such partition; kafka-topics.sh --describe shows those there are"
			continue
		}
		target, bad := s.judgeTarget(t, p, e, c.SameFactor)
		if changed[e.ID] {
			bad = problem{perr.InvalidRequest, fmt.Sprintf("%s/%d is named twice in one request", t.name, p.Index)}
		}
		if bad.Code != perr.None {
			r.Code, r.Text = bad.Code, bad.Text
			continue
		}
		changed[e.ID] = true
		next, record := s.moving[e.ID].begin(p, target)
		if next.PartitionEpoch == p.PartitionEpoch {
			continue // as it is, or as it was asked for before
		}
		out.Events = append(out.Events, ReassignmentChanged{Partition: next, Reassignment: record})
		facts = append(facts, image.PartitionChanged{ID: e.ID, Partition: s.toldMoving(t, next, record)})
		begun, after[e.ID] = append(begun, next), record
	}
	if len(facts) > 0 {
		out = publish(out, facts...)
	}
	for _, p := range begun {
		out = s.handOverIf(out, p, after[p.id()])
	}
	return reply(out, answer)
}

// judgeTarget is the target that an entry means, and what is wrong with it.
func (s *State) judgeTarget(t *topic, p PartitionRecord, e ReassignmentAlteration, sameFactor bool) ([]core.ReplicaID, problem) {
	r := s.moving[e.ID]
	at := fmt.Sprintf("%s/%d", t.name, p.Index)
	switch {
	case e.Target == nil && !r.under():
		return nil, problem{perr.NoReassignmentInProgress, at + " is not being reassigned"}
	case e.Target == nil:
		return r.Original, problem{}
	case len(e.Target) == 0:
		return nil, problem{perr.InvalidReplicaAssignment, at + ": the target names no broker; leave it null to cancel"}
	case sameFactor && len(e.Target) != len(r.original(p)):
		return nil, problem{perr.InvalidReplicationFactor, fmt.Sprintf("%s has %d replicas, the target %d, and the request allows no change of the factor", at, len(r.original(p)), len(e.Target))}
	}
	for i, id := range e.Target {
		if _, known := s.brokers[id]; !known {
			return nil, problem{perr.InvalidReplicaAssignment, fmt.Sprintf("%s: the target names broker %d; this cluster has %v", at, id, s.brokerIDs())}
		}
		if slices.Contains(e.Target[:i], id) {
			return nil, problem{perr.InvalidReplicaAssignment, fmt.Sprintf("%s: the target names broker %d twice", at, id)}
		}
	}
	return slices.Clone(e.Target), problem{}
}

// begin is the partition on its way to target; its partition epoch stays where it is there, or on that way, already.
func (r ReassignmentRecord) begin(p PartitionRecord, target []core.ReplicaID) (PartitionRecord, ReassignmentRecord) {
	if r.under() && slices.Equal(r.Target, target) || !r.under() && slices.Equal(p.Replicas, target) {
		return p, r
	}
	next := p
	next.Replicas = slices.Clone(target)
	for _, id := range p.Replicas {
		if !slices.Contains(target, id) {
			next.Replicas = append(next.Replicas, id)
		}
	}
	record := ReassignmentRecord{Topic: p.Topic, Index: p.Index, Original: r.original(p), Target: target}
	record.Left = filter(r.Left, func(id core.ReplicaID) bool { return !slices.Contains(target, id) })
	if !r.under() && len(next.Replicas) == len(target) && len(p.Replicas) == len(target) {
		record.Original, record.Target = nil, nil // another order, nothing to move
	}
	next.PartitionEpoch++
	if next.Leader != core.NoReplica {
		next.LeaderEpoch++
	}
	return next, record
}

// handOver asks for the end of those reassignments of partitions that can end. s is the state with those partitions.
func (s *State) handOver(out outcome, partitions ...PartitionRecord) outcome {
	for _, p := range partitions {
		if r, some := s.moving[p.id()]; some {
			out = s.handOverIf(out, p, r)
		}
	}
	return out
}

// HandOvers are those that are due, for whoever may have missed one.
func (s *State) HandOvers() (list []HandOver) {
	for _, r := range s.movingInOrder() {
		if _, p, known := s.partition(core.PartitionID{Topic: r.Topic, Index: r.Index}); known {
			for _, e := range s.handOverIf(outcome{}, p, r).Late {
				list = append(list, e.(HandOver))
			}
		}
	}
	return list
}

// handOverAfter is handOver of the state after ev.
func (s *State) handOverAfter(ev Event, out outcome, partitions []PartitionRecord) outcome {
	if len(s.moving) == 0 {
		return out
	}
	return s.with(ev).handOver(out, partitions...)
}

func (s *State) handOverIf(out outcome, p PartitionRecord, r ReassignmentRecord) outcome {
	if !s.ready(p, r) {
		return out
	}
	ask := HandOver{ID: p.id(), Leader: core.NoReplica, Epoch: p.LeaderEpoch}
	if !slices.Contains(r.Target, p.Leader) {
		ask.Leader = p.Leader
	}
	out.Late = append(out.Late, ask)
	return out
}

// ready: every replica that is brought is in sync, and enough stay to take writes.
func (s *State) ready(p PartitionRecord, r ReassignmentRecord) bool {
	if !r.under() || p.Leader == core.NoReplica {
		return false
	}
	adding, _ := r.changes(p)
	missing := filter(adding, func(id core.ReplicaID) bool { return !slices.Contains(p.ISR, id) })
	stay := filter(p.ISR, func(id core.ReplicaID) bool { return slices.Contains(r.Target, id) && s.brokers[id].Live })
	t := s.topics[p.Topic]
	enough := min(int(s.minISR(t, r.factor(p))), len(p.ISR))
	return len(missing) == 0 && len(stay) >= max(1, enough)
}

func (s *State) finishReassignment(c FinishReassignment) outcome {
	done := Done{Ref: c.Ref}
	t, p, known := s.partition(c.ID)
	if !known {
		return reply(outcome{}, done)
	}
	e, r := s.electorate(c.Logs), s.moving[c.ID]
	switch {
	case s.ready(p, r) && (slices.Contains(r.Target, p.Leader) || c.Closed == p.Leader):
		next, record := r.end(p, e)
		taken := filter(p.Lossy, func(id core.ReplicaID) bool { return !slices.Contains(next.Replicas, id) })
		facts := append([]image.Fact{image.PartitionChanged{ID: c.ID, Partition: s.toldMoving(t, next, record)}},
			s.whole(taken, func(o PartitionRecord) bool { return o.id() != c.ID })...)
		return reply(publish(outcome{Events: []Event{ReassignmentChanged{Partition: next, Reassignment: record}}}, facts...), done)
	case c.Closed == core.NoReplica || c.Closed != p.Leader:
		return reply(outcome{}, done)
	}
	// Not any more, but the leader was closed, and what it promised in this epoch is forgotten (R12).
	next := p
	others := filter(p.ISR, func(id core.ReplicaID) bool { return id != c.Closed })
	if other := longest(p, e, others); other != core.NoReplica {
		next.Leader = other
	}
	next.LeaderEpoch, next.PartitionEpoch = newestEpoch(p, e)+1, p.PartitionEpoch+1
	out := s.handOver(publish(outcome{Events: []Event{PartitionChanged{Partition: next}}}, s.fact(next)), next)
	return reply(out, done)
}

// end is the partition with its target alone. Who leads stays, or else is the one with the longest log of those that do.
func (r ReassignmentRecord) end(p PartitionRecord, e electorate) (PartitionRecord, ReassignmentRecord) {
	stays := func(id core.ReplicaID) bool { return slices.Contains(r.Target, id) }
	next := p
	next.Replicas, next.ISR, next.Lossy = slices.Clone(r.Target), filter(p.ISR, stays), filter(p.Lossy, stays)
	if !keepOnlyInSync {
		next.ISR = slices.Clone(r.Target)
	}
	if !stays(p.Leader) {
		next.Leader = longest(next, e, next.ISR)
	}
	next.LeaderEpoch, next.PartitionEpoch = newestEpoch(p, e)+1, p.PartitionEpoch+1
	record := ReassignmentRecord{Topic: r.Topic, Index: r.Index, Left: r.Left}
	for _, id := range p.Replicas {
		if !stays(id) && !slices.Contains(record.Left, id) {
			record.Left = append(slices.Clone(record.Left), id)
		}
	}
	return next, record
}

// under reports whether something is under way.
func (r ReassignmentRecord) under() bool { return len(r.Target) > 0 }

// original is what the partition had before.
func (r ReassignmentRecord) original(p PartitionRecord) []core.ReplicaID {
	if r.under() {
		return r.Original
	}
	return p.Replicas
}

// factor is the replication factor that counts meanwhile: the smaller one, since a bound made of the larger would refuse
// every write until all new replicas are in sync.
func (r ReassignmentRecord) factor(p PartitionRecord) int {
	if r.under() {
		return min(len(r.Original), len(r.Target))
	}
	return len(p.Replicas)
}

// changes is what comes and what goes, in the order of the replicas.
func (r ReassignmentRecord) changes(p PartitionRecord) (adding, removing []core.ReplicaID) {
	if !r.under() {
		return nil, nil
	}
	adding = filter(p.Replicas, func(id core.ReplicaID) bool { return slices.Contains(r.Target, id) && !slices.Contains(r.Original, id) })
	removing = filter(p.Replicas, func(id core.ReplicaID) bool { return !slices.Contains(r.Target, id) })
	return adding, removing
}

func (p PartitionRecord) id() core.PartitionID {
	return core.PartitionID{Topic: p.Topic, Index: p.Index}
}

func (s *State) setReassignment(r ReassignmentRecord) {
	id := core.PartitionID{Topic: r.Topic, Index: r.Index}
	if s.moving[id] = r; !r.under() && len(r.Left) == 0 {
		delete(s.moving, id)
	}
}

// takenAway reports whether a replica was taken away from a broker and not given back.
func (s *State) takenAway(id core.PartitionID, from core.ReplicaID) bool {
	return slices.Contains(s.moving[id].Left, from)
}

func (s *State) movingInOrder() []ReassignmentRecord {
	return slices.SortedFunc(maps.Values(s.moving), func(a, b ReassignmentRecord) int {
		if byTopic := slices.Compare(a.Topic[:], b.Topic[:]); byTopic != 0 {
			return byTopic
		}
		return int(a.Index) - int(b.Index)
	})
}
