package orders

import "lockstep/actors/core/partition"

// Ahead reports whether a later view of the same leader may answer a question that v does not: then the question waits
// at the leader for it.
func Ahead(q partition.ReadLeaderLog, v partition.View) bool {
	return v.Epoch < q.Epoch || v.Epoch == q.Epoch && v.IsLeader && v.LEO <= q.From
}
