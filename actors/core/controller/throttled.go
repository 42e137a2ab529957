package controller

import (
	"strconv"
	"strings"

	"lockstep/actors/core"
)

// everyReplica stands for all replicas of a topic in its lists of throttled ones.
const everyReplica = "*"

// NamesReplica reports whether a list of throttled replicas has that of a partition on a broker. It was checked when it was
// set.
func NamesReplica(list string, index int32, broker core.ReplicaID) bool {
	if list == everyReplica {
		return true
	}
	for item := range strings.SplitSeq(list, ",") {
		if p, b, ok := replicaOf(item); ok && p == index && b == broker {
			return true
		}
	}
	return false
}

// replicaOf reads partition:broker.
func replicaOf(item string) (index int32, broker core.ReplicaID, ok bool) {
	left, right, cut := strings.Cut(strings.TrimSpace(item), ":")
	p, err := strconv.ParseUint(left, 10, 31)
	b, err2 := strconv.ParseUint(right, 10, 31)
	return int32(p), core.ReplicaID(b), cut && err == nil && err2 == nil
}
