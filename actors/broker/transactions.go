package broker

import (
	"fmt"
	"log/slog"
	"strconv"

	"lockstep/actors/core"
	"lockstep/actors/core/group"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/transaction"
	"lockstep/actors/shell"
	"lockstep/journal"
	"lockstep/protocol/perr"
)

func (c *Cluster) spawnTransactions(shard int) *shell.Ref[transaction.Command] {
	name := "transaction-" + strconv.Itoa(shard)
	return shell.Spawn(c.system, shell.Spec[transaction.State, transaction.Command, transaction.Event, transaction.Effect]{
		ID: name, Machine: transaction.Machine(), Journal: c.options.Control, Stream: journal.Stream("control/" + name), Level: slog.LevelDebug, Tick: transaction.Tick{},
		Timer:   func(f transaction.Effect) (int64, bool) { t, ok := f.(transaction.ArmTimer); return t.At, ok },
		Perform: func(f transaction.Effect) { c.performTransaction(shard, f) },
		Started: func(_ *transaction.State, again bool) {
			if again {
				c.transactions[shard].Tell(transaction.Resume{Settings: c.options.Transactions})
			}
		},
		Lost: c.quorumLost,
	})
}

func (c *Cluster) performTransaction(shard int, f transaction.Effect) {
	switch e := f.(type) {
	case transaction.WriteMarker:
		c.writeMarker(shard, e)
	case transaction.EndOffsets:
		told := transaction.MarkerAnswered{ID: e.ID, ProducerID: e.ProducerID, Epoch: e.Epoch, Target: transaction.Target{Group: e.Group}}
		c.Group(e.Group, func(ref core.RequestID) group.Command {
			return group.EndTxnOffsets{Ref: ref, Group: e.Group, ProducerID: e.ProducerID, Commit: e.Commit}
		}, func(answer any) {
			if _, ok := answer.(group.TxnOffsetsEnded); !ok {
				told.Outcome = transaction.MarkerAgain
			}
			c.transactions[shard].Tell(told)
		})
	case transaction.ArmTimer, transaction.Described, transaction.Ended, transaction.Initialized, transaction.Listed, transaction.PartitionsAnswered:
		panic(fmt.Sprintf("broker: %T is routed by the shell", f))
	default:
		panic(fmt.Sprintf("broker: unknown transaction effect %T", f))
	}
}

// stuckTries is how often a marker is asked for before an operator should know: about once a minute.
const stuckTries = 32

// writeMarker asks the partition's newest leader. The order to it leaves on the goroutine of the coordinator, behind
// what the coordinator has answered before.
func (c *Cluster) writeMarker(shard int, e transaction.WriteMarker) {
	told := transaction.MarkerAnswered{ID: e.ID, ProducerID: e.ProducerID, Epoch: e.Epoch, Target: transaction.Target{Partition: e.Partition}}
	if _, exists := c.Newest().Partition(e.Partition); !exists {
		told.Outcome = transaction.MarkerNowhere
		c.transactions[shard].Tell(told)
		return
	}
	again := func(why string) {
		if e.Tries%stuckTries == stuckTries-1 {
			c.system.Logger.Warn("a transaction is decided and cannot be ended in a partition yet", "transactional_id", e.ID,
				"producer_id", e.ProducerID, "commit", e.Commit, "partition", e.Partition.String(), "reason", why)
		}
		told.Outcome = transaction.MarkerAgain
		c.transactions[shard].Tell(told)
	}
	leader, ok := c.Leader(e.Partition)
	if !ok {
		again("the partition has no leader")
		return
	}
	epoch := leader.View().Epoch
	leader.Ask(func(ref core.RequestID) partition.Command {
		return partition.WriteMarker{Ref: ref, Epoch: epoch, ProducerID: e.ProducerID, ProducerEpoch: e.Epoch, Commit: e.Commit}
	}, func(answer any) {
		switch a := answer.(type) {
		case partition.MarkerWritten:
			switch a.Code {
			case perr.None:
				c.transactions[shard].Tell(told)
			case perr.InvalidProducerEpoch: // whoever raised the epoch there has ended what was open under ours
				c.system.Logger.Warn("a transaction was ended in a partition by somebody else", "transactional_id", e.ID, "partition", e.Partition.String(), "reason", a.Text)
				told.Outcome = transaction.MarkerNowhere
				c.transactions[shard].Tell(told)
			default:
				again(a.Code.String() + ": " + a.Text)
			}
		case shell.Failed:
			again(a.Text)
		}
	})
}

// holdsUpHandover: a fenced partition is not drained while transactions are open in it. Those that nobody has decided
// yet are aborted (C8); markers of the others are on their way.
func (c *Cluster) holdsUpHandover(r *Replica, v partition.View) bool {
	if len(v.Txns.Open) == 0 || c.Newest().Sync[r.id.Topic].Fence.Moved {
		return false
	}
	abort := transaction.AbortOpen{Topic: r.id.Topic}
	for _, t := range v.Txns.Open {
		abort.Producers = append(abort.Producers, t.ProducerID)
	}
	for _, shard := range c.transactions {
		shard.Tell(abort)
	}
	return true
}

// TransactionOwner is the broker that serves a transactional id, as img sees it; NoReplica while none is live.
func (c *Cluster) TransactionOwner(img *image.Image, id string) core.ReplicaID {
	return img.ShardOwner(transaction.Shard(id))
}

// TransactionShards lists the shards that img gives to a broker.
func (c *Cluster) TransactionShards(img *image.Image, owner core.ReplicaID) []int32 {
	return shardsOf(img, owner, transaction.Shards)
}

// Transaction asks the shard of a transactional id. Whether this broker serves it is the caller's to check. reply runs
// on the coordinator's goroutine: what it hands to a partition or group is ahead of every marker decided later.
func (c *Cluster) Transaction(id string, build func(core.RequestID) transaction.Command, reply func(any)) {
	c.TransactionShard(transaction.Shard(id), build, reply)
}

// TransactionShard asks one shard.
func (c *Cluster) TransactionShard(shard int32, build func(core.RequestID) transaction.Command, reply func(any)) {
	c.transactions[shard].Ask(build, reply)
}
