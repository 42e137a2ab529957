package partition

import (
	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// Command is something a partition replica is asked to do.
//
//sumtype:decl
type Command interface{ isCommand() }

// Role says what a leader does with its log.
type Role uint8

const (
	Writable  Role = iota // an ordinary topic, or a mirrored one after STOPPED
	Mirroring             // the log follows a source; client writes are refused
	Stopping              // being stopped: only control batches of our own are appended
)

// Lead makes this replica the leader under Epoch. The image carried it, so the epoch is already
// durable on the control majority (R12). Repeated with the same epoch it only updates the rest.
type Lead struct {
	Epoch    core.LeaderEpoch
	Role     Role
	Mirror   core.MirrorName // set while Role is not Writable
	Opening  bool            // it is about to become Writable
	Session  core.MirrorSession
	Replicas []core.ReplicaID // all assigned, this one included
	Fence    Fence
}

// Fence refuses every client batch, whatever its acks: the topic's writes move to another cluster (C8). What waits
// keeps waiting. Number 0: there is none.
type Fence struct {
	Number int64
	Code   perr.Code
	Text   string
	Final  bool // the writes have moved: not even transactions are ended here any more
}

// Follow makes this replica a follower of Leader (NoReplica: nobody leads). In the same event every
// waiter fails with NOT_LEADER_OR_FOLLOWER (R6).
type Follow struct {
	Epoch  core.LeaderEpoch
	Leader core.ReplicaID
}

// AppendBatch is one client batch for the leader. The machine owns Batch.Bytes from here on: it
// stamps base offset and leader epoch into them, which lie outside the CRC.
type AppendBatch struct {
	Ref      core.RequestID
	Batch    batch.Batch
	Acks     int16 // -1, 0 or 1
	Deadline int64 // mono ns: when the waiter is answered with a time-out (90 % of timeoutMs, R10)
	Client   string
	Weak     WeakAcks
	// InTxn: the transaction coordinator has said, just before, that the batch's transaction is open and has this
	// partition. Needed for the first transactional batch of a transaction (KIP-890).
	InTxn bool
}

// WriteMarker ends the transaction of a producer in this partition, for its coordinator. It is answered when the
// marker is below HW, and waits for that as long as the leader's epoch lasts; told again, it waits for the marker that
// is there (T16). It passes what refuses new batches, a fence and admission: the transaction is decided (C12).
type WriteMarker struct {
	Ref core.RequestID
	// Epoch is that of the leader who is asked: a question that was overtaken by an election must not end what began since.
	Epoch            core.LeaderEpoch
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32
}

// DeleteRecords asks the leader to give up everything below Before, exclusive; Unknown stands for HW. Answered by
// RecordsDeleted. It is a write: whatever refuses the batches of clients for being made elsewhere refuses this.
type DeleteRecords struct {
	Ref    core.RequestID
	Before core.Offset
}

// ExpireRecords gives up what is below Before, exclusive, as far as it is committed: the retention of the topic says so, of
// the log of Epoch. Where clients may not write it does nothing: the log is another cluster's to shorten.
type ExpireRecords struct {
	Epoch  core.LeaderEpoch
	Before core.Offset
	Reason Reason
}

// PrepareCleaning begins a pass of compaction, over this replica's own log, whoever leads. Answered by CleaningPrepared.
type PrepareCleaning struct{ Ref core.RequestID }

// CleanBatches are the next batches of a pass, by offset. Done says that it has come to its end at To, exclusive, and when the
// next tombstone or marker may go. Answered by BatchesCleaned, once they are on disk.
type CleanBatches struct {
	Ref     core.RequestID
	Pass    core.RequestID
	Batches []batch.Batch
	Done    bool
	To      core.Offset
	Horizon int64 // Unix ms; negative: nothing waits
}

// DescribeProducers asks for the producers that the log knows. Answered by ProducersDescribed.
type DescribeProducers struct{ Ref core.RequestID }

// WeakAcks is lockstep.weak.acks of a topic: what acks=0 and acks=1 meet while a mirror gates it (R13).
type WeakAcks uint8

const (
	WeakAllow   WeakAcks = iota // as the draft: granted, counted, not protected
	WeakRefuse                  // INVALID_REQUIRED_ACKS
	WeakUpgrade                 // waits as acks=all does
)

// AppendMirrored is the answer to a mirror fetch, or without batches a hint of the source's HW. It is
// appended, and its HW used, only in the current session and the adopted source epoch (R3).
type AppendMirrored struct {
	Ref         core.RequestID
	Session     core.MirrorSession
	SourceEpoch core.LeaderEpoch
	// SourceIncarnation is what the answer itself states of its source; zero: nothing.
	SourceIncarnation core.Incarnation
	Batches           []batch.Batch // contiguous, the first starting at the replica's LEO
	SourceHW          core.Offset   // Unknown if not stated
	SourceLogStart    core.Offset
	SourceForgotten   core.Offset // the source has forgotten producers whose newest batch ends below it; 0: nothing is stated
	HasWaiters        bool        // the source has producers waiting: floors are repeated every 100 ms
}

// AdoptSource brings the result of the divergence check against the source leader of SourceEpoch:
// the source's largest epoch not above ours, and where it ends. The replica truncates as R11 allows,
// adopts the epoch, and answers where fetching goes on.
type AdoptSource struct {
	Ref         core.RequestID
	Session     core.MirrorSession
	SourceEpoch core.LeaderEpoch
	// SourceIncarnation is of the process that counted SourceEpoch: a restored copy of the source comes to the same epoch
	// again, and never to the same incarnation. Zero: the source states none.
	SourceIncarnation core.Incarnation
	EndEpoch          core.LeaderEpoch // NoEpoch with EndOffset 0: the source knows nothing we know
	EndOffset         core.Offset      // exclusive
	Differs           bool             // the source has another record where the common history ends by these
	SourceStart       core.Offset      // log start of the source: below it we reset (new data incarnation)
	// OfLEO is where our log ended and OfEpoch the newest epoch in it, as far as it was released, when the source was
	// asked. A log that was cut and filled again in between may end where it did. KnowsLEO: they are stated.
	OfLEO    core.Offset
	OfEpoch  core.LeaderEpoch
	KnowsLEO bool
	// LastUnclean is the source's cumulative lastUncleanEpoch; Stated is false for a plain peer.
	LastUnclean core.LeaderEpoch
	Stated      bool
	// FollowUnclean is the topic setting mirror.support.unclean.leader.election.
	FollowUnclean bool
	// Accept: an operator has taken this source's history, whatever it lost; what is cut is in quarantine first.
	Accept bool
}

// Quarantined says that the range a truncation will cut is safe in a side file.
type Quarantined struct {
	Session core.MirrorSession
	From    core.Offset
	To      core.Offset // exclusive: the LEO that was saved
}

// QuarantineFailed says that the range could not be saved, and why: nothing may be cut.
type QuarantineFailed struct {
	Session core.MirrorSession
	From    core.Offset
	To      core.Offset
	Text    string
}

// FenceMirror ends mirroring: from its event on, answers of Session and older are refused, and the
// last mirrored epoch is recorded once (C9). Keep tells which producer state survives (C13).
type FenceMirror struct {
	Ref     core.RequestID
	Session core.MirrorSession // the session that is being ended
	Keep    KeepProducers
}

// KeepProducers says whose producer state a MIRROR_PID_RESET leaves standing (C13).
type KeepProducers uint8

const (
	KeepNone       KeepProducers = iota // not armed, or known to be released: ids may collide
	KeepIdempotent                      // armed: dedup survives the failover; transactional ids never do
)

// WritePidReset appends the MIRROR_PID_RESET control batch under the current (bumped) epoch and
// answers when it is committed.
type WritePidReset struct {
	Ref  core.RequestID
	Keep KeepProducers
}

// JoinLeader is sent by a follower of this leader: "my log ends at LEO in LastEpoch".
type JoinLeader struct {
	From      core.ReplicaID
	Epoch     core.LeaderEpoch
	LastEpoch core.LeaderEpoch
	LEO       core.Offset
}

// AlignTo is the leader's answer to JoinLeader when the logs disagree, or when the leader truncated:
// truncate durably to the end of EndEpoch, then join again.
type AlignTo struct {
	From      core.ReplicaID
	Epoch     core.LeaderEpoch
	Term      core.MirrorTerm
	EndEpoch  core.LeaderEpoch
	EndOffset core.Offset
}

// Aligned is the leader's answer when the logs agree up to the follower's LEO: from here the follower
// reports under Term. Behind is set when the leader cannot push from that LEO, so that the follower
// reads the leader's journal first (D7).
type Aligned struct {
	From  core.ReplicaID
	Epoch core.LeaderEpoch
	Term  core.MirrorTerm
	// LastEpoch and LEO are those of the JoinLeader it answers: the word is about that log, not about
	// what the follower has become since.
	LastEpoch core.LeaderEpoch
	LEO       core.Offset
	Behind    bool
	Tail      core.Offset // the offset from which the leader can push
	HW        core.Offset
	// Adopted is the source epoch the leader has put its mirrored log under in this term, NoEpoch if none yet; Under is the
	// one it stands under meanwhile, and AdoptedIncarnation the source's that counted it. LogStart is the leader's: a
	// follower whose log ends below it begins anew there.
	Adopted            core.LeaderEpoch
	Under              core.LeaderEpoch
	AdoptedIncarnation core.Incarnation
	LogStart           core.Offset
}

// Replicate carries batches from the leader (pushed, or read from its journal).
type Replicate struct {
	From     core.ReplicaID
	Epoch    core.LeaderEpoch
	Term     core.MirrorTerm
	Batches  []batch.Batch // empty: only HW and LogStart moved
	HW       core.Offset
	LogStart core.Offset
	// Adopted is the source epoch the leader's mirrored log stands under, NoEpoch if none, and AdoptedIncarnation the
	// source's that counted it.
	Adopted            core.LeaderEpoch
	AdoptedIncarnation core.Incarnation
	// SourceHW is the highest source HW the leader tracked, Unknown if none (R11).
	SourceHW core.Offset
	// Forgotten: the leader has forgotten producers whose newest batch ends below it; 0: nothing is said.
	Forgotten core.Offset
}

// ReplicaReported tells the leader how far a follower is durable, which returns its push credit.
type ReplicaReported struct {
	Replica core.ReplicaID
	Epoch   core.LeaderEpoch
	Term    core.MirrorTerm
	LEO     core.Offset
}

// Advanced comes from the HW actor: HW moved and these waiters are confirmed. One message, so that an
// acknowledged record is readable (D2).
type Advanced struct {
	Epoch     core.LeaderEpoch
	HW        core.Offset
	Confirmed []core.RequestID
	Shown     bool // readers may see it already
}

// Shown comes from the HW actor: what it said of HW is on disk, and readers may see it.
type Shown struct {
	Epoch core.LeaderEpoch
	HW    core.Offset
}

// Refused comes from the HW actor: these waiters will not be confirmed.
type Refused struct {
	Epoch core.LeaderEpoch
	Refs  []core.RequestID
	Code  perr.Code
	Text  string
}

// AdmissionChanged comes from the HW actor.
type AdmissionChanged struct {
	Epoch core.LeaderEpoch
	// Refuse, when Code is not 0, is the answer to every new acks=all batch before append (R9).
	Code perr.Code
	Text string
	// Gated tells that acks=0/1 writes are unprotected and must be counted (R13).
	Gated bool
	// Closed makes Code the answer to every new batch, whatever its acks (C11).
	Closed bool
	// R and H bound truncation at a destination (R11): the highest floor published, and the highest
	// source HW tracked. Sent before the floor leaves the process, so no answer to it overtakes this.
	R core.Offset
	H core.Offset
}

// ParkFetch asks for one WakeFetch when the released position passes Beyond, or the role changes.
type ParkFetch struct {
	Ref    core.RequestID
	Until  Position
	Beyond core.Offset // wakes when the position is > Beyond
}

// Position names what a parked fetch waits for.
type Position uint8

const (
	PositionHW  Position = iota // consumers
	PositionLEO                 // mirrors in sync mode, and plain followers
	PositionLSO                 // read_committed consumers
)

// UnparkFetch forgets a parked fetch whose time is over.
type UnparkFetch struct{ Ref core.RequestID }

// Tick is the clock: a follower that has no answer joins again.
type Tick struct{}

func (Lead) isCommand()              {}
func (Follow) isCommand()            {}
func (AppendBatch) isCommand()       {}
func (WriteMarker) isCommand()       {}
func (DeleteRecords) isCommand()     {}
func (ExpireRecords) isCommand()     {}
func (PrepareCleaning) isCommand()   {}
func (CleanBatches) isCommand()      {}
func (DescribeProducers) isCommand() {}
func (AppendMirrored) isCommand()    {}
func (AdoptSource) isCommand()       {}
func (Quarantined) isCommand()       {}
func (QuarantineFailed) isCommand()  {}
func (FenceMirror) isCommand()       {}
func (WritePidReset) isCommand()     {}
func (JoinLeader) isCommand()        {}
func (AlignTo) isCommand()           {}
func (Aligned) isCommand()           {}
func (Replicate) isCommand()         {}
func (ReplicaReported) isCommand()   {}
func (Advanced) isCommand()          {}
func (Shown) isCommand()             {}
func (Refused) isCommand()           {}
func (AdmissionChanged) isCommand()  {}
func (ParkFetch) isCommand()         {}
func (UnparkFetch) isCommand()       {}
func (Tick) isCommand()              {}
