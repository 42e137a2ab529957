package partition

import (
	"lockstep/actors/core"
	"lockstep/actors/core/compaction"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for a partition replica.
//
//sumtype:decl
type Effect interface{ isEffect() }

// AckProduce answers AppendBatch with success.
type AckProduce struct {
	Ref           core.RequestID
	Base          core.Offset // of the original when the batch was a duplicate (R7)
	LogStart      core.Offset
	LogAppendTime int64 // Unix ms, of the original when the batch was a duplicate; -1 for CreateTime
}

// RefuseProduce answers AppendBatch with an error. Code is the full one; the front maps it down.
type RefuseProduce struct {
	Ref      core.RequestID
	Code     perr.Code
	Text     string
	LogStart core.Offset
}

// MirrorAnswered answers AppendMirrored and AdoptSource.
type MirrorAnswered struct {
	Ref     core.RequestID
	Outcome MirrorOutcome
	LEO     core.Offset // where the next fetch starts; durable
	// LastEpoch is the latest epoch in the log below LEO, to be sent as LastFetchedEpoch.
	LastEpoch core.LeaderEpoch
	Epoch     core.LeaderEpoch // our own leader epoch, for raising it above the source's (D23)
	Adopted   core.LeaderEpoch
	// BelowFloor says that the truncation cut below a floor we had stated, and that the source's lineage is
	// not clean or not stated: the claim is off and arming begins anew (R11).
	BelowFloor bool
	// Reset says that our log was begun anew at the source's log start, above a gap that Text names (R2).
	Reset bool
	Text  string
}

// MirrorOutcome is what became of a mirror fetch answer or a divergence check.
type MirrorOutcome uint8

const (
	MirrorOK          MirrorOutcome = iota
	MirrorStale                     // older session or epoch, or not leader: stop fetching, ask again
	MirrorAgain                     // we do not know that epoch: ask the source again, with LastEpoch; nothing was cut
	MirrorEpochTooLow               // our leader epoch must be raised first (D23)
	MirrorDiverged                  // R11 forbids the truncation: data kept, an operator decides
	MirrorRejected                  // the bytes are not a valid continuation of this log
	MirrorUnsaved                   // what would be cut could not be saved first: nothing was cut, ask again
)

// MirrorFenced answers FenceMirror.
type MirrorFenced struct {
	Ref core.RequestID
	LME core.LeaderEpoch // last mirrored epoch, write-once per mirroring
	LEO core.Offset
	OK  bool // false: not the leader
}

// PidResetWritten answers WritePidReset once the control batch is below HW.
type PidResetWritten struct {
	Ref core.RequestID
	OK  bool
}

// MarkerWritten answers WriteMarker. Without a code the marker is below HW.
type MarkerWritten struct {
	Ref  core.RequestID
	Code perr.Code
	Text string
}

// RecordsDeleted answers DeleteRecords. Without a code the leader's log begins at LogStart, durably; its followers are told.
type RecordsDeleted struct {
	Ref      core.RequestID
	Code     perr.Code
	Text     string
	LogStart core.Offset
}

// CleaningPrepared answers PrepareCleaning; not OK: not now. Everything in it is on disk.
type CleaningPrepared struct {
	Ref      core.RequestID
	OK       bool
	Pass     core.RequestID
	LogStart core.Offset
	Cleaned  core.Offset // what lies below was looked at before
	Limit    core.Offset // the pass stays below
	Newest   map[int64]compaction.Newest
	Aborted  []compaction.Aborted
}

// BatchesCleaned answers CleanBatches; not OK: the pass is over, for what Text says.
type BatchesCleaned struct {
	Ref  core.RequestID
	OK   bool
	Text string
}

// ProducersDescribed answers DescribeProducers, sorted by producer id.
type ProducersDescribed struct {
	Ref       core.RequestID
	Producers []DescribedProducer
}

// DescribedProducer is one producer that the log knows.
type DescribedProducer struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32       // -1: none in this epoch
	LastTimestamp    int64       // Unix ms; -1: none
	CoordinatorEpoch int32       // of its newest marker; -1: none
	TxnStart         core.Offset // first offset of its open transaction; Unknown: none
}

// WakeFetch answers ParkFetch.
type WakeFetch struct{ Ref core.RequestID }

// TellHighWatermark hands a command to the HW actor of this partition at this broker.
type TellHighWatermark struct{ Command highwater.Command }

// TellReplica hands a command to the same partition's replica on another broker of this process.
type TellReplica struct {
	To      core.ReplicaID
	Command Command
}

// ReportDurable says that this replica is durable up to LEO under (Epoch, Term): to the HW actor at
// Leader, and, from a follower, to the leader's partition actor for its credit. Always late. The
// performer may drop all but the last of several that are released together.
type ReportDurable struct {
	Leader core.ReplicaID
	Epoch  core.LeaderEpoch
	Term   core.MirrorTerm
	LEO    core.Offset
}

// ReadLeaderLog asks the performer to read Leader's journal from From, below that leader's released
// LEO, and to send the batches to this replica as Replicate (D7).
type ReadLeaderLog struct {
	Leader core.ReplicaID
	Epoch  core.LeaderEpoch
	Term   core.MirrorTerm
	From   core.Offset
}

// QuarantineRange asks the performer to copy [From, To) into a side file, then to send Quarantined, or
// QuarantineFailed: one of the two always comes.
type QuarantineRange struct {
	Session core.MirrorSession
	From    core.Offset
	To      core.Offset // exclusive
	Mirror  core.MirrorName
	// SourceEpoch is the epoch that cuts; Epoch is that of this replica's own leadership.
	SourceEpoch core.LeaderEpoch
	Epoch       core.LeaderEpoch
	Reason      string
}

// PublishView replaces what readers see. Always late: it never shows what is not on disk.
type PublishView struct{ View View }

// CacheBatch offers a batch to the memory that serves the tail of the log. Early: readers are bounded
// by the view, not by the cache.
type CacheBatch struct{ Batch batch.Batch }

// DropCache forgets cached batches at or above From after a truncation.
type DropCache struct{ From core.Offset }

// DropCacheHead forgets cached batches that end below Below: compaction has written them again. Always late.
type DropCacheHead struct{ Below core.Offset }

// ArmTimer asks for a Tick at At (mono ns).
type ArmTimer struct{ At int64 }

// View is what a reader may know of a replica: released facts only.
type View struct {
	Leader   core.ReplicaID // who this replica believes leads
	Epoch    core.LeaderEpoch
	IsLeader bool
	Role     Role
	LogStart core.Offset
	// Forgotten: producers whose newest batch ends below it are forgotten; 0: none since the start.
	Forgotten core.Offset
	HW        core.Offset
	LSO       core.Offset      // last stable offset, at HW
	Coming    core.Offset      // HW as acknowledged: HW follows when the ledger entry is on disk
	LEO       core.Offset      // durable, exclusive
	Adopted   core.LeaderEpoch // mirrored: source epoch adopted
	// AdoptedIncarnation is of the source that counted it; zero: it stated none, or nothing is mirrored.
	AdoptedIncarnation core.Incarnation
	Mirroring          bool  // Adopted still counts: a lower source epoch is not adopted without an operator
	Confirms           bool  // a leader whose HW has passed its epoch start (KIP-207)
	Fence              int64 // number of the fence that this leader applies: LEO is final in Epoch; 0: none
	// Epochs is the leader-epoch history in the log: ascending, never mutated.
	Epochs []EpochStart
	Txns   Transactions // never mutated
	// Cleaned is up to where compaction has looked at the log, and Horizon when the next tombstone or marker may go, Unix ms,
	// negative if nothing waits.
	Cleaned core.Offset
	Horizon int64
	Text    string // why the partition is not healthy, "" if it is
}

// EpochStart says where an epoch begins in the log.
type EpochStart struct {
	Epoch core.LeaderEpoch
	Start core.Offset
}

func (e AckProduce) ReplyTo() core.RequestID         { return e.Ref }
func (e RefuseProduce) ReplyTo() core.RequestID      { return e.Ref }
func (e MirrorAnswered) ReplyTo() core.RequestID     { return e.Ref }
func (e MirrorFenced) ReplyTo() core.RequestID       { return e.Ref }
func (e PidResetWritten) ReplyTo() core.RequestID    { return e.Ref }
func (e WakeFetch) ReplyTo() core.RequestID          { return e.Ref }
func (e MarkerWritten) ReplyTo() core.RequestID      { return e.Ref }
func (e ProducersDescribed) ReplyTo() core.RequestID { return e.Ref }
func (e RecordsDeleted) ReplyTo() core.RequestID     { return e.Ref }
func (e CleaningPrepared) ReplyTo() core.RequestID   { return e.Ref }
func (e BatchesCleaned) ReplyTo() core.RequestID     { return e.Ref }

func (AckProduce) isEffect()         {}
func (RefuseProduce) isEffect()      {}
func (MirrorAnswered) isEffect()     {}
func (MirrorFenced) isEffect()       {}
func (PidResetWritten) isEffect()    {}
func (WakeFetch) isEffect()          {}
func (MarkerWritten) isEffect()      {}
func (ProducersDescribed) isEffect() {}
func (RecordsDeleted) isEffect()     {}
func (TellHighWatermark) isEffect()  {}
func (TellReplica) isEffect()        {}
func (ReportDurable) isEffect()      {}
func (ReadLeaderLog) isEffect()      {}
func (QuarantineRange) isEffect()    {}
func (PublishView) isEffect()        {}
func (CacheBatch) isEffect()         {}
func (DropCache) isEffect()          {}
func (CleaningPrepared) isEffect()   {}
func (BatchesCleaned) isEffect()     {}
func (DropCacheHead) isEffect()      {}
func (ArmTimer) isEffect()           {}
