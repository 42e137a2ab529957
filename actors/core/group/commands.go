package group

import (
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/assignor"
	"lockstep/actors/core/image"
)

// Command is something a shard of consumer groups is asked to do. Times in commands are milliseconds,
// as on the wire; instants are mono nanoseconds.
//
//sumtype:decl
type Command interface{ isCommand() }

// Resume is sent once, after replay and before anything else: it gives every member that replay
// brought back a fresh session, so that a group survives a restart of the process and a member that
// did not is found out. Sent again, it only replaces the settings.
type Resume struct{ Settings Settings }

// Settings are the broker settings the groups obey. Kafka's names are in the comments.
type Settings struct {
	InitialDelayMs       int64 // group.initial.rebalance.delay.ms; 0: an empty group completes at once
	MinSessionMs         int64 // group.min.session.timeout.ms
	MaxSessionMs         int64 // group.max.session.timeout.ms
	MaxSize              int32 // group.max.size; 0: unlimited
	ConsumerSessionMs    int64 // group.consumer.session.timeout.ms
	HeartbeatMs          int64 // group.consumer.heartbeat.interval.ms
	MinConsumerSessionMs int64 // group.consumer.min.session.timeout.ms, and so on: what a group may set
	MaxConsumerSessionMs int64
	MinHeartbeatMs       int64
	MaxHeartbeatMs       int64
	ConsumerMaxSize      int32 // group.consumer.max.size; 0: unlimited
	Migration            Migration
	MaxMetadataBytes     int32 // offset.metadata.max.bytes
	MaxMemberBytes       int32 // lockstep.group.member.max.bytes: names and metadata of one member's protocols
	RetentionMs          int64 // offsets.retention.minutes
	RetentionCheckMs     int64 // offsets.retention.check.interval.ms
	MaxShardBytes        int64 // lockstep.group.shard.max.bytes: of members, and again of groups with their offsets
}

// DefaultSettings are Kafka's, as far as it has them.
func DefaultSettings() Settings {
	return Settings{InitialDelayMs: 3_000, MinSessionMs: 6_000, MaxSessionMs: 1_800_000, MaxMetadataBytes: 4096,
		ConsumerSessionMs: 45_000, HeartbeatMs: 5_000, MinConsumerSessionMs: 45_000, MaxConsumerSessionMs: 60_000, MinHeartbeatMs: 5_000, MaxHeartbeatMs: 15_000,
		Migration: Bidirectional, RetentionMs: 7 * 24 * 3_600_000, RetentionCheckMs: 600_000, MaxMemberBytes: 1 << 20, MaxShardBytes: 32 << 20}
}

// JoinGroup asks for a place in the next generation. Answered by Joined, at once or when the round of
// joins is complete.
type JoinGroup struct {
	Ref      core.RequestID
	Group    string
	MemberID string // "" for a newcomer
	// NewMemberID becomes the member's id when MemberID is "" (or a static member returns). The caller
	// draws it, "<client id or instance id>-<uuid>": the core has no randomness.
	NewMemberID string
	InstanceID  *string // static membership
	ClientID    string
	ClientHost  string // Kafka writes "/127.0.0.1"
	// NeedsKnownID is set for JoinGroup v4 and later without an instance id: a newcomer is told its id
	// first (MEMBER_ID_REQUIRED) and joins with it.
	NeedsKnownID bool
	// SkipsAssignment is set for v9 and later: a returning static leader may be told to skip assigning.
	SkipsAssignment    bool
	ProtocolType       string
	Protocols          []Protocol // in order of preference
	SessionTimeoutMs   int64
	RebalanceTimeoutMs int64 // v0: the session time-out
	// Image is of the broker that was asked; a group that has members of the consumer protocol looks topics up in it.
	Image *image.Image
	// Asker is who sent it: patterns find the topics that they may describe.
	Asker access.Asker
}

// Protocol is one assignor a member supports, with its subscription.
type Protocol struct {
	Name     string
	Metadata []byte
}

// SyncGroup asks for the assignment of a generation; the leader brings it. Answered by Synced.
type SyncGroup struct {
	Ref          core.RequestID
	Group        string
	Generation   int32
	MemberID     string
	InstanceID   *string
	ProtocolType *string // nil: not stated (before v5)
	Protocol     *string // nil: not stated (before v5)
	Assignments  []Assignment
}

// Assignment is what the leader gives one member.
type Assignment struct {
	MemberID string
	Data     []byte
}

// Heartbeat keeps a member's session alive. Answered by Beaten.
type Heartbeat struct {
	Ref        core.RequestID
	Group      string
	Generation int32
	MemberID   string
	InstanceID *string
}

// LeaveGroup removes members. Answered by Left, one result per member in the order given; before v3
// there is one, and its code is the answer's.
type LeaveGroup struct {
	Ref     core.RequestID
	Group   string
	Members []Leaver
}

// Leaver names a member by id, by instance id with an empty id, or by both.
type Leaver struct {
	MemberID   string
	InstanceID *string
}

// OffsetCommit stores offsets. Topics the caller does not know are refused by the caller (G16).
// Answered by OffsetsCommitted, one result per entry in the order given.
type OffsetCommit struct {
	Ref        core.RequestID
	Group      string
	Generation int32 // -1: a simple consumer or a tool
	MemberID   string
	InstanceID *string
	// KnowsGroupNotFound is set for OffsetCommit v9 and later (K2).
	KnowsGroupNotFound bool
	RetainMs           int64 // how long to keep them, which clients could say up to v4; 0 or less: offsets.retention.minutes
	Offsets            []OffsetToCommit
}

// OffsetToCommit is one position.
type OffsetToCommit struct {
	Topic       string
	TopicID     core.TopicID // of the topic now: a topic made anew under the name does not inherit offsets (F34)
	Partition   int32
	Offset      core.Offset
	LeaderEpoch core.LeaderEpoch // NoEpoch: not stated; returned exactly as given (E03)
	Metadata    string
}

// OffsetFetch reads offsets. A group never seen answers Unknown everywhere and no error (K1). Answered by
// OffsetsFetched.
type OffsetFetch struct {
	Ref    core.RequestID
	Group  string
	Topics []TopicPartitions // nil: all that is stored
	// MemberID and Epoch are those of a member of the consumer protocol, which reads only on its epoch; nil: not stated.
	MemberID *string
	Epoch    int32
	// RequireStable refuses positions that an open transaction may change (KIP-447).
	RequireStable bool
}

// TopicPartitions asks for some partitions of a topic. ID, when not zero, must be the one the offset
// was stored under.
type TopicPartitions struct {
	Topic      string
	ID         core.TopicID
	Partitions []int32
}

// DescribeGroup asks for one group. Answered by Described.
type DescribeGroup struct {
	Ref   core.RequestID
	Group string
}

// ListGroups asks for the groups of this shard. Filters compare without case; empty means all.
// Answered by Listed.
type ListGroups struct {
	Ref    core.RequestID
	States []string
	Types  []string // this server has "classic" only
}

// ConsumerBeat is the one request of a member of the consumer protocol (KIP-848): it joins, stays, says what it has and
// leaves with it. Answered by ConsumerBeaten.
type ConsumerBeat struct {
	Ref         core.RequestID
	Group       string
	MemberID    string
	Epoch       int32 // 0 joins, -1 leaves, -2 leaves to come back
	InstanceID  *string
	RackID      *string
	RebalanceMs int64    // negative: as before
	Topics      []string // nil: as before
	Regex       *string  // nil: as before; "": none
	Assignor    *string
	Owned       assignor.Partitions // nil: as before
	ClientID    string
	ClientHost  string       // Kafka writes "/127.0.0.1"
	Image       *image.Image // of the broker that was asked; topics are looked up in it
	Asker       access.Asker // patterns find the topics that they may describe
}

// DescribeConsumers asks for one group of the consumer protocol. Answered by ConsumersDescribed.
type DescribeConsumers struct {
	Ref   core.RequestID
	Group string
}

// DeleteGroup removes a group without members. Answered by Deleted.
type DeleteGroup struct {
	Ref   core.RequestID
	Group string
}

// DeleteOffsets removes single positions. Answered by OffsetsDeleted.
type DeleteOffsets struct {
	Ref       core.RequestID
	Group     string
	Positions []PositionRecord
}

// Tick is the clock: sessions, rounds of joins and of syncs that are over, offsets nobody uses.
type Tick struct{}

func (Resume) isCommand()            {}
func (JoinGroup) isCommand()         {}
func (SyncGroup) isCommand()         {}
func (Heartbeat) isCommand()         {}
func (LeaveGroup) isCommand()        {}
func (OffsetCommit) isCommand()      {}
func (OffsetFetch) isCommand()       {}
func (DescribeGroup) isCommand()     {}
func (ListGroups) isCommand()        {}
func (ConsumerBeat) isCommand()      {}
func (DescribeConsumers) isCommand() {}
func (DeleteGroup) isCommand()       {}
func (DeleteOffsets) isCommand()     {}
func (Tick) isCommand()              {}
