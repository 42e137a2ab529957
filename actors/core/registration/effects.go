package registration

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for the registration ledger. All but ArmTimer are late.
//
//sumtype:decl
type Effect interface{ isEffect() }

// RegisterAnswered answers RegisterTopic. Code 0: this cluster gates, or will before the leader's next ack,
// under Epoch; partitions that Gates does not list are PENDING and show up as evidence (C1).
type RegisterAnswered struct {
	Ref   core.RequestID
	Topic core.TopicID
	Name  string
	Code  perr.Code
	Text  string
	Epoch core.RegistrationEpoch
	Gates []GateStart
	// Number is the release that a recovery must echo; set with 954.
	Number core.ReleaseNumber
	// Held is set beside Number while an operator refuses recoveries.
	Held bool
	// Newest is set when the command is superseded (code 952): the newest generation known of the key.
	Newest core.Generation
	Era    core.Era // under which this cluster takes the topic's writes
}

// GateStart says from where on a leader gates.
type GateStart struct {
	Partition   int32
	LeaderEpoch core.LeaderEpoch
	Start       core.Offset
}

// UnregisterAnswered answers UnregisterTopic. Code 0: the mirror is not registered (any more).
type UnregisterAnswered struct {
	Ref    core.RequestID
	Topic  core.TopicID
	Name   string
	Code   perr.Code
	Text   string
	Newest core.Generation // set when superseded, as in RegisterAnswered
	// LEO is, for ModeStop, each partition's log end at un-gating, by index; Unknown where no leader
	// answered within a second. Nil when nothing was registered.
	LEO []core.Offset
}

// Outcome says how a switchover or failover stands at the source.
type Outcome int8

const (
	OutcomeNone       Outcome = 0 // refused, see Code
	OutcomeFencing    Outcome = 1 // under way: ask again
	OutcomeSuperseded Outcome = 2 // the mirror's cluster takes the topic's writes from now on
	OutcomeEnded      Outcome = 3 // lifted before that: this cluster takes them as before
)

// SupersedeAnswered answers SupersedeTopic.
type SupersedeAnswered struct {
	Ref     core.RequestID
	Topic   core.TopicID
	Name    string
	Code    perr.Code
	Text    string // with OutcomeFencing what is missing, with OutcomeEnded why
	Outcome Outcome
	Era     core.Era        // of the mirror's reign; with a refusal the newest known here
	Newest  core.Generation // set when superseded by a newer command, as in RegisterAnswered
	Ends    []End           // a switchover's: where every partition ends, by index
}

// End is where a fenced partition ends.
type End struct {
	Partition   int32
	LeaderEpoch core.LeaderEpoch
	LEO         core.Offset
}

// ReleaseAnswered answers ReleaseMirror.
type ReleaseAnswered struct {
	Ref     core.RequestID
	Code    perr.Code
	Text    string
	Cluster core.ClusterID
	Number  core.ReleaseNumber // 0 for a dry run
	// Wait is how long acks may still wait for the mirror, in ns; 0: not at all. Promised: because evidence promised it.
	Wait     int64
	Promised bool
	Topics   []ReleasedTopic
}

// ReleasedTopic is what a release did, or would do, to one topic.
type ReleasedTopic struct {
	Topic core.TopicID
	Name  string
	Gated bool // the topic was gated on the mirror until now
	Held  bool // recoveries were refused until now
	Code  perr.Code
	Text  string
}

// Described answers Describe.
type Described struct {
	Ref    core.RequestID
	Ledger Description
}

// Publish hands facts to the image publisher.
type Publish struct{ Facts []image.Fact }

// PublishLedger replaces the snapshot that evidence, fetches and unknown reports are checked against. A
// release publishes it before the facts that un-gate: whoever stamps T first and checks Confirms afterwards
// cannot vouch for an ack that the release let through (C4, model G5).
type PublishLedger struct{ Ledger Ledger }

// NoteRelease is performed behind the PublishLedger that ends the evidence of a release: send ReleasePublished back.
type NoteRelease struct {
	Key    core.MirrorKey
	Number core.ReleaseNumber
}

// NotifyReleased asks the bus to tell the destination; losing it is harmless. No Topics: the whole mirror.
type NotifyReleased struct {
	Key    core.MirrorKey
	Number core.ReleaseNumber
	Topics []core.TopicID
}

// NotifyLifted asks the bus to tell the destination that a hold is over, so that it need not wait out its back-off;
// losing it is harmless. No Topics: the whole mirror.
type NotifyLifted struct {
	Key    core.MirrorKey
	Topics []core.TopicID
}

// ArmTimer asks for a Tick at At (mono ns).
type ArmTimer struct{ At int64 }

// Ledger is an immutable snapshot of who is registered and who was released.
type Ledger struct {
	Version int64
	// Lease is how long a release after the lease withholds acks here, in ms. Promised: every release does.
	Lease    int64
	Promised bool
	Entries  map[LedgerKey]LedgerEntry
}

// LedgerKey names one registration (C10).
type LedgerKey struct {
	Mirror core.MirrorKey
	Topic  core.TopicID
}

// LedgerEntry is what the ledger says of one key.
type LedgerEntry struct {
	Epoch    core.RegistrationEpoch // 0: not registered
	Released core.ReleaseNumber     // number that a Register must echo; 0: none
	Leaving  bool                   // released, and acks still wait for it (C4)
}

// Confirms reports whether the registration is in force under epoch: what evidence needs besides a
// leader of the controller's newest epoch that gates (C4).
func (l Ledger) Confirms(key core.MirrorKey, topic core.TopicID, epoch core.RegistrationEpoch) bool {
	e, ok := l.Entries[LedgerKey{key, topic}]
	return ok && epoch != 0 && e.Epoch == epoch
}

// Look returns what is known of a key: a leader that meets a registration it does not know answers 953
// while Epoch is set here (it will apply it), else 952 with Released (C1).
func (l Ledger) Look(key core.MirrorKey, topic core.TopicID) (LedgerEntry, bool) {
	e, ok := l.Entries[LedgerKey{key, topic}]
	return e, ok
}

func (e RegisterAnswered) ReplyTo() core.RequestID   { return e.Ref }
func (e UnregisterAnswered) ReplyTo() core.RequestID { return e.Ref }
func (e SupersedeAnswered) ReplyTo() core.RequestID  { return e.Ref }
func (e ReleaseAnswered) ReplyTo() core.RequestID    { return e.Ref }
func (e Described) ReplyTo() core.RequestID          { return e.Ref }

func (RegisterAnswered) isEffect()   {}
func (UnregisterAnswered) isEffect() {}
func (SupersedeAnswered) isEffect()  {}
func (ReleaseAnswered) isEffect()    {}
func (Described) isEffect()          {}
func (Publish) isEffect()            {}
func (PublishLedger) isEffect()      {}
func (NotifyReleased) isEffect()     {}
func (NotifyLifted) isEffect()       {}
func (NoteRelease) isEffect()        {}
func (ArmTimer) isEffect()           {}
