package image

import (
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
)

// TopicNamed finds a topic by its name.
func (i *Image) TopicNamed(name string) (*Topic, bool) {
	id, known := i.Names[name]
	if !known {
		return nil, false
	}
	t := i.Topics[id]
	return t, t != nil
}

// Topic finds a topic by its id.
func (i *Image) Topic(id core.TopicID) (*Topic, bool) {
	t := i.Topics[id]
	return t, t != nil
}

// Partition finds a partition.
func (i *Image) Partition(id core.PartitionID) (Partition, bool) {
	t := i.Topics[id.Topic]
	if t == nil || id.Index < 0 || int(id.Index) >= len(t.Partitions) {
		return Partition{}, false
	}
	return t.Partitions[id.Index], true
}

// Leader is who leads a partition; NoReplica when nobody does or the partition is not known.
func (i *Image) Leader(id core.PartitionID) core.ReplicaID {
	p, known := i.Partition(id)
	if !known {
		return core.NoReplica
	}
	return p.Leader
}

// Live lists live brokers, ascending.
func (i *Image) Live() []core.ReplicaID {
	var live []core.ReplicaID
	for id, b := range i.Brokers {
		if b.Live {
			live = append(live, id)
		}
	}
	slices.Sort(live)
	return live
}

// ShardOwner is the live broker that a coordinator shard lives on (D25): the shard's own broker, or
// the next live one, so that a stop moves only the shards of the broker that stopped. NoReplica when
// no broker is live.
func (i *Image) ShardOwner(shard int32) core.ReplicaID {
	all := slices.Sorted(maps.Keys(i.Brokers))
	for step := range all {
		id := all[(int(shard)+step)%len(all)]
		if i.Brokers[id].Live {
			return id
		}
	}
	return core.NoReplica
}

// Feature is the finalized level of a feature: what an operator set, else the highest.
func (i *Image) Feature(name string) int16 {
	if level, set := i.Features[name]; set {
		return level
	}
	return HighestFeature(name)
}

// Credential is what a user authenticates with by a mechanism, named as clients negotiate it (SCRAM-SHA-256 or -512). What
// it returns is the image's own.
func (i *Image) Credential(mechanism, user string) (salt, storedKey, serverKey []byte, iterations int, ok bool) {
	for _, m := range access.Mechanisms() {
		if m.String() == mechanism {
			c, ok := i.Credentials[access.UserMechanism{User: user, Mechanism: m}]
			return c.Salt, c.StoredKey, c.ServerKey, int(c.Iterations), ok
		}
	}
	return nil, nil, nil, 0, false
}

// HighestFeature is the highest level of a feature.
func HighestFeature(name string) int16 {
	switch name {
	case "transaction.version":
		return 2
	case MetadataVersion:
		return 25 // Kafka's 4.0-IV3: levels above it bring share groups and groups of Kafka Streams
	default:
		return 1
	}
}

// MetadataVersion is the feature that Kafka's tools tell a cluster's release by. It has one level: nothing here depends on it.
const MetadataVersion = "metadata.version"

// TopicNames lists the names of all topics, sorted.
func (i *Image) TopicNames() []string { return slices.Sorted(maps.Keys(i.Names)) }
