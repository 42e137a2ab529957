package sim

import (
	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// phase is what a cursor needs next, as in actors/fetcher.
type phase uint8

const (
	unaligned phase = iota
	aligning
	raising
	fetching
	appending
	diverged
	lost
)

// cursor is where one mirrored partition stands.
type cursor struct {
	assignment
	phase   phase
	home    core.LeaderEpoch
	agreed  core.LeaderEpoch
	adopted core.LeaderEpoch
	source  core.Incarnation // of the source that counted it
	next    core.Offset
	last    core.LeaderEpoch
	flying  *flight
	attempt uint64

	pause     int64 // the last one
	until     int64
	code      perr.Code
	refusal   perr.Code
	probe     int64
	probing   int64 // the last pause between probes
	sourceHW  core.Offset
	tracked   core.Offset
	trimmed   core.Offset
	waiters   bool
	told      bool
	begins    core.Offset
	stated    bool
	corrupt   int
	appendOf  askedFor
	beforeCut beforeCut
	bytes     int64
	records   int64
	rateAt    int64 // since when rateBytes counts
	rateBytes int64
	rate      int64
}

// assignment is what the mirror's metadata says of one partition.
type assignment struct {
	id            core.PartitionID
	session       core.MirrorSession
	sync          bool
	epoch         core.RegistrationEpoch
	incarnation   core.Incarnation
	followUnclean bool
	sourceEpoch   core.LeaderEpoch
	since         int64
}

// askedFor identifies one question.
type askedFor struct {
	session core.MirrorSession
	epoch   core.LeaderEpoch
	attempt uint64
	offset  core.Offset
	sync    bool
	sent    int64
}

type beforeCut struct {
	hw    core.Offset
	clean bool
}

func newCursor(a assignment) *cursor {
	return &cursor{assignment: a, home: core.NoEpoch, agreed: core.NoEpoch, adopted: core.NoEpoch, next: core.Unknown, last: core.NoEpoch, begins: core.Unknown,
		sourceHW: core.Unknown, tracked: core.Unknown, trimmed: core.Unknown}
}

func (c *cursor) reassign(a assignment) (modeChanged bool) {
	restart := a.session != c.session || a.sourceEpoch != c.sourceEpoch
	modeChanged = a.sync != c.sync || a.epoch != c.epoch
	newSession := a.session != c.session
	c.assignment = a
	if modeChanged {
		c.refusal = 0
	}
	if newSession {
		c.adopted, c.sourceHW, c.tracked, c.trimmed = core.NoEpoch, core.Unknown, core.Unknown, core.Unknown
	}
	if restart && (newSession || c.phase != diverged) {
		c.restart()
	} else if c.phase == lost {
		c.phase = unaligned
	}
	return modeChanged
}

func (c *cursor) restart() {
	c.phase, c.agreed, c.pause, c.until, c.flying = unaligned, core.NoEpoch, 0, 0, nil
	c.attempt++
}

// pace is how a retry slows down: first pause, doubled up to most.
type pace struct{ first, most int64 }

var (
	probePropagating = pace{20 * ms, 500 * ms}
	probeRejected    = pace{250 * ms, 2 * sec}
	localPace        = pace{10 * ms, 500 * ms}
	connectPace      = pace{50 * ms, 5 * sec}
	epochPace        = pace{10 * ms, 1 * sec}
	fetchPace        = pace{1 * sec, 10 * sec}
)

func slower(last *int64, p pace) int64 {
	*last = min(max(*last*2, p.first), p.most)
	return *last
}

func (c *cursor) retryAlignment(now int64, p pace) {
	c.phase, c.flying = unaligned, nil
	c.attempt++
	c.until = now + slower(&c.pause, p)
}

func (c *cursor) current(q askedFor) bool {
	return q.attempt == c.attempt && q.session == c.session && q.epoch == c.adopted && c.flying != nil
}

// anotherSource reports whether an answer is of another run of the source than the adopted one.
func (c *cursor) anotherSource(part fetchedPartition) bool {
	return part.source() != c.source && (part.evidence != nil || part.code == perr.None)
}

// source is the run of the source that an answer states; zero: none.
func (part fetchedPartition) source() core.Incarnation {
	if part.evidence == nil {
		return core.Incarnation{}
	}
	return part.evidence.Incarnation
}

func (c *cursor) readsSync(now int64) bool { return c.sync && (c.refusal == 0 || now >= c.probe) }

func (c *cursor) refused(now int64, code perr.Code) {
	p := probeRejected
	if code == perr.MirrorRegistrationPropagating {
		p = probePropagating
	}
	if code != c.refusal {
		c.probing = 0
	}
	c.refusal = code
	c.probe = now + slower(&c.probing, p)
}

// measure keeps the bytes per second this cursor was fetched at lately.
func (c *cursor) measure(size, now int64) {
	if now-c.rateAt > 5*sec {
		c.rateAt, c.rateBytes = now-sec, 0
	}
	c.rateBytes += size
	c.rate = c.rateBytes * sec / max(now-c.rateAt, sec)
}

func (c *cursor) progress(p *process, q askedFor, floor core.Offset) mirror.ReportProgress {
	local, _ := p.newest.Partition(c.id)
	lag := int64(0)
	if c.sourceHW > c.next && c.records > 0 {
		lag = int64(c.sourceHW-c.next) * (c.bytes / c.records)
	}
	return mirror.ReportProgress{ID: c.id, Session: q.session, Asked: q.sent, Sync: q.sync, SourceEpoch: q.epoch, Adopted: c.adopted,
		SourceHW: c.sourceHW, LEO: c.next, Floor: floor, EpochStart: c.begins, Stated: c.stated, LagBytes: lag, Rate: c.rate, LocalEpoch: c.home, ISRSize: int32(len(local.ISR)), MinISR: local.MinISR}
}
