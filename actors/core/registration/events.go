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

// AdditionReported says that a mirror has a partition above others that it has not reported of yet. Leaders say so
// again in every new epoch.
type AdditionReported struct {
	Key       LedgerKey
	Epoch     core.RegistrationEpoch
	Partition int32
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

// ReleaseArmed says until when acks wait for a mirror that leaves. A restart gives the whole lease again.
type ReleaseArmed struct {
	Key   LedgerKey
	Until int64 // mono ns
}

// PromiseNoted says what evidence of this process promises, and from when on less than the journal knows of is relied on.
type PromiseNoted struct {
	Lease   int64 // ms
	Ms      int64
	LowerAt int64 // mono ns; 0: nothing was promised beyond Ms
}

// FenceArmed says when a fence is lifted by itself.
type FenceArmed struct {
	Topic    core.TopicID
	Deadline int64 // mono ns
}

// FenceReported is the newest report of a leader that applies a fence.
type FenceReported struct {
	Topic  core.TopicID
	Report FenceReport
}

// FenceAwaited says that the answer to a switchover waits for its outcome.
type FenceAwaited struct {
	Answer   SupersedeAnswered
	By       core.MirrorKey
	Deadline int64 // mono ns
}

// FenceAnswered says that the answer left.
type FenceAnswered struct{ Ref core.RequestID }

// EraIgnored counts claims of an era by somebody who may not make it.
type EraIgnored struct{ Topic core.TopicID }

func (ReleaseArmed) isEvent()     {}
func (PromiseNoted) isEvent()     {}
func (FenceArmed) isEvent()       {}
func (FenceReported) isEvent()    {}
func (FenceAwaited) isEvent()     {}
func (FenceAnswered) isEvent()    {}
func (EraIgnored) isEvent()       {}
func (DestinationTold) isEvent()  {}
func (AdditionReported) isEvent() {}
func (UngatingAwaited) isEvent()  {}
func (UngatedReported) isEvent()  {}
func (UngatingAnswered) isEvent() {}

func (ReleaseArmed) isVolatile()     {}
func (PromiseNoted) isVolatile()     {}
func (FenceArmed) isVolatile()       {}
func (FenceReported) isVolatile()    {}
func (FenceAwaited) isVolatile()     {}
func (FenceAnswered) isVolatile()    {}
func (EraIgnored) isVolatile()       {}
func (DestinationTold) isVolatile()  {}
func (AdditionReported) isVolatile() {}
func (UngatingAwaited) isVolatile()  {}
func (UngatedReported) isVolatile()  {}
func (UngatingAnswered) isVolatile() {}
