package fetcher

import (
	"fmt"
	"sync"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// reportEvery is how often one partition's progress reaches the mirror actor at most. Claims need
// freshness within a second (C7); a mirror of a thousand partitions must not flood its actor.
const reportEvery = 20 * time.Millisecond

// reports carries what fetchers learn to the mirror actor: progress, evidence and failures newest first
// per partition, everything else as it comes.
type reports struct {
	name   core.MirrorName
	to     Destination
	health *health

	mu       sync.Mutex
	pending  map[core.PartitionID]*pendingReport
	ready    chan struct{}
	finished chan struct{}
}

type pendingReport struct {
	progress *mirror.ReportProgress
	failure  *mirror.ReportFailure
	evidence *mirror.ReportEvidence
}

func newReports(name core.MirrorName, to Destination, h *health) *reports {
	return &reports{name: name, to: to, health: h, pending: map[core.PartitionID]*pendingReport{}, ready: make(chan struct{}, 1), finished: make(chan struct{})}
}

// run flushes until quit is closed.
func (r *reports) run(quit <-chan struct{}) {
	defer close(r.finished)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-quit:
			return
		case <-pause.C:
		}
		select {
		case <-quit:
			return
		case <-r.ready:
		}
		r.flush()
		pause.Reset(reportEvery)
	}
}

func (r *reports) flush() {
	r.mu.Lock()
	batch := r.pending
	r.pending = map[core.PartitionID]*pendingReport{}
	r.mu.Unlock()
	for _, p := range batch {
		if p.failure != nil {
			r.to.Tell(r.name, *p.failure)
		}
		if p.progress != nil {
			r.to.Tell(r.name, *p.progress)
		}
		if p.evidence != nil {
			r.to.Tell(r.name, *p.evidence)
		}
	}
}

func (r *reports) note(id core.PartitionID, set func(*pendingReport)) {
	r.mu.Lock()
	p := r.pending[id]
	if p == nil {
		p = &pendingReport{}
		r.pending[id] = p
	}
	set(p)
	r.mu.Unlock()
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// progress follows an answered fetch, once what it brought is durable here. asked is when it was sent:
// freshness counts from sending, never from receipt (F19).
func (r *reports) progress(c *cursor, q asked) {
	local, _ := r.to.Partition(c.ID)
	sent := q.sent
	if !freshnessFromSending {
		sent = r.to.Now().Mono
	}
	lag := int64(0)
	if c.sourceHW > c.next {
		lag = int64(c.sourceHW-c.next) * c.recordSize()
	}
	floor := core.Unknown
	if f, ok := c.statedFloor(r.to, r.name); ok {
		floor = f.Floor
	}
	cmd := &mirror.ReportProgress{ID: c.ID, Session: q.session, Asked: sent, Sync: q.sync, SourceEpoch: q.epoch, Adopted: c.adopted,
		SourceHW: c.sourceHW, LEO: c.next, LagBytes: lag, Rate: c.rate.perSecond(),
		Floor: floor, EpochStart: c.begins, Stated: c.stated, Unsynced: c.unsynced,
		LocalEpoch: c.home, ISRSize: int32(len(local.ISR)), MinISR: local.MinISR}
	r.note(c.ID, func(p *pendingReport) {
		p.progress = cmd
		if !c.refuse.active() {
			p.failure = nil // overtaken by a success
		}
	})
}

// failing says why the partition's newest question failed.
func (r *reports) failing(c *cursor, asked int64) {
	r.health.failed(Failing{r.name, c.ID, c.failed.code})
	cmd := &mirror.ReportFailure{ID: c.ID, Session: c.Session, Asked: asked, Code: c.failed.code, Text: c.failed.text}
	r.note(c.ID, func(p *pendingReport) { p.failure, p.progress = cmd, nil })
}

// failed says the same of a partition for a reason that is not its own.
func (r *reports) failed(id core.PartitionID, session core.MirrorSession, asked int64, code perr.Code, text string) {
	r.health.failed(Failing{r.name, id, code})
	cmd := &mirror.ReportFailure{ID: id, Session: session, Asked: asked, Code: code, Text: text}
	r.note(id, func(p *pendingReport) { p.failure, p.progress = cmd, nil })
}

// refused says that the source does not take the partition's sync fetches; its data flows on (C5).
func (r *reports) refused(c *cursor, asked int64) {
	r.health.failed(Failing{r.name, c.ID, c.refuse.code})
	cmd := &mirror.ReportFailure{ID: c.ID, Session: c.Session, Asked: asked, Code: c.refuse.code, Text: "the source says: " + c.refuse.code.Message()}
	r.note(c.ID, func(p *pendingReport) { p.failure = cmd })
}

func (r *reports) evidence(e mirror.ReportEvidence) {
	r.note(e.ID, func(p *pendingReport) { p.evidence = &e })
}

func (r *reports) diverged(c *cursor, text string) {
	r.to.Tell(r.name, mirror.ReportDiverged{ID: c.ID, Session: c.Session, Text: text})
}

func (r *reports) rejected(c *cursor, text string) {
	r.to.Tell(r.name, mirror.ReportRejected{ID: c.ID, Session: c.Session, Text: text})
}

// reset tells the mirror that a promise about the partition's data is void (R2, R11).
func (r *reports) reset(c *cursor, text string) {
	r.to.Tell(r.name, mirror.ReportReset{ID: c.ID, Session: c.Session, Text: text})
}

// adopted looks at what an adoption cut. A clean election may cut below a floor, because sync mode reads
// past HW: nothing that was acknowledged went. Any other cut below a floor or below the source's HW ends
// what was promised of the data (R11).
func (r *reports) adopted(c *cursor, before cut, a partition.MirrorAnswered) {
	switch {
	case a.Reset:
		r.reset(c, a.Text)
	case a.BelowFloor && !before.clean:
		r.reset(c, a.Text)
	case a.LEO < before.hw:
		r.reset(c, fmt.Sprintf("followed the source below its own HW %d: cut to %d", before.hw, a.LEO))
	}
}

// cut is what was known when a divergence check was sent home.
type cut struct {
	hw    core.Offset // of ours, which never exceeds the source's
	clean bool        // the source states no unclean election since the epoch adopted last (R11)
}
