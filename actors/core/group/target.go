package group

import (
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
)

// assign makes the targets of all members.
func assign(members []*consumer, topics map[string]subscribedTopic, targets map[string]assignor.Partitions) (name string, anew map[string]assignor.Partitions) {
	name = preferred(members)
	do, known := assignor.Named(name)
	if !known {
		panic("group: an assignor that is not served was let in")
	}
	subscribed := subscriptionsOf(members)
	counts := map[core.TopicID]int32{}
	for _, t := range topics {
		counts[t.id] = t.partitions
	}
	var list []assignor.Member
	for _, m := range members {
		list = append(list, assignor.Member{ID: m.said.Member, Instance: m.said.Instance, Topics: subscribed.of(m, topics), Current: targets[m.said.Member]})
	}
	return name, do(list, counts)
}

// preferred is the assignor that most members ask for, the default if none does.
func preferred(members []*consumer) string {
	votes := map[string]int{}
	for _, m := range members {
		votes[m.said.Assignor]++
	}
	best := assignor.Names[0]
	for _, name := range assignor.Names {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

func targetRecords(targets map[string]assignor.Partitions) []TargetRecord {
	var list []TargetRecord
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		list = append(list, TargetRecord{Member: id, Partitions: records(targets[id])})
	}
	return list
}
