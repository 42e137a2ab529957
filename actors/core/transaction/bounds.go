package transaction

import (
	"fmt"

	"lockstep/protocol/perr"
)

// Transactional ids are kept for a week, and a client may draw a new one for every transaction; what all of a shard
// take together is bounded (I61). Costs are bytes of the texts plus a flat sum for what Go keeps beside them.
const (
	idCost        = 512
	partitionCost = 128
	groupCost     = 64
)

// Every turn of an id looks at all that its transaction has and at all who wait for its end: what a client can make of
// nothing but names, and as often as it likes, is few. Partitions are as many as the cluster has.
const (
	maxGroups  = 256
	maxWaiters = 16
)

func (r *TransactionRecord) bytes() int64 { return int64(idCost+len(r.ID)) + r.placesBytes() }

func (r *TransactionRecord) placesBytes() (n int64) {
	for i := range r.Partitions {
		n += r.Partitions[i].bytes()
	}
	for _, g := range r.Groups {
		n += int64(groupCost + len(g))
	}
	return n
}

func (p *PartitionRecord) bytes() int64 { return int64(partitionCost + len(p.Name)) }

// noRoom says whether the shard can hold so many bytes more. Transactions end and ids expire, so a client may come back.
func (s *State) noRoom(more int64) (perr.Code, string) {
	if !boundShards || s.kept+more <= s.settings.MaxShardBytes {
		return 0, ""
	}
	return perr.CoordinatorLoadInProgress, fmt.Sprintf("this transaction coordinator holds %d bytes of transactional ids and open transactions, lockstep.transaction.shard.max.bytes is %d: use fewer ids, or raise it",
		s.kept, s.settings.MaxShardBytes)
}
