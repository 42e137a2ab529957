package controller

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// createPartitions adds partitions at the end, as Kafka does: none is ever taken away, and all have the factor of
// the first. On a gated topic their leaders gate like the others, and take no writes before the mirrors have
// them (C11): the fact of the registration precedes the new leaders in every image.
func (s *State) createPartitions(c CreatePartitions) outcome {
	t := s.topics[c.ID]
	if t == nil {
		return reply(outcome{}, Done{Ref: c.Ref, Code: perr.UnknownTopicOrPartition, Text: fmt.Sprintf("no topic has id %s", c.ID)})
	}
	have := int32(len(t.partitions))
	if c.Mirrored && have >= c.Count {
		return reply(outcome{}, Done{Ref: c.Ref})
	}
	added, bad := s.morePartitions(t, c)
	if bad.Code != 0 || c.DryRun {
		return reply(outcome{}, Done{Ref: c.Ref, Code: bad.Code, Text: bad.Text})
	}
	ev := PartitionsAdded{Topic: c.ID, Partitions: added}
	next := *t
	next.partitions = append(slices.Clone(t.partitions), added...)
	return reply(publish(outcome{Events: []Event{ev}}, image.TopicChanged{Topic: s.told(&next)}), Done{Ref: c.Ref})
}

func (s *State) morePartitions(t *topic, c CreatePartitions) (added []PartitionRecord, bad problem) {
	have := int32(len(t.partitions))
	switch {
	case c.Count <= have:
		return nil, problem{perr.InvalidPartitions, fmt.Sprintf("topic %s has %d partitions; ask for more than that, %d would take some away", t.name, have, c.Count)}
	case c.Count > maxPartitions:
		return nil, problem{perr.PolicyViolation, fmt.Sprintf("topic %s: %d partitions; %d is the most for one topic", t.name, c.Count, maxPartitions)}
	case c.Assignment != nil && len(c.Assignment) != int(c.Count-have):
		return nil, problem{perr.InvalidReplicaAssignment, fmt.Sprintf("topic %s: %d partitions are added, %d are assigned", t.name, c.Count-have, len(c.Assignment))}
	}
	factor := s.moving[t.partitions[0].id()].factor(t.partitions[0])
	placed := c.Assignment
	if placed == nil {
		placed = s.spread(int(c.Count-have), factor)
	}
	for i, replicas := range placed {
		index := have + int32(i)
		if bad := s.assignable(t.name, index, replicas, factor); bad.Code != 0 {
			return nil, bad
		}
		p, bad := s.newPartition(t.id, t.name, index, slices.Clone(replicas))
		if bad.Code != 0 {
			return nil, bad
		}
		added = append(added, p)
	}
	return added, problem{}
}

// assignable checks what an operator chose for one new partition.
func (s *State) assignable(name string, index int32, replicas []core.ReplicaID, factor int) problem {
	if len(replicas) != factor {
		return problem{perr.InvalidReplicaAssignment, fmt.Sprintf("topic %s: partition %d has %d replicas, the others have %d", name, index, len(replicas), factor)}
	}
	for i, id := range replicas {
		if _, known := s.brokers[id]; !known {
			return problem{perr.InvalidReplicaAssignment, fmt.Sprintf("topic %s: partition %d names broker %d; this cluster has %v", name, index, id, s.brokerIDs())}
		}
		if slices.Contains(replicas[:i], id) {
			return problem{perr.InvalidReplicaAssignment, fmt.Sprintf("topic %s: partition %d names broker %d twice", name, index, id)}
		}
	}
	return problem{}
}
