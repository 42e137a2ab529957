package highwater

import "lockstep/actors/core"

// Event is a fact of one high watermark.
//
//sumtype:decl
type Event interface{ isEvent() }

// DurableEvent is journaled in the partition's ledger (events_gen.go). The ledger is evidence, not
// gate (D3): everything that decides lives in volatile events and is learned again after a loss.
//
//sumtype:decl
type DurableEvent interface {
	Event
	isDurable()
}

// VolatileEvent is applied and forgotten; losing any of them at any instant is safe.
//
//sumtype:decl
type VolatileEvent interface {
	Event
	isVolatile()
}

type (
	// LeaderBegan forgets everything heard in an older epoch (R2, R3, R6).
	LeaderBegan struct {
		Started LeaderStarted
		At      int64
	}
	// ImageArrived keeps the newest image and, if it is of the current epoch, applies it.
	ImageArrived struct {
		Image AppliedImage
		At    int64
	}
	// ReplicaProgressed is a durable LEO of the current epoch and mirror term.
	ReplicaProgressed struct {
		Replica core.ReplicaID
		LEO     core.Offset
		At      int64
	}
	// TermBegan makes every LEO unknown until it is reported under the new source epoch (R4).
	TermBegan struct {
		Adopted SourceAdopted
		At      int64
	}
	// SourceTracked is what the source said of itself in the adopted epoch (R8).
	SourceTracked struct {
		HW    core.Offset
		Waits bool
	}
	// AckParked is one batch that waits for HW.
	AckParked struct{ Waiter Waiter }
	// AcksConfirmed removes the waiters at or below UpTo.
	AcksConfirmed struct{ UpTo core.Offset }
	// AcksDropped removes waiters that were refused.
	AcksDropped struct{ Refs []core.RequestID }
	// FloorHeard is an accepted report of one mirror.
	FloorHeard struct {
		Report ReportFloor
		At     int64
	}
	// AdditionConfirmed says that a mirror reports of a partition that was added after it registered (C11).
	AdditionConfirmed struct{ Key core.MirrorKey }
	// ListHeard is an accepted list of one plain mirror; Floor Unknown: it vouches for nothing (R14).
	ListHeard struct {
		Key     core.MirrorKey
		Floor   core.Offset
		ISRSize int32
		MinISR  int32
		At      int64
	}
	// FloorStated is what this destination has told its source.
	FloorStated struct {
		Floor   core.Offset
		ISRSize int32
		Seq     int64
		At      int64
	}
	// ISRProposed is a proposal under way; its additions count from here on (F58).
	ISRProposed struct {
		PartitionEpoch int32
		ISR            []core.ReplicaID
		At             int64
	}
	// ISRProposalRefused ends it.
	ISRProposalRefused struct {
		PartitionEpoch int32
		At             int64
	}
	// HighWatermarkFollowed is HW of a mirrored partition: no ack depends on it, so no ledger entry.
	HighWatermarkFollowed struct{ To core.Offset }
	// AdmissionTold is what the partition has been told last.
	AdmissionTold struct{ Admission ChangeAdmission }
	// GatesTold is what the outside has been told last.
	GatesTold struct {
		HasWaiters bool
		Holds      []int64 // per gate, since when it holds HW; 0 if it does not
	}
	// WeakAckCounted adds an unprotected ack to the tally that the next ledger entry carries (R13).
	WeakAckCounted struct{ Acked WeakAcked }
	// WeakTallied says when a client's tally was written last.
	WeakTallied struct {
		Acks   int16
		Client string
		At     int64
	}
	// StampConfirmed says that the entry of the open stamp is on disk (D3).
	StampConfirmed struct{ Number int64 }
	// SteppedDown ends the term.
	SteppedDown struct{}
	// TimerArmed is the instant of the next Tick; 0 says that it came.
	TimerArmed struct{ At int64 }
)

func (LeaderBegan) isEvent()           {}
func (ImageArrived) isEvent()          {}
func (ReplicaProgressed) isEvent()     {}
func (TermBegan) isEvent()             {}
func (SourceTracked) isEvent()         {}
func (AckParked) isEvent()             {}
func (AcksConfirmed) isEvent()         {}
func (AcksDropped) isEvent()           {}
func (FloorHeard) isEvent()            {}
func (ListHeard) isEvent()             {}
func (AdditionConfirmed) isEvent()     {}
func (FloorStated) isEvent()           {}
func (ISRProposed) isEvent()           {}
func (ISRProposalRefused) isEvent()    {}
func (HighWatermarkFollowed) isEvent() {}
func (AdmissionTold) isEvent()         {}
func (GatesTold) isEvent()             {}
func (WeakAckCounted) isEvent()        {}
func (WeakTallied) isEvent()           {}
func (StampConfirmed) isEvent()        {}
func (SteppedDown) isEvent()           {}
func (TimerArmed) isEvent()            {}

func (LeaderBegan) isVolatile()           {}
func (ImageArrived) isVolatile()          {}
func (ReplicaProgressed) isVolatile()     {}
func (TermBegan) isVolatile()             {}
func (SourceTracked) isVolatile()         {}
func (AckParked) isVolatile()             {}
func (AcksConfirmed) isVolatile()         {}
func (AcksDropped) isVolatile()           {}
func (FloorHeard) isVolatile()            {}
func (ListHeard) isVolatile()             {}
func (AdditionConfirmed) isVolatile()     {}
func (FloorStated) isVolatile()           {}
func (ISRProposed) isVolatile()           {}
func (ISRProposalRefused) isVolatile()    {}
func (HighWatermarkFollowed) isVolatile() {}
func (AdmissionTold) isVolatile()         {}
func (GatesTold) isVolatile()             {}
func (WeakAckCounted) isVolatile()        {}
func (WeakTallied) isVolatile()           {}
func (StampConfirmed) isVolatile()        {}
func (SteppedDown) isVolatile()           {}
func (TimerArmed) isVolatile()            {}
