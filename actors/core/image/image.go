// Package image is the metadata image of one logical broker: what it has been told of the cluster,
// in one ordered stream of facts. Each broker owns its image; the pointer is never shared, so that
// lag between brokers stays observable (D9).
package image

import (
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/protocol/perr"
)

// Image is immutable: Apply returns a new one. Maps are never nil.
type Image struct {
	// Version counts the facts applied. An election is a fact like any other, so a leader that has
	// applied it has applied every registration published before it (D9, model G11b).
	Version int64
	Cluster core.ClusterID
	// Incarnation was drawn by the process: a copy of its disks that is started elsewhere has another.
	Incarnation core.Incarnation
	Controller  core.ReplicaID // lowest live broker
	Brokers     map[core.ReplicaID]Broker
	Topics      map[core.TopicID]*Topic
	Names       map[string]core.TopicID
	// Mirrors describes topics that a mirror of this cluster owns or owned. A mirror publishes it
	// before the topic exists, so that there is no writable instant.
	Mirrors map[core.TopicID]MirrorTopic
	// Sync lists, per topic, the mirrors of other clusters registered for synchronous mirroring here.
	Sync map[core.TopicID]Registrations
	// Features are levels that an operator finalized; a feature that is not among them is at its highest.
	Features map[string]int16
	// Quotas are what clients may take, by entity and by Kafka's name of the limit.
	Quotas map[QuotaEntity]map[string]float64
	// ACLs are who may do what, where an authorizer asks for it.
	ACLs access.Rules
	// Credentials are those of users who authenticate with SCRAM.
	Credentials map[access.UserMechanism]access.Credential
	// Settings are what an operator set for running brokers, by broker; NoReplica has those of all that have none of
	// their own.
	Settings map[core.ReplicaID]map[string]string
	// SettingsAt is the Version in which Settings changed last.
	SettingsAt int64
}

// QuotaEntity is whose quota it is: a user, a client id, or both.
type QuotaEntity struct{ User, Client QuotaName }

// QuotaName is one part of an entity.
type QuotaName struct {
	Kind QuotaKind
	Name string // of QuotaNamed
}

// QuotaKind says how an entity names users or client ids.
type QuotaKind int8

const (
	QuotaAbsent  QuotaKind = 0 // not at all
	QuotaNamed   QuotaKind = 1 // one
	QuotaDefault QuotaKind = 2 // all that have no quota of their own
)

// Broker is one logical broker.
type Broker struct {
	ID    core.ReplicaID
	Live  bool // false: stopped, fenced or poisoned
	Lossy bool
	Host  string
	Port  int32
	Text  string // why it is not live
}

// Topic is one topic and its partitions, by index.
type Topic struct {
	ID         core.TopicID
	Name       string
	Config     map[string]string // overrides only
	Partitions []Partition
}

// Partition is what the controller committed for one partition.
type Partition struct {
	Replicas       []core.ReplicaID
	ISR            []core.ReplicaID
	Leader         core.ReplicaID // NoReplica: offline
	LeaderEpoch    core.LeaderEpoch
	PartitionEpoch int32
	LastUnclean    core.LeaderEpoch // cumulative; NoEpoch if never
	MinISR         int32            // effective: min(config, RF)
	Adding         []core.ReplicaID // of Replicas: those that a reassignment brings
	Removing       []core.ReplicaID // of Replicas: those that it takes away once they are in sync
	Text           string           // why nobody leads, with the remedy; "" while somebody does
}

// MirrorState is the KIP's state byte of a mirrored topic as far as this slice uses it.
type MirrorState int8

const (
	MirrorNone      MirrorState = -1
	MirrorMirroring MirrorState = 3
	MirrorStopping  MirrorState = 6
	MirrorStopped   MirrorState = 7 // writable
)

// MirrorTopic is what the mirror actor of this cluster says of one topic.
type MirrorTopic struct {
	Mirror      core.MirrorName
	State       MirrorState
	Session     core.MirrorSession // newest fetch session; older answers are refused
	Incarnation core.Incarnation   // of the mirrored data
	Reporting   bool               // a Register was sent and not withdrawn: floors are published
	Epoch       core.RegistrationEpoch
	PinnedISR   int32
	// FollowUnclean is mirror.support.unclean.leader.election.
	FollowUnclean bool
	// Era is the one of the source that is followed; of this cluster's own reign once it has taken over (C8).
	Era core.Era
	// Opening: this cluster is about to take the topic's writes, so clients that arrive early are asked to wait and
	// not sent away.
	Opening  bool
	RepeatNs int64 // how often an idle partition repeats its floor: a third of the claim lease (D19)
}

// Registrations are the synchronous mirrors of one source topic.
type Registrations struct {
	Gates    []Gate
	Released []core.MirrorKey
	Fence    Fence
	Era      core.Era // under which this cluster takes, or took, the topic's writes
}

// empty reports whether there is nothing to know.
func (r Registrations) empty() bool {
	return len(r.Gates) == 0 && len(r.Released) == 0 && r.Fence == Fence{} && r.Era == 0
}

// Fence says that the topic takes no produce here: a mirror is taking over or has taken over (C8).
type Fence struct {
	Number int64 // every fence of the cluster has its own; 0: not fenced
	Code   perr.Code
	Text   string // names the cluster that takes over
	Moved  bool   // it has taken over
}

// Gate is one registered mirror.
type Gate struct {
	Key         core.MirrorKey
	Epoch       core.RegistrationEpoch
	Incarnation core.Incarnation
	MinISR      int32
	Partitions  int32 // that the mirror has: others were added since and take no writes (C11)
	Plain       bool  // registered by a peer that speaks only the KIP
}
