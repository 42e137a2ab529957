package registration

import "lockstep/actors/core"

// addition is a partition that was added to a gated topic, at one mirror under one registration.
type addition struct {
	Key       LedgerKey
	Epoch     core.RegistrationEpoch
	Partition int32
}

// decideAddition counts up to where a mirror has all partitions of a topic. The count is on disk before it is told:
// a leader that opened its partition to writers must not find it closed by a restart (C11, F36).
func (s *State) decideAddition(c ReportAddition) (out outcome) {
	k := LedgerKey{c.Key, c.ID.Topic}
	e := s.entries[k]
	if !e.registered || e.epoch != c.Epoch || c.ID.Index < e.partitions {
		return out
	}
	if c.ID.Index > e.partitions {
		out.Events = []Event{AdditionReported{Key: k, Epoch: c.Epoch, Partition: c.ID.Index}}
		return out
	}
	has := c.ID.Index + 1
	for s.additions[addition{k, c.Epoch, has}] {
		has++
	}
	out.Events = []Event{PartitionsConfirmed{Cluster: c.Key.Cluster, Mirror: c.Key.Mirror, Topic: c.ID.Topic, Epoch: c.Epoch, Partitions: has}}
	return s.publish(out, c.ID.Topic)
}

// had is how many partitions a Register says the destination has: of those it does not state, all.
func (c RegisterTopic) had() int32 {
	if c.Partitions > 0 && c.Partitions < c.Source.Partitions {
		return c.Partitions
	}
	return c.Source.Partitions
}
