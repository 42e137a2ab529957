package mirror

// Phase is the durable phase of one mirrored topic (D18). PARTIAL and UNCONFIRMED are derived from evidence.
type Phase int8

const (
	Async       Phase = 0
	CatchingUp  Phase = 1 // wants SYNC, waits for lag zero
	Registering Phase = 2 // Register journaled and sent
	Arming      Phase = 3 // admitted, waiting for floors to reach the gate starts
	Sync        Phase = 4 // the claim stands
	Demoting    Phase = 5 // un-claimed, Unregister not answered yet (C6)
	Stopping    Phase = 6
	Stopped     Phase = 7 // writable here
	Diverged    Phase = 8 // an operator decides; data kept
	Failed      Phase = 9
	Orphaned    Phase = 10 // the source no longer has the topic; the copy is kept (F34)
)

// String is the word people read.
func (p Phase) String() string {
	names := [...]string{"ASYNC", "CATCHING_UP", "REGISTERING", "ARMING", "SYNC", "DEMOTING", "STOPPING", "STOPPED", "DIVERGED", "FAILED", "ORPHANED"}
	if p < 0 || int(p) >= len(names) {
		return "UNKNOWN"
	}
	return names[p]
}

// Type is what an operator wants of a topic; the numbers are the KIP's MirrorType.
type Type int8

const (
	TypeAsync Type = 0
	TypeSync  Type = 1
)

// String is the word people read.
func (t Type) String() string {
	if t == TypeSync {
		return "SYNC"
	}
	return "ASYNC"
}

// Verb is how an operator ends mirroring (C8).
type Verb int8

const (
	VerbStop       Verb = 0 // the draft's: leaves the source alone
	VerbSwitchover Verb = 1 // the planned move: the source hands over, nothing is lost
	VerbFailover   Verb = 2 // the disaster: the source is gone, and is told if it comes back
)

// String is the word people read.
func (v Verb) String() string {
	switch v {
	case VerbStop:
		return "stop"
	case VerbSwitchover:
		return "switchover"
	case VerbFailover:
		return "failover"
	default:
		return "unknown"
	}
}

// Heard says what became of the news of a failover.
type Heard int8

const (
	HeardNothing Heard = 0 // no answer yet, or nobody to ask
	HeardObeyed  Heard = 1 // the old source takes no more writes
	HeardRefused Heard = 2 // it goes on: split brain unless an operator decides
)

// Step is where a stopping topic stands. Each is left by one durable event, so that a restart resumes
// there (C9).
type Step int8

const (
	StepNone       Step = 0
	StepUnregister Step = 1 // one Unregister is out, until its deadline
	StepDrain      Step = 2 // mirroring up to the LEOs at un-gating
	StepFence      Step = 3 // fetchers are gone, partitions refuse older sessions and record their LME
	StepEpoch      Step = 4 // leader epochs rise above every epoch seen
	StepOpenHW     Step = 5 // HW follows the local ISR
	StepReset      Step = 6 // MIRROR_PID_RESET
)

// String is the word people read.
func (s Step) String() string {
	names := [...]string{"none", "unregister", "drain", "fence", "epoch", "high watermark", "producer reset"}
	if s < 0 || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}
