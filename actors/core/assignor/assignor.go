// Package assignor has the server-side assignors of KIP-848: pure functions from members and their subscriptions to a
// target assignment. It knows nothing of epochs and time; the group's machine decides when to ask.
package assignor

import (
	"cmp"
	"slices"

	"lockstep/actors/core"
)

// Member is one member of a group as an assignor sees it.
type Member struct {
	ID       string
	Instance *string        // static membership
	Topics   []core.TopicID // subscribed, each once; those that do not exist are not among them
	Current  Partitions     // its target so far
}

// Assign makes a target: every partition of a subscribed topic goes to exactly one member that subscribes to it.
// counts has the number of partitions of each topic. Members without partitions have an empty entry.
type Assign func(members []Member, counts map[core.TopicID]int32) map[string]Partitions

// Kafka's names, in the order of preference that a broker of Kafka has.
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// Names lists what is served; the first is the default.
var Names = []string{UniformName, RangeName}

// Named finds an assignor.
func Named(name string) (Assign, bool) {
	switch name {
	case UniformName:
		return Uniform, true
	case RangeName:
		return Range, true
	default:
		return nil, false
	}
}

// inOrder sorts static members by instance id and others by member id behind them, so that an assignment survives a
// static member's new member id.
func inOrder(members []Member) []Member {
	return slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		switch {
		case a.Instance != nil && b.Instance != nil:
			return cmp.Compare(*a.Instance, *b.Instance)
		case a.Instance != nil:
			return -1
		case b.Instance != nil:
			return 1
		default:
			return cmp.Compare(a.ID, b.ID)
		}
	})
}

// subscribers lists, per topic that has partitions, who subscribes to it, as indexes into members.
func subscribers(members []Member, counts map[core.TopicID]int32) map[core.TopicID][]int {
	by := map[core.TopicID][]int{}
	for i, m := range members {
		for _, t := range m.Topics {
			if counts[t] > 0 {
				by[t] = append(by[t], i)
			}
		}
	}
	return by
}
