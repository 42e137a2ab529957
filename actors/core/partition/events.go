package partition

import (
	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// Event is a fact of one partition replica.
//
//sumtype:decl
type Event interface{ isEvent() }

// DurableEvent is journaled in the replica's stream: batches here, the rest in events_gen.go. Hard state
// is a function of them alone. (No declared sum type: the generated EncodeEvent knows no batches.)
type DurableEvent interface {
	Event
	isDurable()
}

// VolatileEvent is applied and forgotten.
//
//sumtype:decl
type VolatileEvent interface {
	Event
	isVolatile()
}

// BatchAppended is one record batch at the end of the log, journaled as itself.
type BatchAppended struct {
	Batch batch.Batch
	// Note is the HW known when it was appended: after a restart HW is at least this.
	Note core.Offset
}

// BatchCleaned is one batch in the place of those inside of it, which compaction has written again. What makes up for what it
// misses lies below Limit, which was committed.
type BatchCleaned struct {
	Batch batch.Batch
	Limit core.Offset
}

type (
	// CleaningBegan is a pass of compaction.
	CleaningBegan struct {
		Pass  core.RequestID
		Limit core.Offset
	}
	// Led takes the seat of the leader; every wait of an older epoch is over.
	Led struct{ Lead Lead }
	// LeadUpdated changes role, session or replica set within the epoch.
	LeadUpdated struct{ Lead Lead }
	// Followed takes a seat behind a leader (or behind nobody).
	Followed struct{ Follow Follow }
	// FollowerAligned says that a follower's log is a prefix of ours, in the current term; what is
	// appended from now on is pushed to it.
	FollowerAligned struct {
		Follower core.ReplicaID
		LEO      core.Offset
	}
	// BatchPushed uses up credit of a follower; Stopped says that there was none left (D7).
	BatchPushed struct {
		Follower core.ReplicaID
		Last     core.Offset
		Bytes    int64
		Stopped  bool
	}
	// FollowerReported gives credit back.
	FollowerReported struct {
		Follower core.ReplicaID
		LEO      core.Offset
	}
	// Joined says that our log is a prefix of the leader's: we report under Term, and read its journal up
	// to Tail.
	Joined struct {
		Term    core.MirrorTerm
		Tail    core.Offset
		Adopted core.LeaderEpoch
	}
	// Left says that a follower must join again.
	Left struct{}
	// BatchesStashed keeps pushed batches until the catch-up has reached them.
	BatchesStashed struct{ Batches []batch.Batch }
	// StashDrained forgets stashed batches below From, or all of them.
	StashDrained struct{ From core.Offset }
	// HighWatermarkLearned moves HW.
	HighWatermarkLearned struct{ HW core.Offset }
	// HighWatermarkShown moves the HW that readers see.
	HighWatermarkShown struct{ HW core.Offset }
	// ProduceParked is a batch that waits for confirmation by the HW actor.
	ProduceParked struct {
		Ref  core.RequestID
		Wait Wait
	}
	// WaitsEnded removes waits that were answered.
	WaitsEnded struct{ Refs []core.RequestID }
	// AdmissionLearned is what the HW actor said of new batches and truncation.
	AdmissionLearned struct{ Admission AdmissionChanged }
	// FetchParked is a long poll.
	FetchParked struct{ Fetch ParkFetch }
	// FetchesWoken forgets long polls.
	FetchesWoken struct{ Refs []core.RequestID }
	// AdoptionBegan waits for the quarantine of what it will cut.
	AdoptionBegan struct {
		Adopt AdoptSource
		To    core.Offset
	}
	// AdoptionEnded forgets a cut that will not happen.
	AdoptionEnded struct{}
	// TermBegan makes every follower align again, under the adopted epoch and the session (R4).
	TermBegan struct {
		Term    core.MirrorTerm
		Session core.MirrorSession
		Epoch   core.LeaderEpoch
		LEO     core.Offset
		Cut     bool
	}
	// SourceHeard is what an answer says of its source beside batches. Unknown says nothing, and 0 of producers.
	SourceHeard struct{ HW, LogStart, Forgotten core.Offset }
	// Troubled says why the partition is not healthy; "" that it is.
	Troubled struct{ Text string }
	// Looked is when a follower asked last.
	Looked struct{ At int64 }
)

func (BatchAppended) isEvent()        {}
func (BatchAppended) isDurable()      {}
func (BatchCleaned) isEvent()         {}
func (BatchCleaned) isDurable()       {}
func (CleaningBegan) isEvent()        {}
func (Led) isEvent()                  {}
func (LeadUpdated) isEvent()          {}
func (Followed) isEvent()             {}
func (FollowerAligned) isEvent()      {}
func (BatchPushed) isEvent()          {}
func (FollowerReported) isEvent()     {}
func (Joined) isEvent()               {}
func (Left) isEvent()                 {}
func (BatchesStashed) isEvent()       {}
func (StashDrained) isEvent()         {}
func (HighWatermarkLearned) isEvent() {}
func (HighWatermarkShown) isEvent()   {}
func (ProduceParked) isEvent()        {}
func (WaitsEnded) isEvent()           {}
func (AdmissionLearned) isEvent()     {}
func (FetchParked) isEvent()          {}
func (FetchesWoken) isEvent()         {}
func (AdoptionBegan) isEvent()        {}
func (AdoptionEnded) isEvent()        {}
func (TermBegan) isEvent()            {}
func (SourceHeard) isEvent()          {}
func (Troubled) isEvent()             {}
func (Looked) isEvent()               {}

func (CleaningBegan) isVolatile()        {}
func (Led) isVolatile()                  {}
func (LeadUpdated) isVolatile()          {}
func (Followed) isVolatile()             {}
func (FollowerAligned) isVolatile()      {}
func (BatchPushed) isVolatile()          {}
func (FollowerReported) isVolatile()     {}
func (Joined) isVolatile()               {}
func (Left) isVolatile()                 {}
func (BatchesStashed) isVolatile()       {}
func (StashDrained) isVolatile()         {}
func (HighWatermarkLearned) isVolatile() {}
func (HighWatermarkShown) isVolatile()   {}
func (ProduceParked) isVolatile()        {}
func (WaitsEnded) isVolatile()           {}
func (AdmissionLearned) isVolatile()     {}
func (FetchParked) isVolatile()          {}
func (FetchesWoken) isVolatile()         {}
func (AdoptionBegan) isVolatile()        {}
func (AdoptionEnded) isVolatile()        {}
func (TermBegan) isVolatile()            {}
func (SourceHeard) isVolatile()          {}
func (Troubled) isVolatile()             {}
func (Looked) isVolatile()               {}
