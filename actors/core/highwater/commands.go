package highwater

import "lockstep/actors/core"

// Command is something the high watermark of one led partition is told.
//
//sumtype:decl
type Command interface{ isCommand() }

// Mode says which rule moves HW.
type Mode uint8

const (
	Leading   Mode = iota // local ISR and every registered mirror
	Mirroring             // tracked source HW, bounded by the local ISR (R8)
	Stopping              // highest floor published, then the local ISR (R8)
)

// LeaderStarted begins a leader epoch. Everything known of floors and replicas is forgotten (R2, R3).
type LeaderStarted struct {
	Epoch      core.LeaderEpoch
	EpochStart core.Offset // LEO when the epoch began: followers join the ISR at or above it
	// LEO is where the log ended when the epoch began. It is sent early, so the end may not be on disk
	// yet: R starts here (never too low), but the leader's own durable LEO is Unknown until it reports.
	LEO      core.Offset
	HW       core.Offset // best known; never a reason to go back
	Mode     Mode
	Self     core.ReplicaID
	Replicas []core.ReplicaID
}

// AppliedImage is what the broker's metadata image says of this partition now. Version is the
// image's; the HW actor serves, acks and gives evidence only once Version >= the election's (D9).
type AppliedImage struct {
	Epoch          core.LeaderEpoch
	PartitionEpoch int32
	ISR            []core.ReplicaID // committed on the control majority
	MinISR         int32            // effective: min(config, RF)
	Mode           Mode
	Gates          []Gate
	// Released lists mirrors whose registration the operator released and which have not returned:
	// acks are stamped RELEASED while it is not empty and Gates is.
	Released []core.MirrorKey
	Version  int64
	// LastUnclean is cumulative over unclean elections, LOSSY leaders and accepted losses (R11).
	LastUnclean core.LeaderEpoch
	// MirrorOf describes a destination partition; zero otherwise.
	MirrorOf MirrorOf
	// StrictLedger is lockstep.ledger=strict: each ack waits for the ledger entry that releases it.
	StrictLedger bool
	// Unsynced: this cluster runs with durability=os (R14).
	Unsynced bool
	// Incarnation is of this cluster's process: no other run of it, or of a copy of its disks, has it.
	Incarnation core.Incarnation
	// Fenced lists replicas that the controller would not take into the ISR now (broker not live).
	Fenced []core.ReplicaID
}

// Gate is one registered mirror that HW waits for.
type Gate struct {
	Key         core.MirrorKey
	Epoch       core.RegistrationEpoch
	Incarnation core.Incarnation // of the destination's data
	MinISR      int32            // pinned at registration (F32)
	// Missing: the partition was added after the mirror registered, and the mirror may not have it yet (C11).
	Missing bool
	// Plain: registered by a peer that speaks only the KIP. It is believed by its lists alone (R14).
	Plain bool
}

// MirrorOf tells a destination partition whom it reports to.
type MirrorOf struct {
	Mirror      core.MirrorName
	PinnedISR   int32 // no floor is published while the committed ISR is smaller
	Incarnation core.Incarnation
	Reporting   bool  // a registration was sent and not yet withdrawn: floors are published
	RepeatNs    int64 // how often an idle floor is repeated: a third of the claim lease (D19); 0: of 10 s
	Epoch       core.RegistrationEpoch
}

// ReportReplica is a replica's durable LEO. At a mirroring destination it counts only in the current
// mirror term (R4).
type ReportReplica struct {
	Replica core.ReplicaID
	Epoch   core.LeaderEpoch
	Term    core.MirrorTerm
	LEO     core.Offset
}

// SourceAdopted begins a mirror term: the leader truncated and stands under SourceEpoch. All LEOs, the
// leader's too, are unknown until they are reported in Term: LEO itself may not be on disk yet.
type SourceAdopted struct {
	Term              core.MirrorTerm
	SourceEpoch       core.LeaderEpoch
	SourceIncarnation core.Incarnation // zero: the source states none
	LEO               core.Offset
	Truncated         bool // a truncation was recorded: R := min(R, LEO)
}

// TrackSourceHW is the HW of an answer of the adopted source epoch, after its truncation (R8, F09).
type TrackSourceHW struct {
	SourceEpoch core.LeaderEpoch
	HW          core.Offset // Unknown: not stated
	Waits       bool        // the source has producers waiting: floors are repeated every 100 ms
}

// AwaitCommit asks for confirmation once HW >= Offset, that is last offset of the batch + 1 (R1).
type AwaitCommit struct {
	Ref      core.RequestID
	Epoch    core.LeaderEpoch
	Offset   core.Offset
	Base     core.Offset // first offset of the batch, for the text of a refusal
	Bytes    int64       // for the purgatory bound (F57)
	Deadline int64       // mono ns; 0: waits until the epoch ends (control batches, C12)
}

// ReportFloor is a destination's claim that its maximal ISR is durable up to Floor under the source
// epoch it adopted. Bus and fetch carry the same command; whichever comes first counts.
type ReportFloor struct {
	Key               core.MirrorKey
	Epoch             core.RegistrationEpoch
	SourceEpoch       core.LeaderEpoch
	SourceIncarnation core.Incarnation // of the process that counted SourceEpoch
	Incarnation       core.Incarnation // of the destination's data
	Floor             core.Offset      // Unknown: only the ISR size is news
	ISRSize           int32
	MinISR            int32
	DestEpoch         core.LeaderEpoch
	Seq               int64
	Unsynced          bool // the destination runs with durability=os (R14)
}

// ReportReplicas is what a peer that speaks only the KIP says of its replicas, in a Fetch of its leader (R14).
type ReportReplicas struct {
	Key         core.MirrorKey
	Epoch       core.RegistrationEpoch // as this broker's image has it: the peer names none
	SourceEpoch core.LeaderEpoch       // CurrentLeaderEpoch of the fetch's own entry; NoEpoch: not stated
	LastFetched core.LeaderEpoch       // LastFetchedEpoch of that entry; NoEpoch: not stated
	Agrees      bool                   // our log up to FetchOffset ends in LastFetched
	FetchOffset core.Offset
	Replicas    []ReplicaLEO
	ISR         []core.ReplicaID
	MinISR      int32
}

// WeakAcked says that acks=0 or 1 was granted for [From, To) on a gated partition (R13).
type WeakAcked struct {
	Epoch  core.LeaderEpoch
	From   core.Offset
	To     core.Offset
	Acks   int16
	Client string
}

// StampDurable says that the entry that opened stamp Number is on disk (D3).
type StampDurable struct{ Number int64 }

// ISRRefused says that the controller did not take a proposal; the next image tells the truth.
type ISRRefused struct{ PartitionEpoch int32 }

// StepDown ends the term: all waiters of the epoch are the partition's to fail (R6).
type StepDown struct{ Epoch core.LeaderEpoch }

// Tick is the clock: deadlines, ISR lag, floors to be repeated.
type Tick struct{}

func (LeaderStarted) isCommand()  {}
func (AppliedImage) isCommand()   {}
func (ReportReplica) isCommand()  {}
func (SourceAdopted) isCommand()  {}
func (TrackSourceHW) isCommand()  {}
func (AwaitCommit) isCommand()    {}
func (ReportFloor) isCommand()    {}
func (ReportReplicas) isCommand() {}
func (WeakAcked) isCommand()      {}
func (StampDurable) isCommand()   {}
func (ISRRefused) isCommand()     {}
func (StepDown) isCommand()       {}
func (Tick) isCommand()           {}
