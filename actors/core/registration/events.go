package registration

import "lockstep/actors/core"

// Event is a fact of the ledger.
//
//sumtype:decl
type Event interface{ isEvent() }

// DurableEvent is journaled on the control majority: the one truth of registrations, from which metadata
// and gates are derived again at every start (C10, F39).
//
//sumtype:decl
type DurableEvent interface {
	Event
	isDurable()
}

// VolatileEvent may be forgotten at any instant.
//
//sumtype:decl
type VolatileEvent interface {
	Event
	isVolatile()
}

// DestinationTold says that a release was told to the destination, which a bare RecoveryPromotion of a plain
// peer needs. Forgetting it costs that peer one more refusal.
type DestinationTold struct {
	Key    LedgerKey
	Number core.ReleaseNumber
}

// UngatingAwaited says that the answer to an Unregister waits for the leaders' LEOs.
type UngatingAwaited struct {
	Answer   UnregisterAnswered // LEO is Unknown for all partitions
	Key      LedgerKey
	Epoch    core.RegistrationEpoch
	Deadline int64 // mono ns
}

// UngatedReported says that a leader no longer gates and where its log ends.
type UngatedReported struct {
	Key       LedgerKey
	Epoch     core.RegistrationEpoch
	Partition int32
	LEO       core.Offset
}

// UngatingAnswered says that the answer left.
type UngatingAnswered struct{ Ref core.RequestID }

func (DestinationTold) isEvent()  {}
func (UngatingAwaited) isEvent()  {}
func (UngatedReported) isEvent()  {}
func (UngatingAnswered) isEvent() {}

func (DestinationTold) isVolatile()  {}
func (UngatingAwaited) isVolatile()  {}
func (UngatedReported) isVolatile()  {}
func (UngatingAnswered) isVolatile() {}
