package registration

import "lockstep/actors/core"

// Command is something the registration ledger of a source cluster is asked to do.
//
//sumtype:decl
type Command interface{ isCommand() }

// Source is what this cluster knows of the topic a request names. The sender fills it in from its
// released image; the topic id alone decides, the name is only checked (F34).
type Source struct {
	Known      bool
	Name       string
	Partitions int32
	Mirrored   bool     // the topic follows a source itself and is not STOPPED
	Unsynced   bool     // this cluster runs with durability=os
	ProvenOnly bool     // lockstep.sync.min.class=proven: no peer that can only report (R14)
	Era        core.Era // under which this cluster took it over from another; 0: it never did
}

// Mode says what a command of a destination is for. A wire Unregister without it means ModeDemote (F53).
type Mode int8

const (
	ModeDemote     Mode = 0 // Unregister: the destination returns to ASYNC
	ModeStop       Mode = 1 // Unregister: the destination stops mirroring; the answer names the LEOs at un-gating
	ModeSwitchover Mode = 3 // SupersedeTopic: fence, wait for the destination, hand over
	ModeFailover   Mode = 4 // SupersedeTopic: the destination has taken over already
)

// RegisterTopic asks this source to gate acks on a destination, for one topic. The front sends one per
// topic of a request and gathers the answers. Answered with RegisterAnswered.
type RegisterTopic struct {
	Ref   core.RequestID
	Key   core.MirrorKey
	Topic core.TopicID
	Name  string
	// Generation numbers the commands of the destination for this key; 0: a peer that speaks only the
	// KIP. Of such a peer the front passes one request at a time per connection and drops what a closed
	// connection left behind (C3).
	Generation  core.Generation
	Echo        core.ReleaseNumber // newest release the destination knows of
	Recovery    bool               // the KIP's RecoveryPromotion
	Incarnation core.Incarnation   // of the destination's data
	MinISR      int32              // of the destination, effective; pinned (F32)
	Partitions  int32              // that the destination has of the topic; 0 or less: not stated
	Path        []core.ClusterID   // the destination and everything that gates behind it (C11)
	Unsynced    bool               // the destination runs with durability=os
	CanGate     bool               // this cluster can gate: feature on, Fetch >= 20
	Source      Source
}

// UnregisterTopic ends a registration at the destination's wish. It never clears a release marker.
// Answered with UnregisterAnswered.
type UnregisterTopic struct {
	Ref        core.RequestID
	Key        core.MirrorKey
	Topic      core.TopicID
	Name       string
	Generation core.Generation
	Mode       Mode
	Source     Source
}

// SupersedeTopic hands a topic's writes to the destination (C8). ModeSwitchover is answered when it is done, over, or a
// second old; the destination repeats it until it has an outcome. ModeFailover states a fact. Answered with
// SupersedeAnswered.
type SupersedeTopic struct {
	Ref        core.RequestID
	Key        core.MirrorKey
	Topic      core.TopicID
	Name       string
	Generation core.Generation
	Mode       Mode
	Era        core.Era // ModeFailover: the destination's; ModeSwitchover: the least it may become, 0 for any
	Source     Source
	Patience   int64 // ns until a fence is lifted by itself (lockstep.switchover.timeout.ms)
}

// ReportFenced comes from a partition leader that applies a fence, whenever its LEO or floors change.
type ReportFenced struct {
	ID          core.PartitionID
	Number      int64 // of the fence
	LeaderEpoch core.LeaderEpoch
	LEO         core.Offset // durable, and final in LeaderEpoch
	Floors      []GateFloor
}

// GateFloor is the accepted floor of one mirror, in the leader's epoch; Unknown: none.
type GateFloor struct {
	Key   core.MirrorKey
	Epoch core.RegistrationEpoch
	Floor core.Offset
}

// ReleaseMirror is the operator's --release-sync at the source: API 109 with mode RELEASE. The cluster
// of the destination is found by the mirror's name. No Topics: the whole mirror, with a mirror marker that
// stays (F35). Forget also gives the name free for another cluster (F33). Answered with ReleaseAnswered.
type ReleaseMirror struct {
	Ref    core.RequestID
	Mirror core.MirrorName
	Topics []core.TopicID // patterns are resolved by the caller
	Forget bool           // only without Topics
	Hold   bool           // refuse recoveries until LiftHold (C4)
	DryRun bool
	Force  bool // also topics that the mirror has taken over: this cluster takes their writes again; and no promise is kept
	// AfterLease withholds acks until the destination has said that it claims nothing any more, or Lease is over. A
	// promise given in evidence asks for it, whether the operator does or not.
	AfterLease bool
	Lease      int64 // ns (lockstep.claim.lease.ms)
}

// ReleasePublished says that no evidence vouches for what release Number of Key covers any more: from now on the lease
// of what was stated before runs out (C4). The performer of NoteRelease sends it.
type ReleasePublished struct {
	Key    core.MirrorKey
	Number core.ReleaseNumber
	Lease  int64 // ns, as in ReleaseMirror
}

// LiftHold is the operator's --release-sync --unhold: recoveries of the topics are judged by their echo again.
// No Topics: every topic of the mirror. The markers stay. Answered with ReleaseAnswered.
type LiftHold struct {
	Ref    core.RequestID
	Mirror core.MirrorName
	Topics []core.TopicID
	DryRun bool
}

// ReportGate comes from a partition leader, once its high watermark waits for the mirror (D17).
type ReportGate struct {
	Key         core.MirrorKey
	ID          core.PartitionID
	Epoch       core.RegistrationEpoch
	LeaderEpoch core.LeaderEpoch
	GateStart   core.Offset
}

// ReportUngated comes from a partition leader that published gates with (Key, Epoch) before and now, having
// applied a newer image, publishes them without. LEO is that replica's, read after the change: whatever the
// un-gating itself acknowledged lies below it (F17).
type ReportUngated struct {
	Key   core.MirrorKey
	ID    core.PartitionID
	Epoch core.RegistrationEpoch
	LEO   core.Offset
}

// ReportAddition comes from the leader of a partition that was added to a gated topic, once the mirror reports of it.
type ReportAddition struct {
	Key   core.MirrorKey
	ID    core.PartitionID
	Epoch core.RegistrationEpoch
}

// ReportTold says that a fetch of Key was refused with 952 while the release Number was in force: what a
// bare RecoveryPromotion of a plain peer needs before it counts (C3, model K6d).
type ReportTold struct {
	Key    core.MirrorKey
	Topic  core.TopicID
	Number core.ReleaseNumber
}

// DropTopic says that a topic was deleted: its gates close with it (F34).
type DropTopic struct{ Topic core.TopicID }

// ReturnTopic says that a topic is writable here that a mirror has brought: one that was deleted before, and had been
// handed over, comes back under its id.
type ReturnTopic struct{ Topic core.TopicID }

// Resume is the first command after a replay, before any election. Topics are all that exist; entries of
// others are dropped. It publishes the full set of facts and the ledger. Patience is given to every fence anew: leaders
// begin to report only now.
//
// With Promise, evidence says from now on that every release waits for the lease.
type Resume struct {
	Topics   []core.TopicID
	Patience int64
	Lease    int64 // ns (lockstep.claim.lease.ms)
	Promise  bool  // lockstep.release.after.lease
}

// Describe is answered with Described.
type Describe struct{ Ref core.RequestID }

// Tick is the clock: answers that wait for leaders are given up after a second.
type Tick struct{}

func (RegisterTopic) isCommand()    {}
func (UnregisterTopic) isCommand()  {}
func (SupersedeTopic) isCommand()   {}
func (ReportFenced) isCommand()     {}
func (ReleaseMirror) isCommand()    {}
func (LiftHold) isCommand()         {}
func (ReleasePublished) isCommand() {}
func (ReportGate) isCommand()       {}
func (ReportUngated) isCommand()    {}
func (ReportAddition) isCommand()   {}
func (ReportTold) isCommand()       {}
func (DropTopic) isCommand()        {}
func (ReturnTopic) isCommand()      {}
func (Resume) isCommand()           {}
func (Describe) isCommand()         {}
func (Tick) isCommand()             {}
