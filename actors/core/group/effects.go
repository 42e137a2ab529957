package group

import (
	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for a shard of groups.
//
//sumtype:decl
type Effect interface{ isEffect() }

// Joined answers JoinGroup. With MEMBER_ID_REQUIRED MemberID is the id to join with.
type Joined struct {
	Ref            core.RequestID
	Code           perr.Code
	Text           string
	Generation     int32  // -1 on error
	ProtocolType   string // "": none (null on the wire)
	Protocol       string // "": none; the front sends "" before v7 and null from v7
	Leader         string
	SkipAssignment bool // only ever set for a command with SkipsAssignment
	MemberID       string
	Members        []JoinedMember // for the leader only, sorted by id
}

// JoinedMember tells the leader what a member subscribes to, in the selected protocol's terms.
type JoinedMember struct {
	MemberID   string
	InstanceID *string
	Metadata   []byte
}

// Synced answers SyncGroup.
type Synced struct {
	Ref          core.RequestID
	Code         perr.Code
	ProtocolType string
	Protocol     string
	Assignment   []byte
}

// Beaten answers Heartbeat.
type Beaten struct {
	Ref  core.RequestID
	Code perr.Code
}

// Left answers LeaveGroup.
type Left struct {
	Ref     core.RequestID
	Code    perr.Code // of the whole request; members carry their own
	Members []LeftMember
}

// LeftMember is the result for one Leaver.
type LeftMember struct {
	MemberID   string
	InstanceID *string
	Code       perr.Code
}

// OffsetsCommitted answers OffsetCommit: Codes[i] belongs to Offsets[i] of the command.
type OffsetsCommitted struct {
	Ref   core.RequestID
	Codes []perr.Code
}

// OffsetsFetched answers OffsetFetch, in the order asked; for "all" sorted by topic and partition.
type OffsetsFetched struct {
	Ref     core.RequestID
	Code    perr.Code
	Offsets []FetchedOffset
}

// FetchedOffset is one position; Offset is core.Unknown (-1) when there is none.
type FetchedOffset struct {
	Topic       string
	TopicID     core.TopicID // it was stored under; zero if that is not known
	Partition   int32
	Offset      core.Offset
	LeaderEpoch core.LeaderEpoch
	Metadata    string
	Code        perr.Code // UNSTABLE_OFFSET_COMMIT: a transaction is about to change it
}

// Described answers DescribeGroup. A group that does not exist has Found false and State Dead: up to
// DescribeGroups v5 that is an answer without an error, from v6 GROUP_ID_NOT_FOUND.
type Described struct {
	Ref         core.RequestID
	Found       bool
	Consumers   bool // not found because it is a group of the consumer protocol
	Description Description
}

// Description is what people see of a group.
type Description struct {
	Group        string
	State        Phase
	ProtocolType string
	Protocol     string // only while Stable, as Kafka
	Generation   int32
	Leader       string
	Members      []DescribedMember // sorted by id
}

// DescribedMember is one member. Metadata and Assignment are nil unless the group is Stable.
type DescribedMember struct {
	MemberID   string
	InstanceID *string
	ClientID   string
	ClientHost string
	Metadata   []byte
	Assignment []byte
}

// Listed answers ListGroups, sorted by group.
type Listed struct {
	Ref    core.RequestID
	Groups []ListedGroup
}

// ListedGroup is one line of a listing.
type ListedGroup struct {
	Group        string
	ProtocolType string // "consumer", or "" for offsets without members
	State        string // Kafka's name of it
	Type         string // "classic" or "consumer"
}

// ConsumerBeaten answers ConsumerBeat. Text is for whoever looks into a client's log.
type ConsumerBeaten struct {
	Ref         core.RequestID
	Code        perr.Code
	Text        string
	MemberID    string
	Epoch       int32
	HeartbeatMs int64 // how often the member is to be heard
	Assigned    bool  // Assignment is given; else it is as before
	Assignment  assignor.Partitions
}

// ConsumersDescribed answers DescribeConsumers.
type ConsumersDescribed struct {
	Ref         core.RequestID
	Found       bool // as a group of the consumer protocol
	State       string
	Epoch       int32
	TargetEpoch int32
	Assignor    string
	Members     []DescribedConsumer // by id
}

// DescribedConsumer is one member of a group of the consumer protocol.
type DescribedConsumer struct {
	Said             ConsumerRecord
	Epoch            int32
	Assigned, Target assignor.Partitions
}

// Deleted answers DeleteGroup.
type Deleted struct {
	Ref  core.RequestID
	Code perr.Code
}

// OffsetsDeleted answers DeleteOffsets: Codes[i] belongs to Positions[i] of the command, unless Code is set.
type OffsetsDeleted struct {
	Ref   core.RequestID
	Code  perr.Code
	Codes []perr.Code
}

// ArmTimer asks for a Tick at At (mono ns).
type ArmTimer struct{ At int64 }

func (e Joined) ReplyTo() core.RequestID           { return e.Ref }
func (e Synced) ReplyTo() core.RequestID           { return e.Ref }
func (e Beaten) ReplyTo() core.RequestID           { return e.Ref }
func (e Left) ReplyTo() core.RequestID             { return e.Ref }
func (e OffsetsCommitted) ReplyTo() core.RequestID { return e.Ref }
func (e OffsetsFetched) ReplyTo() core.RequestID   { return e.Ref }
func (e Described) ReplyTo() core.RequestID        { return e.Ref }
func (e Listed) ReplyTo() core.RequestID           { return e.Ref }

func (e ConsumerBeaten) ReplyTo() core.RequestID     { return e.Ref }
func (e ConsumersDescribed) ReplyTo() core.RequestID { return e.Ref }
func (e Deleted) ReplyTo() core.RequestID            { return e.Ref }
func (e OffsetsDeleted) ReplyTo() core.RequestID     { return e.Ref }

func (Joined) isEffect()             {}
func (Synced) isEffect()             {}
func (Beaten) isEffect()             {}
func (Left) isEffect()               {}
func (OffsetsCommitted) isEffect()   {}
func (OffsetsFetched) isEffect()     {}
func (Described) isEffect()          {}
func (Listed) isEffect()             {}
func (ConsumerBeaten) isEffect()     {}
func (ConsumersDescribed) isEffect() {}
func (Deleted) isEffect()            {}
func (OffsetsDeleted) isEffect()     {}
func (ArmTimer) isEffect()           {}
