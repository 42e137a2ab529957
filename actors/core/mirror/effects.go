package mirror

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for a mirror. All but ArmTimer are late. Everything is asked
// again until it is answered, so a performer may drop what it cannot do now.
//
//sumtype:decl
type Effect interface{ isEffect() }

// Answered answers a request about the mirror as a whole.
type Answered struct {
	Ref  core.RequestID
	Code perr.Code
	Text string
}

// TopicsAnswered answers a request about topics, in the order they were named.
type TopicsAnswered struct {
	Ref    core.RequestID
	Code   perr.Code // about the request as a whole, such as an unknown mirror
	Text   string
	Topics []TopicResult
}

// TopicResult is the answer for one topic. Warning is set beside success: what the operator should know.
type TopicResult struct {
	Topic   core.TopicID
	Name    string
	Code    perr.Code
	Text    string
	Warning string
}

// Described answers Describe.
type Described struct {
	Ref    core.RequestID
	Mirror Description
}

// Publish hands facts to the image publisher. It comes before CreateLocalTopic of the same topic, so that
// there is no writable instant.
type Publish struct{ Facts []image.Fact }

// CreateLocalTopic asks the controller for the topic (controller.CreateTopic with Mirrored and the source's id),
// then sends LocalTopicAnswered.
type CreateLocalTopic struct{ Topic SourceTopic }

// GrowLocalTopic asks the controller for more partitions (controller.CreatePartitions with Mirrored), then sends
// LocalTopicGrown.
type GrowLocalTopic struct {
	Topic core.TopicID
	Count int32
}

// RefreshSource asks the fetchers to read the source's metadata now.
type RefreshSource struct{ Mirror core.MirrorName }

// WatchSource replaces what the fetchers look for at the source: they list matching topics now and then and
// send ObserveSource. No Include: nothing to look for.
type WatchSource struct {
	Mirror  core.MirrorName
	Config  map[string]string
	Include []string
	Exclude []string
}

// FetchMode says how partitions of a topic are fetched.
type FetchMode int8

const (
	FetchOff   FetchMode = 0
	FetchAsync FetchMode = 1 // up to the source's HW
	FetchSync  FetchMode = 2 // up to its LEO, with MirrorReplicaInfo and floors
)

// FetchTopic replaces what is fetched for one topic, at whichever broker leads each partition here. A fetch
// in sync mode that is refused with 952 or 953 keeps its data flowing in async reads while it probes (C5).
type FetchTopic struct {
	Mirror        core.MirrorName
	Config        map[string]string // of the mirror: bootstrap.servers and the rest
	SourceCluster core.ClusterID
	Topic         core.TopicID
	Name          string
	Partitions    int32
	Session       core.MirrorSession
	Mode          FetchMode
	Epoch         core.RegistrationEpoch // 0: not known yet
	Incarnation   core.Incarnation
	FollowUnclean bool
	// Accept lists partitions whose next alignment takes the source's history, whatever it cuts (R11).
	Accept []int32
}

// SendRegister carries one Register to the source. It is repeated with the same content and rising Attempt
// (200 ms doubling to 5 s) until answered or replaced; each attempt is one message, over the bus and the Kafka
// port in turn. The performer adds its cluster id and the clusters that gate behind us as path (C11).
type SendRegister struct {
	Mirror      core.MirrorName
	Config      map[string]string
	Topic       core.TopicID
	Name        string
	Generation  core.Generation
	Echo        core.ReleaseNumber
	Recovery    bool
	Incarnation core.Incarnation
	MinISR      int32
	Partitions  int32
	Attempt     int32
}

// SendUnregister carries one Unregister to the source. With a Deadline (mono ns; a stop) it is one message:
// whatever was not delivered by then is withdrawn, with the connection that carries it, and never retried,
// since it would un-gate a source whose mirror has opened (C8, model W7). Deadline 0: as SendRegister.
type SendUnregister struct {
	Mirror     core.MirrorName
	Config     map[string]string
	Topic      core.TopicID
	Name       string
	Generation core.Generation
	Stop       bool // mode STOP instead of DEMOTE
	Deadline   int64
	Attempt    int32
}

// SendSupersede asks the source to hand a topic over, or tells it that this cluster has failed over. Repeated like
// SendRegister, a failover for as long as it takes.
type SendSupersede struct {
	Mirror     core.MirrorName
	Config     map[string]string
	Topic      core.TopicID
	Name       string
	Generation core.Generation
	Failover   bool     // else a switchover
	Era        core.Era // a failover's; the least that a switchover may begin
	Attempt    int32
}

// FencePartition ends mirroring at our leader (partition.FenceMirror); answered with FenceAnswered. The
// fetchers of the topic were told FetchOff before.
type FencePartition struct {
	ID      core.PartitionID
	Session core.MirrorSession
	Keep    partition.KeepProducers
}

// RaiseEpoch asks the controller for a leader epoch of at least Min; answered with EpochAnswered.
type RaiseEpoch struct {
	ID  core.PartitionID
	Min core.LeaderEpoch
}

// WritePidReset asks our leader for the control batch (partition.WritePidReset); answered with ResetAnswered.
type WritePidReset struct {
	ID   core.PartitionID
	Keep partition.KeepProducers
}

// ArmTimer asks for a Tick at At (mono ns).
type ArmTimer struct{ At int64 }

func (e Answered) ReplyTo() core.RequestID       { return e.Ref }
func (e TopicsAnswered) ReplyTo() core.RequestID { return e.Ref }
func (e Described) ReplyTo() core.RequestID      { return e.Ref }

func (Answered) isEffect()         {}
func (TopicsAnswered) isEffect()   {}
func (Described) isEffect()        {}
func (Publish) isEffect()          {}
func (CreateLocalTopic) isEffect() {}
func (WatchSource) isEffect()      {}
func (GrowLocalTopic) isEffect()   {}
func (RefreshSource) isEffect()    {}
func (FetchTopic) isEffect()       {}
func (SendRegister) isEffect()     {}
func (SendUnregister) isEffect()   {}
func (SendSupersede) isEffect()    {}
func (FencePartition) isEffect()   {}
func (RaiseEpoch) isEffect()       {}
func (WritePidReset) isEffect()    {}
func (ArmTimer) isEffect()         {}
