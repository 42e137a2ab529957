package sim

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
)

// planPreferred draws when operators ask for preferred leaders, in one seed of five: often enough that live leaders step
// down for replicas that end before them, whatever else goes on.
func (f *faults) planPreferred(until int64, dropped []string) {
	r := stream(f.world.seed, "faults/prefer")
	if !chance(r, 0.2) {
		return
	}
	for i := range 1 + r.IntN(12) {
		p := planned{fmt.Sprintf("prefer#%d", i), "prefer", within(r, until/8, until)}
		if !slices.Contains(dropped, p.Name) {
			f.plan = append(f.plan, p)
		}
	}
}

// prefer is kafka-leader-election.sh --election-type preferred, of all topics.
func (f *faults) prefer(s *site) {
	home := s.alive()
	if home == nil || !home.ready {
		return
	}
	var logs []controller.ReplicaLog
	for _, b := range home.brokers {
		logs = append(logs, b.logs()...)
	}
	for _, id := range sortedTopics(home.newest.Topics) {
		for i := range home.newest.Topics[id].Partitions {
			home.controller.ask(func(ref core.RequestID) controller.Command {
				return controller.ElectPreferred{Ref: ref, ID: core.PartitionID{Topic: id, Index: int32(i)}, Logs: logs}
			}, func(any) {})
		}
	}
}
