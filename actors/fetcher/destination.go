package fetcher

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
)

// Destination is the cluster that is fetched into: in the product an adapter over broker.Cluster, in the
// tests of this package one without brokers. Safe for concurrent use; nothing here blocks but Tail.
type Destination interface {
	ID() core.ClusterID
	// Now is the clock of the actors.
	Now() core.Now
	// Partition is what the newest image says; false for an unknown partition.
	Partition(id core.PartitionID) (image.Partition, bool)
	// View is what the leading replica has released; false while nobody leads.
	View(id core.PartitionID) (partition.View, bool)
	// Tail is the CRC of our batch whose last record is at an offset; -1: we lead no such record, -2: no batch of ours
	// ends there. It may read from the disk.
	Tail(id core.PartitionID, at core.Offset) (int64, error)
	// Floor is the newest floor the leader published.
	Floor(id core.PartitionID) (highwater.PublishFloor, bool)
	// Ask hands a command to the leading replica. reply runs once, on an actor's goroutine, with
	// partition.MirrorAnswered or with a failure. It returns false, and never replies, while nobody leads.
	Ask(id core.PartitionID, build func(core.RequestID) partition.Command, reply func(any)) bool
	// RaiseEpoch makes the partition's leader epoch at least min (D23); reply runs once.
	RaiseEpoch(id core.PartitionID, min core.LeaderEpoch, reply func(ok bool))
	// Tell hands a command to the mirror's actor.
	Tell(name core.MirrorName, cmd mirror.Command)
	// FollowsUnclean is mirror.support.unclean.leader.election as this cluster's topic has it now; set is false where it
	// has no value of its own.
	FollowsUnclean(id core.TopicID) (value, set bool)
	// Compacts reports whether this cluster's topic has a cleanup.policy that leaves holes in its source's log.
	Compacts(id core.TopicID) bool
	// Topic is what the newest image knows of a topic by name or by id, for the mirror to judge.
	Topic(id core.TopicID, name string) mirror.LocalTopic
}

// Links is who else wants to know what fetchers learn of a source: the bus. Nothing here blocks.
type Links interface {
	// Source names the cluster and the NATS of a mirror's source; "" while it names none. Called again
	// whenever it is read.
	Source(name core.MirrorName, cluster core.ClusterID, natsURL string)
	// Placed says which source broker leads a partition, and whether producers there wait for its floor.
	Placed(name core.MirrorName, id core.PartitionID, broker core.ReplicaID, waiters bool)
	// Forget says that a topic is not reported any more.
	Forget(name core.MirrorName, topic core.TopicID)
	// Connected reports whether floors reach the mirror's source without us.
	Connected(name core.MirrorName) bool
}
