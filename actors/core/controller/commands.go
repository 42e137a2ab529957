package controller

import (
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
)

// Command is something the controller of a cluster is asked to do.
//
//sumtype:decl
type Command interface{ isCommand() }

// RestartCluster is the first command of every process: one event raises every leader epoch and
// elects, per partition, the non-LOSSY ISR member with the highest (epoch, durable LEO) (D5, R12).
type RestartCluster struct {
	Cluster     core.ClusterID
	Incarnation core.Incarnation
	Defaults    Defaults
	Brokers     []image.Broker
	Logs        []ReplicaLog
}

// Defaults are num.partitions, default.replication.factor and min.insync.replicas as the operator set
// them; 0 means ours: 1, min(3, brokers), max(1, RF-1) (D26).
type Defaults struct {
	Partitions  int32
	Replication int16
	MinISR      int32
}

// ReplicaLog is what was found on a volume for one replica, also of topics that nobody knows (any more).
// A replica without one has an empty log.
type ReplicaLog struct {
	ID        core.PartitionID
	Replica   core.ReplicaID
	LastEpoch core.LeaderEpoch
	LEO       core.Offset
	Lossy     bool
}

// StopBroker fences a broker: it leaves every ISR (unless it is the last member) and leads nothing.
// Logs are the durable ends of the surviving replicas, for the choice of leaders.
type StopBroker struct {
	Ref    core.RequestID
	Broker core.ReplicaID
	Text   string
	Logs   []ReplicaLog
}

// StartBroker un-fences a broker. Logs are the ends found on its own volume: it follows wherever
// somebody leads, and leads only where it is the last ISR member.
type StartBroker struct {
	Ref    core.RequestID
	Broker image.Broker
	Logs   []ReplicaLog
}

// CreateTopic makes a topic.
type CreateTopic struct {
	Ref          core.RequestID
	ID           core.TopicID // zero except for mirrored topics, which keep the source's
	Fresh        core.TopicID // used when ID is zero; drawn by the caller: the core has no randomness
	Name         string
	Partitions   int32                      // -1: default; must be -1 with Assignment
	Replication  int16                      // -1: default; must be -1 with Assignment
	Assignment   map[int32][]core.ReplicaID // nil: spread
	Config       map[string]string
	ValidateOnly bool
	// Mirrored topics are made by a mirror: RF = min(3, brokers), leaders spread, min ISR from our
	// defaults, settings we do not know left out and named in the answer's text (D22).
	Mirrored bool
}

// DeleteTopic removes a topic by id, or by name when the id is zero.
type DeleteTopic struct {
	Ref  core.RequestID
	ID   core.TopicID
	Name string
	// Mirrored topics that are not STOPPED are refused by the caller's view of the image.
}

// ChangeISR is a leader's proposal.
type ChangeISR struct {
	ID             core.PartitionID
	Leader         core.ReplicaID
	Epoch          core.LeaderEpoch
	PartitionEpoch int32
	ISR            []core.ReplicaID
}

// RaiseEpoch makes the leader epoch at least Min (and at least one higher than now when Bump is set),
// keeping the leader (D23, an in-place restart R12). A partition that nobody leads stays offline.
type RaiseEpoch struct {
	Ref  core.RequestID
	ID   core.PartitionID
	Min  core.LeaderEpoch
	Bump bool
}

// AllocateProducerIDs reserves a block for one broker (D24).
type AllocateProducerIDs struct {
	Ref   core.RequestID
	Count int64
	// Above is the highest own id found in any local log, so that a restored control stream cannot
	// hand one out again (C13).
	Above int64
	// Prefix is drawn by the caller; used only when the cluster has none yet.
	Prefix int32
}

// CreatePartitions gives a topic more partitions. Answered with Done.
type CreatePartitions struct {
	Ref        core.RequestID
	ID         core.TopicID
	Count      int32              // all of them, the present ones included
	Assignment [][]core.ReplicaID // of the new ones, by index; nil: spread
	DryRun     bool
	// Mirrored partitions are added by a mirror: that they are there already is success.
	Mirrored bool
}

// AcceptLoss lets the best of the LOSSY replicas lead a partition that has no other, on an operator's word: records
// that were acknowledged may be missing from then on (R12). Logs are the ends of all replicas. Answered with Done.
type AcceptLoss struct {
	Ref  core.RequestID
	ID   core.PartitionID
	Logs []ReplicaLog
}

// UpdateFeatures finalizes features at other levels, all of them or none. Answered with FeaturesAnswered.
type UpdateFeatures struct {
	Ref     core.RequestID
	Updates []FeatureUpdate
	DryRun  bool
}

// FeatureUpdate is one feature. Downgrade must be said: a level below the present one is refused without it.
type FeatureUpdate struct {
	Feature   string
	Level     int16 // 0: off
	Downgrade bool
}

// AlterQuotas changes limits of client entities, each by itself. Answered with QuotasAnswered.
type AlterQuotas struct {
	Ref     core.RequestID
	Entries []QuotaAlteration
	DryRun  bool
}

// QuotaAlteration is what changes for one entity.
type QuotaAlteration struct {
	Entity image.QuotaEntity
	Limits []QuotaLimit
}

// QuotaLimit sets or removes one limit.
type QuotaLimit struct {
	Key    string
	Value  float64
	Remove bool
}

// CreateACLs adds bindings, each by itself; one that is there already is success. Answered with ACLsCreated.
type CreateACLs struct {
	Ref      core.RequestID
	Bindings []access.Binding
}

// DeleteACLs removes the bindings that filters select. Answered with ACLsDeleted.
type DeleteACLs struct {
	Ref     core.RequestID
	Filters []access.Filter
}

// AlterCredentials changes SCRAM credentials of users, one of each and each by itself. Answered with CredentialsAnswered.
type AlterCredentials struct {
	Ref     core.RequestID
	Changes []CredentialChange
}

// CredentialChange sets a credential, or removes it.
type CredentialChange struct {
	Of         access.UserMechanism
	Credential access.Credential
	Remove     bool
}

func (CreateACLs) isCommand()          {}
func (DeleteACLs) isCommand()          {}
func (AlterCredentials) isCommand()    {}
func (AlterQuotas) isCommand()         {}
func (CreatePartitions) isCommand()    {}
func (AcceptLoss) isCommand()          {}
func (UpdateFeatures) isCommand()      {}
func (RestartCluster) isCommand()      {}
func (StopBroker) isCommand()          {}
func (StartBroker) isCommand()         {}
func (CreateTopic) isCommand()         {}
func (DeleteTopic) isCommand()         {}
func (ChangeISR) isCommand()           {}
func (RaiseEpoch) isCommand()          {}
func (AllocateProducerIDs) isCommand() {}
