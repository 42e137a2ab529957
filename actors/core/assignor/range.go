package assignor

import "lockstep/actors/core"

// Range gives each member of a topic a run of neighbouring partitions, the first ones one more when they do not divide.
// Topics with as many partitions and the same subscribers are assigned alike, so that partitions with equal keys meet at
// one member. Members that come or go move many partitions.
func Range(members []Member, counts map[core.TopicID]int32) map[string]Partitions {
	members = inOrder(members)
	target := map[string]Partitions{}
	for _, m := range members {
		target[m.ID] = Partitions{}
	}
	for topic, who := range subscribers(members, counts) {
		n := counts[topic]
		each, more := n/int32(len(who)), n%int32(len(who))
		next := int32(0)
		for k, i := range who {
			end := next + each
			if int32(k) < more {
				end++
			}
			if next < end {
				run := make([]int32, 0, end-next)
				for ; next < end; next++ {
					run = append(run, next)
				}
				target[members[i].ID][topic] = run
			}
		}
	}
	return target
}
