package highwater

import (
	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for a high watermark.
//
//sumtype:decl
type Effect interface{ isEffect() }

// TellPartition hands Advanced, Refused or AdmissionChanged to the partition actor of this broker.
// Advanced is late while the stamp it acks under is not durable, else early (D3).
// What readers are shown is always on disk: see Show.
type (
	// Advance says that HW moved and which waiters it confirms.
	Advance struct {
		Epoch     core.LeaderEpoch
		HW        core.Offset
		Confirmed []core.RequestID
		// Shown: readers may see this HW, because its entry is on disk, or because it has none (a mirror's).
		Shown bool
	}
	// Show lets readers see HW. Late: the entry that moved it is on disk, so that no crash takes back what a
	// consumer saw. An ack does not wait for it.
	Show struct {
		Epoch core.LeaderEpoch
		HW    core.Offset
	}
	// Refuse says that these waiters will not be confirmed.
	Refuse struct {
		Epoch core.LeaderEpoch
		Refs  []core.RequestID
		Code  perr.Code
		Text  string
	}
	// ChangeAdmission says what new writes meet, and what truncation must respect (R9, R11, R13).
	ChangeAdmission struct {
		Epoch core.LeaderEpoch
		Code  perr.Code
		Text  string
		Gated bool
		// Closed: the refusal is for every write, whatever its acks (C11).
		Closed bool
		R      core.Offset
		H      core.Offset
	}
)

// ProposeISR asks the controller to commit a new ISR under PartitionEpoch.
type ProposeISR struct {
	Epoch          core.LeaderEpoch
	PartitionEpoch int32
	ISR            []core.ReplicaID
}

// PublishFloor tells the source (bus now, and every later fetch) how far this destination is durable.
// Always late. Floor Unknown: only the ISR size is news.
type PublishFloor struct {
	Mirror            core.MirrorName
	Epoch             core.RegistrationEpoch
	SourceEpoch       core.LeaderEpoch
	SourceIncarnation core.Incarnation // of the source that counted SourceEpoch; zero: it states none
	Incarnation       core.Incarnation // of the mirrored data
	Floor             core.Offset
	ISRSize           int32
	MinISR            int32
	DestEpoch         core.LeaderEpoch
	Seq               int64
	Unsynced          bool // this cluster runs with durability=os (R14)
	// Replicas and ISR are the KIP's own form of the same report, for a plain peer.
	Replicas []ReplicaLEO
	ISR      []core.ReplicaID
}

// ReplicaLEO is one participant's durable position.
type ReplicaLEO struct {
	Replica core.ReplicaID
	LEO     core.Offset
}

// PublishGates replaces what the front and the bus may tell destinations about this leader's gates.
// Always late. The performer checks it against the ledger and the newest epoch, then stamps T (C4).
type PublishGates struct {
	Epoch       core.LeaderEpoch
	HW          core.Offset
	HasWaiters  bool
	Gates       []GateState
	LastUnclean core.LeaderEpoch
}

// GateState is what a leader knows of one registered mirror.
type GateState struct {
	Key        core.MirrorKey
	Epoch      core.RegistrationEpoch
	GateStart  core.Offset // LEO when this leader applied the registration (C2)
	Floor      core.Offset // accepted; Unknown blocks HW
	Armed      bool        // floor >= gate start in this source epoch
	UnderMin   bool
	ISRSize    int32
	MinISR     int32
	LastReport int64 // mono ns of the newest accepted report
	Plain      bool  // REPORTED: the peer speaks only the KIP
	HoldsSince int64 // mono ns since when this gate is what holds HW below the local ISR; 0 if it is not
}

// GateApplied tells the ledger that this leader gates under Epoch from GateStart on (D17). Late.
type GateApplied struct {
	Key         core.MirrorKey
	Epoch       core.RegistrationEpoch
	LeaderEpoch core.LeaderEpoch
	GateStart   core.Offset
}

// ConfirmAddition tells the ledger that a mirror has this partition, which was added after it registered (C11). Late.
type ConfirmAddition struct {
	Key   core.MirrorKey
	Epoch core.RegistrationEpoch
}

// NoteStamp is performed when the entry that opened stamp Number is durable: send StampDurable back.
type NoteStamp struct{ Number int64 }

// ArmTimer asks for a Tick at At (mono ns).
type ArmTimer struct{ At int64 }

func (Advance) isEffect()         {}
func (Show) isEffect()            {}
func (Refuse) isEffect()          {}
func (ChangeAdmission) isEffect() {}
func (ProposeISR) isEffect()      {}
func (PublishFloor) isEffect()    {}
func (PublishGates) isEffect()    {}
func (GateApplied) isEffect()     {}
func (NoteStamp) isEffect()       {}
func (ConfirmAddition) isEffect() {}
func (ArmTimer) isEffect()        {}
