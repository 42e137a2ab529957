package fetcher

import (
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// phase is what a cursor needs next.
type phase uint8

const (
	// unaligned: ask the source where our last epoch ends there, then adopt its epoch (R3, F04). Every
	// session and every source epoch begins here, clean election or not.
	unaligned phase = iota
	aligning        // the divergence check is on its way, to the source or in our own partition actor
	raising         // our own leader epoch is being raised above the source's (D23)
	fetching        // may be part of the next fetch
	appending       // an answer is with the partition actor; its durable append opens the next fetch
	diverged        // R11 forbids to follow: nothing is fetched until a new session (an operator decides)
	lost            // the source leader or epoch is not known; metadata decides
)

// window is how many fetches of one cursor may be outstanding. The cursor carries everything that more
// than one needs (session, epoch and attempt of each answer); only the source's session cursor is
// missing, which tells a fetch without offset where to go on (measured.md §6).
const window = 1

// cursor is where one mirrored partition stands. It belongs to the goroutine of one fetcher.
type cursor struct {
	assignment

	phase   phase
	home    core.LeaderEpoch // our own leader epoch when the source's was adopted
	agreed  core.LeaderEpoch // the epoch our partition actor wants to be asked for next, NoEpoch: its newest
	adopted core.LeaderEpoch // the source epoch our log stands under in this session
	source  core.Incarnation // of the source that counted it, as the check learned it; zero: it states none
	next    core.Offset      // our durable LEO: where the next fetch starts
	last    core.LeaderEpoch // latest epoch in our log below next
	flying  int              // fetches outstanding, at most window
	// attempt is raised whenever what was asked before must not count any more: answers carry the
	// attempt they were asked in (R3, model A1). The partition actor checks session and epoch again.
	attempt uint64

	pause  backoff
	until  time.Time // not before
	failed failure
	refuse refusal

	begins    core.Offset // where the adopted source epoch begins there; Unknown: of a source that states its gates
	stated    bool        // the newest answer carried evidence
	unsynced  bool        // which said that the source runs with durability=os
	sourceHW  core.Offset
	tracked   core.Offset // the source HW last handed to the partition actor
	trimmed   core.Offset // the source log start last handed to it
	forgotten core.Offset // what the source stated of producers it has forgotten, last handed to it
	waiters   bool        // the source said that producers wait for our floor
	told      bool        // waiters, as last handed to the partition actor
	bytes     int64       // read, for the mean size of a record
	records   int64
	rate      meter
	corrupt   int       // bad answers in a row
	flight    *flight   // the fetch it is part of
	appendOf  asked     // the question whose answer is being appended
	received  time.Time // when that answer came, if it had batches
	cut       cut       // what the check that is out may cut
}

// assignment is what the mirror's metadata says of one partition.
type assignment struct {
	ID      core.PartitionID
	Topic   string // the source's name of it
	Session core.MirrorSession
	Sync    bool // fetch with MirrorReplicaInfo, to the source's LEO
	// Epoch and Incarnation are those of the registration the mirror reports under; Epoch 0: not known yet.
	Epoch       core.RegistrationEpoch
	Incarnation core.Incarnation
	// FollowUnclean is mirror.support.unclean.leader.election of the topic.
	FollowUnclean bool
	Accept        bool             // an operator took the source's history for this partition (R11)
	SourceEpoch   core.LeaderEpoch // of the source's leader, which is this fetcher's broker
	Since         time.Time        // when metadata began to state an epoch as low as that
}

// asked identifies one question, so that a late answer can be told from a current one.
type asked struct {
	session core.MirrorSession
	epoch   core.LeaderEpoch
	attempt uint64
	offset  core.Offset
	sync    bool
	sent    int64 // mono ns of the actors' clock; freshness counts from here (F19)
}

func newCursor(a assignment) *cursor {
	return &cursor{assignment: a, home: core.NoEpoch, agreed: core.NoEpoch, adopted: core.NoEpoch, next: core.Unknown, last: core.NoEpoch, begins: core.Unknown,
		sourceHW: core.Unknown, tracked: core.Unknown, trimmed: core.Unknown}
}

// reassign takes over what metadata says now. A new session or source epoch starts over at the
// divergence check; a mode alone does not.
func (c *cursor) reassign(a assignment) (modeChanged bool) {
	restart := a.Session != c.Session || a.SourceEpoch != c.SourceEpoch
	modeChanged = a.Sync != c.Sync || a.Epoch != c.Epoch
	newSession := a.Session != c.Session
	c.assignment = a
	if modeChanged {
		c.refuse = refusal{} // also of another registration: what was refused to the old one says nothing
	}
	if newSession {
		c.adopted, c.sourceHW, c.tracked, c.trimmed, c.forgotten = core.NoEpoch, core.Unknown, core.Unknown, core.Unknown, 0
	}
	// DIVERGED ends only with a session: another source epoch cannot make our data agree with it.
	if restart && (newSession || c.phase != diverged) {
		c.restart()
	} else if c.phase == lost {
		c.phase = unaligned // metadata knows nothing newer: ask again, after the pause lose has set
	}
	return modeChanged
}

// restart goes back to the divergence check; what is in flight does not count any more.
func (c *cursor) restart() {
	c.phase = unaligned
	c.agreed = core.NoEpoch
	c.attempt++
	c.flying = 0
	c.pause.reset()
	c.until = time.Time{}
}

// retryAlignment is restart after a pause.
func (c *cursor) retryAlignment(now time.Time, p pace) {
	c.phase = unaligned
	c.attempt++
	c.flying = 0
	c.until = now.Add(c.pause.next(p))
}

// lose waits for metadata, and for a pause that grows while metadata keeps naming the wrong leader.
func (c *cursor) lose(now time.Time) {
	c.retryAlignment(now, epochPace)
	c.phase = lost
}

// current reports whether an answer to q may be used.
func (c *cursor) current(q asked) bool {
	return !fenceAnswers || q.attempt == c.attempt && q.session == c.Session && q.epoch == c.adopted && c.flying > 0
}

// anotherSource reports whether an answer is of another run of the source than the one whose epoch is adopted. A source that
// was restored from an older copy leads under the very same epochs, on the same connection and in the same session; what it
// says must not be used before its records were compared with ours (R3). Records without evidence are of nobody's run; an error without it says nothing of one.
func (c *cursor) anotherSource(p *messages.FetchResponsePartition) bool {
	return statedSource(p) != c.source && (p.Evidence != nil || p.ErrorCode == 0) && checkAnotherIncarnation
}

// statedSource is the incarnation that an answer names; zero: none.
func statedSource(p *messages.FetchResponsePartition) core.Incarnation {
	if p.Evidence == nil {
		return core.Incarnation{}
	}
	return p.Evidence.Incarnation
}

// readsSync reports whether the next fetch carries MirrorReplicaInfo. A refused partition reads like a
// consumer, so that its data flows (C5, F21), and asks again when its probe is due.
func (c *cursor) readsSync(now time.Time) bool {
	return c.Sync && (!c.refuse.active() || !now.Before(c.refuse.probe) || !readAsyncWhileRefused)
}

// failure is since when and why a partition does not do what it should.
type failure struct {
	since time.Time
	code  perr.Code
	text  string
}

func (f failure) active() bool { return f.code != 0 }

// fail keeps the instant of the first failure of a row, whatever the codes in between.
func (c *cursor) fail(now time.Time, code perr.Code, text string) {
	if !c.failed.active() {
		c.failed.since = now
	}
	c.failed.code, c.failed.text = code, text
}

// refusal is a source's answer 952 or 953 to sync fetches.
type refusal struct {
	since time.Time
	code  perr.Code
	probe time.Time // when the next sync fetch is tried
	pause backoff
}

func (r refusal) active() bool { return r.code != 0 }

func (r *refusal) note(now time.Time, code perr.Code) {
	if !r.active() {
		r.since = now
	}
	p := probeRejected
	if code == perr.MirrorRegistrationPropagating {
		p = probePropagating
	}
	if code != r.code {
		r.pause.reset()
	}
	r.code = code
	r.probe = now.Add(r.pause.next(p))
}

// pace is how a retry slows down: first pause, doubled up to most.
type pace struct{ first, most time.Duration }

var (
	// A leader whose image lags catches up within milliseconds.
	probePropagating = pace{20 * time.Millisecond, 500 * time.Millisecond}
	// A released or unknown registration changes by an operator or by our own Register.
	probeRejected = pace{250 * time.Millisecond, 2 * time.Second}
	// Our own partition moved, or its actor restarts.
	localPace = pace{10 * time.Millisecond, 500 * time.Millisecond}
	// The source broker does not answer.
	connectPace = pace{50 * time.Millisecond, 5 * time.Second}
	// The source's metadata lags behind its own answer.
	epochPace = pace{10 * time.Millisecond, 1 * time.Second}
)

type backoff struct{ last time.Duration }

func (b *backoff) next(p pace) time.Duration {
	b.last = min(max(b.last*2, p.first), p.most)
	return b.last
}

func (b *backoff) reset() { b.last = 0 }
