package mirror

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// Command is something the mirror of a destination cluster is asked or told.
//
//sumtype:decl
type Command interface{ isCommand() }

// report is what a fetcher, the bus or a replica tells of one partition, or of a topic at the source.
//
//sumtype:decl
type report interface {
	Command
	isReport()
}

// CreateMirror makes the mirror (API 107). Answered with Answered.
type CreateMirror struct {
	Ref           core.RequestID
	Mirror        core.MirrorName
	SourceCluster core.ClusterID
	Config        map[string]string // bootstrap.servers and the rest, bare names
	Defaults      Defaults
}

// Defaults are the broker's settings for mirrors that do not set their own; 0: the built-in value.
type Defaults struct {
	LeaseMs  int64 // lockstep.claim.lease.ms
	DemoteMs int64 // mirror.sync.topic.demote.timeout.ms
	Unsynced bool  // this cluster runs with durability=os
}

// ConfigureMirror replaces the mirror's settings. Answered with Answered.
type ConfigureMirror struct {
	Ref    core.RequestID
	Config map[string]string
}

// DeleteMirror forgets the mirror; every topic must be STOPPED. Answered with Answered.
type DeleteMirror struct{ Ref core.RequestID }

// SourceTopic is a topic as the source describes it.
type SourceTopic struct {
	ID         core.TopicID
	Name       string
	Partitions int32
	Config     map[string]string // overrides to copy, the exclude list already applied (D22)
}

// LocalTopic is what this cluster knows of a topic's name and id. The sender fills it in from its
// released image.
type LocalTopic struct {
	Exists  bool
	ID      core.TopicID // of the local topic with that name; or with that id under another name
	Name    string
	Records int64           // sum of LEO - log start over its partitions
	Mirror  core.MirrorName // which mirror owns or owned it, "" none
	State   image.MirrorState
}

// StartTopic is one topic to mirror.
type StartTopic struct {
	Source SourceTopic
	Local  LocalTopic
	Type   Type
	Fresh  core.Incarnation // drawn by the sender for the data that will be mirrored
}

// StartTopics begins mirroring (API 95). Topics are resolved against the source by the sender; Include and
// Exclude are the patterns to keep for topics that appear later (nil: leave them as they are). A topic
// is read-only here before it exists. Answered with TopicsAnswered.
type StartTopics struct {
	Ref     core.RequestID
	Topics  []StartTopic
	Include []string
	Exclude []string
	Type    Type // for topics that Include finds later
}

// ObserveSource lists what the source has now that matches the patterns: new ones are started, as by
// StartTopics with the stored type.
type ObserveSource struct{ Topics []StartTopic }

// AlterType changes what is wanted of topics (API 110): one topic-level event each (F53). SYNC is deferred
// until lag zero; ASYNC un-claims at once. Answered with TopicsAnswered.
type AlterType struct {
	Ref    core.RequestID
	Topics []core.TopicID
	Type   Type
}

// StopTopics ends mirroring and makes the topics writable here (API 96, C8, C9). A stop and a failover are legal from
// every state and without a source. Answered with TopicsAnswered as soon as the stop, or the beginning of a switchover,
// is on disk.
type StopTopics struct {
	Ref     core.RequestID
	Topics  []core.TopicID
	Exclude []string // patterns to add to the exclude list, so that they are not found again
	Verb    Verb
}

// RecoverTopics takes FAILED topics back to mirroring (API 111), and DIVERGED ones if AcceptSource says that the
// source's history counts. Answered with TopicsAnswered.
type RecoverTopics struct {
	Ref          core.RequestID
	Topics       []core.TopicID
	AcceptSource bool
	Fresh        core.Incarnation // of the data from then on; drawn by the sender, one for each topic would do no more
}

// LocalTopicDeleted says that a mirrored topic was deleted in this cluster.
type LocalTopicDeleted struct{ Topic core.TopicID }

// LocalTopicAnswered reports what became of CreateLocalTopic. A topic that exists already under the same id
// is success.
type LocalTopicAnswered struct {
	Topic core.TopicID
	Code  perr.Code
	Text  string
}

// LocalTopicGrown reports what became of GrowLocalTopic.
type LocalTopicGrown struct {
	Topic core.TopicID
	Count int32
	Code  perr.Code
	Text  string
}

// ReportPartitions is how many partitions the source says a topic has.
type ReportPartitions struct {
	Topic core.TopicID
	Count int32
}

// ReportUnknownPartition is evidence of a partition that is not mirrored here: the source may have added it, and holds
// its writers back until we have it (C11).
type ReportUnknownPartition struct{ ID core.PartitionID }

// ReportProgress follows every answered fetch of a mirrored partition, empty ones included.
type ReportProgress struct {
	ID          core.PartitionID
	Session     core.MirrorSession
	Asked       int64            // mono ns when the answered request was sent
	Sync        bool             // a sync fetch that was not refused; false for the async reads of C5
	SourceEpoch core.LeaderEpoch // of the answer
	Adopted     core.LeaderEpoch // by our leader
	SourceHW    core.Offset
	LEO         core.Offset // durable, of our leader
	LagBytes    int64       // estimate of what SourceHW - LEO weighs
	Rate        int64       // bytes per second this partition was fetched at lately; 0: nothing to measure
	LocalEpoch  core.LeaderEpoch
	// Floor is what this cluster has stated, in the adopted epoch and for the present registration; Unknown: nothing.
	Floor core.Offset
	// EpochStart is where the source's leader epoch begins, learned of a source that states nothing; Unknown: not.
	EpochStart core.Offset
	Stated     bool // the answer carried what a leader of ours states of its gates
	Unsynced   bool // and it said that the source runs with durability=os
	ISRSize    int32
	MinISR     int32 // effective, of this cluster
}

// ReportFailure says that a fetch of a partition failed. Code 952 and 953 are about the registration and do
// not stop the data (C5); everything else is an ordinary error.
type ReportFailure struct {
	ID      core.PartitionID
	Session core.MirrorSession
	Asked   int64
	Code    perr.Code
	Text    string
}

// ReportDiverged says that R11 forbids a truncation: data kept, an operator decides.
type ReportDiverged struct {
	ID      core.PartitionID
	Session core.MirrorSession
	Text    string
}

// ReportReset says that what was promised of a partition's data no longer holds: it was reset to the source's
// log start, or cut below a published floor. Claims end and the data gets a new incarnation (R2, R11).
type ReportReset struct {
	ID      core.PartitionID
	Session core.MirrorSession
	Fresh   core.Incarnation
	Text    string
}

// ReportRejected says that what the source sends cannot be mirrored (bad bytes): not retried by itself.
type ReportRejected struct {
	ID      core.PartitionID
	Session core.MirrorSession
	Text    string
}

// ReportSourceTopicGone says that the source no longer has the topic: describe does not know the id and a
// fresh list confirms it.
type ReportSourceTopicGone struct {
	Topic core.TopicID
	Text  string
}

// RequestEpoch asks to raise our leader epoch, since the source's comes too close (D23).
type RequestEpoch struct {
	ID          core.PartitionID
	SourceEpoch core.LeaderEpoch
}

// ClaimTime is a source's instant: its clock when the evidence was composed, and its control journal's index.
type ClaimTime struct {
	Clock int64 // Unix milliseconds
	Index int64
}

// ReportEvidence is what a source leader states of our gate, in a fetch answer or over the bus. It is
// positive only: no evidence says nothing (F13).
type ReportEvidence struct {
	ID          core.PartitionID
	Sent        int64 // mono ns when the request or floor it answers was sent; 0: unknown, proves no contact
	Epoch       core.RegistrationEpoch
	SourceEpoch core.LeaderEpoch
	GateStart   core.Offset // Unknown: not stated here
	Floor       core.Offset // accepted by the leader in SourceEpoch under Epoch; Unknown: none
	T           ClaimTime
	Era         core.Era // under which the source takes the writes; 0: not stated
	// LeaseMs is how long a release after the lease withholds acks at the source; 0: not stated. Promised: every release
	// there does, counted from when the evidence was composed (C4).
	LeaseMs  int64
	Promised bool
	// Partitions is how many the topic had at the source at T; 0: not stated.
	Partitions int32
}

// ReportReleased is an explicit RELEASED(Number): a notice over the bus, or the tagged number beside 952. No
// Topics: the whole mirror.
type ReportReleased struct {
	Number core.ReleaseNumber
	Topics []core.TopicID
}

// ReportLifted says that the source's operator no longer refuses recoveries. No Topics: the whole mirror.
type ReportLifted struct{ Topics []core.TopicID }

// RegisterAnswered is the source's answer to SendRegister.
type RegisterAnswered struct {
	Topic      core.TopicID
	Generation core.Generation // of the command it answers
	Code       perr.Code
	Text       string
	Epoch      core.RegistrationEpoch
	Gates      []GateStart
	Number     core.ReleaseNumber
	Held       bool             // beside Number: recoveries are refused until the source's operator says otherwise
	Newest     core.Generation  // not 0: superseded
	Fresh      core.Incarnation // drawn by the sender, for a destination that turns out to be restored
	Era        core.Era         // under which the source takes the writes; 0: not stated
}

// GateStart says from where on a source leader gates.
type GateStart struct {
	Partition   int32
	LeaderEpoch core.LeaderEpoch
	Start       core.Offset
}

// UnregisterAnswered is the source's answer to SendUnregister.
type UnregisterAnswered struct {
	Topic      core.TopicID
	Generation core.Generation
	Code       perr.Code
	Text       string
	Newest     core.Generation
	LEO        []core.Offset // by partition, for a stop; Unknown or missing: not stated
	Fresh      core.Incarnation
}

// Outcome says how a switchover or failover stands at the source.
type Outcome int8

const (
	Refused    Outcome = 0 // see Code
	Fencing    Outcome = 1 // under way
	Superseded Outcome = 2 // this cluster takes the writes
	Ended      Outcome = 3 // the source takes them as before
)

// SupersedeAnswered is the source's answer to SendSupersede.
type SupersedeAnswered struct {
	Topic      core.TopicID
	Generation core.Generation
	Code       perr.Code
	Text       string
	Outcome    Outcome
	Era        core.Era
	Newest     core.Generation // not 0: superseded by a newer command
	Ends       []End           // where the source ends, by partition
	Fresh      core.Incarnation
}

// End is where a partition of a source that handed over ends.
type End struct {
	Partition int32
	LEO       core.Offset
}

// FenceAnswered reports what became of FencePartition. Not OK: asked again.
type FenceAnswered struct {
	ID    core.PartitionID
	OK    bool
	LME   core.LeaderEpoch
	LEO   core.Offset
	Epoch core.LeaderEpoch // our leader epoch
	Text  string
}

// EpochAnswered reports what became of RaiseEpoch.
type EpochAnswered struct {
	ID    core.PartitionID
	Code  perr.Code
	Epoch core.LeaderEpoch
	Text  string
}

// ResetAnswered reports what became of WritePidReset. Not OK: asked again.
type ResetAnswered struct {
	ID   core.PartitionID
	OK   bool
	Text string
}

// Republish is the first command after a replay, before any election: it publishes what is mirrored, and
// nothing else happens.
type Republish struct{ Defaults Defaults }

// Resume drives everything again from the hard state: fetchers, pending commands, half-finished stops. It is
// sent once the replicas of this cluster run.
type Resume struct{ Defaults Defaults }

// Describe is answered with Described.
type Describe struct{ Ref core.RequestID }

// Tick is the clock.
type Tick struct{}

func (CreateMirror) isCommand()           {}
func (ConfigureMirror) isCommand()        {}
func (DeleteMirror) isCommand()           {}
func (StartTopics) isCommand()            {}
func (ObserveSource) isCommand()          {}
func (AlterType) isCommand()              {}
func (StopTopics) isCommand()             {}
func (RecoverTopics) isCommand()          {}
func (LocalTopicDeleted) isCommand()      {}
func (LocalTopicAnswered) isCommand()     {}
func (ReportProgress) isCommand()         {}
func (ReportFailure) isCommand()          {}
func (ReportDiverged) isCommand()         {}
func (ReportReset) isCommand()            {}
func (ReportRejected) isCommand()         {}
func (ReportSourceTopicGone) isCommand()  {}
func (RequestEpoch) isCommand()           {}
func (ReportEvidence) isCommand()         {}
func (ReportReleased) isCommand()         {}
func (RegisterAnswered) isCommand()       {}
func (UnregisterAnswered) isCommand()     {}
func (SupersedeAnswered) isCommand()      {}
func (FenceAnswered) isCommand()          {}
func (EpochAnswered) isCommand()          {}
func (ResetAnswered) isCommand()          {}
func (Republish) isCommand()              {}
func (Resume) isCommand()                 {}
func (Describe) isCommand()               {}
func (Tick) isCommand()                   {}
func (LocalTopicGrown) isCommand()        {}
func (ReportPartitions) isCommand()       {}
func (ReportUnknownPartition) isCommand() {}
func (ReportLifted) isCommand()           {}

func (ReportProgress) isReport()        {}
func (ReportFailure) isReport()         {}
func (ReportEvidence) isReport()        {}
func (ReportDiverged) isReport()        {}
func (ReportRejected) isReport()        {}
func (ReportReset) isReport()           {}
func (ReportSourceTopicGone) isReport() {}
func (FenceAnswered) isReport()         {}
func (EpochAnswered) isReport()         {}
func (ResetAnswered) isReport()         {}
