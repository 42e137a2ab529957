package mirror

import (
	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Event is a fact of a mirror.
//
//sumtype:decl
type Event interface{ isEvent() }

// DurableEvent is journaled on the control majority.
//
//sumtype:decl
type DurableEvent interface {
	Event
	isDurable()
}

// VolatileEvent may be forgotten at any instant: what was measured, and when something is due again.
//
//sumtype:decl
type VolatileEvent interface {
	Event
	isVolatile()
}

// softEvent is a volatile event of one topic.
//
//sumtype:decl
type softEvent interface {
	VolatileEvent
	topic() core.TopicID
}

type (
	// ProgressReported is the newest answered fetch of a partition.
	ProgressReported struct {
		Report ReportProgress
		At     int64 // mono ns
		AtWall int64 // Unix ms
	}
	// FailureReported is the newest failed fetch of a partition.
	FailureReported struct {
		ID     core.PartitionID
		Code   perr.Code
		Text   string
		Asked  int64 // when the request left
		At     int64
		AtWall int64
	}
	// EvidenceReported is evidence of our own registration.
	EvidenceReported struct {
		Evidence ReportEvidence
		SentWall int64 // Unix ms of Evidence.Sent; 0 if that is unknown
		At       int64
	}
	// GateStated is a gate start that a Register was answered with.
	GateStated struct {
		ID          core.PartitionID
		SourceEpoch core.LeaderEpoch
		Start       core.Offset
	}
	// FailuresForgotten restarts the clocks of 952 and 953: they count from an answered Register on (C5).
	FailuresForgotten struct{ Topic core.TopicID }
	// AdmissionNoted says when the newest Register was answered with OK.
	AdmissionNoted struct {
		Topic core.TopicID
		At    int64
	}
	// CommandSent says when a pending command is due again; Deadline is set for a stop.
	CommandSent struct {
		Topic    core.TopicID
		Attempt  int32
		Due      int64
		Deadline int64
	}
	// PromotionDelayed backs a topic off after a refusal.
	PromotionDelayed struct {
		Topic core.TopicID
		Until int64
	}
	// StepDriven says when unanswered asks of a topic are due again.
	StepDriven struct {
		Topic core.TopicID
		Since int64 // when the step began, 0 to leave it
		Due   int64
	}
	// ClaimNoted says when T was journaled last.
	ClaimNoted struct {
		Topic core.TopicID
		At    int64
	}
	// ClockArmed says when the next Tick is due.
	ClockArmed struct{ At int64 }
	// DefaultsRead are the broker's settings in this process.
	DefaultsRead struct{ Defaults Defaults }
	// Resumed says when this process took the mirror up.
	Resumed struct{ At int64 }
)

func (ProgressReported) isEvent()  {}
func (FailureReported) isEvent()   {}
func (EvidenceReported) isEvent()  {}
func (GateStated) isEvent()        {}
func (FailuresForgotten) isEvent() {}
func (AdmissionNoted) isEvent()    {}
func (CommandSent) isEvent()       {}
func (PromotionDelayed) isEvent()  {}
func (StepDriven) isEvent()        {}
func (ClaimNoted) isEvent()        {}
func (ClockArmed) isEvent()        {}
func (DefaultsRead) isEvent()      {}
func (Resumed) isEvent()           {}

func (ProgressReported) isVolatile()  {}
func (FailureReported) isVolatile()   {}
func (EvidenceReported) isVolatile()  {}
func (GateStated) isVolatile()        {}
func (FailuresForgotten) isVolatile() {}
func (AdmissionNoted) isVolatile()    {}
func (CommandSent) isVolatile()       {}
func (PromotionDelayed) isVolatile()  {}
func (StepDriven) isVolatile()        {}
func (ClaimNoted) isVolatile()        {}
func (ClockArmed) isVolatile()        {}
func (DefaultsRead) isVolatile()      {}
func (Resumed) isVolatile()           {}

func (e ProgressReported) topic() core.TopicID  { return e.Report.ID.Topic }
func (e FailureReported) topic() core.TopicID   { return e.ID.Topic }
func (e EvidenceReported) topic() core.TopicID  { return e.Evidence.ID.Topic }
func (e GateStated) topic() core.TopicID        { return e.ID.Topic }
func (e FailuresForgotten) topic() core.TopicID { return e.Topic }
func (e AdmissionNoted) topic() core.TopicID    { return e.Topic }
func (e CommandSent) topic() core.TopicID       { return e.Topic }
func (e PromotionDelayed) topic() core.TopicID  { return e.Topic }
func (e StepDriven) topic() core.TopicID        { return e.Topic }
func (e ClaimNoted) topic() core.TopicID        { return e.Topic }
