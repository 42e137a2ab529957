package sim

import (
	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// askedPartition is one partition of a mirror's fetch.
type askedPartition struct {
	id    core.PartitionID
	epoch core.LeaderEpoch // the adopted source epoch
	from  core.Offset
	last  core.LeaderEpoch
	sync  bool
	floor messages.ReplicaFloorsPartition // with sync
}

type fetchRequest struct {
	key        core.MirrorKey
	partitions []askedPartition
	wait       int64 // ns
}

type fetchedPartition struct {
	id        core.PartitionID
	code      perr.Code
	hw, start core.Offset
	diverging bool
	records   []byte
	evidence  *messages.PartitionEvidence
	released  core.ReleaseNumber
}

// waitingFetch is a mirror's fetch at a source broker: it is composed again whenever a partition it waits in
// moves, and answered when there is something to say or its time is over (clusterd/front).
type waitingFetch struct {
	broker   *broker
	req      fetchRequest
	asked    []waitingPartition // of req.partitions
	late     int64              // mono
	over     bool
	looking  bool
	reply    func(any)
	deadline bool
}

// waitingPartition is what becomes of one partition of the request.
type waitingPartition struct {
	reports bool // a sync fetch: standing is what it is judged by
	standing
	parked bool
	ref    core.RequestID // of the parked wait; 0 while it is being parked
	failed perr.Code
}

type standing struct {
	epoch    core.RegistrationEpoch
	refusal  perr.Code
	released core.ReleaseNumber
	leaving  bool
}

const maxFetchBytes = 1 << 20

func (b *broker) fetch(req fetchRequest, reply func(any)) {
	q := &waitingFetch{broker: b, req: req, reply: reply, late: b.home.mono() + req.wait, asked: make([]waitingPartition, len(req.partitions))}
	for i, a := range req.partitions {
		if !a.sync {
			continue
		}
		s := b.standing(req.key, a.id.Topic, core.RegistrationEpoch(a.floor.RegistrationEpoch))
		q.asked[i].reports, q.asked[i].standing = true, s
		if s.refusal == perr.None || s.leaving {
			b.home.reportFloor(req.key, a.id, &a.floor)
		}
	}
	q.attempt()
}

// reportFloor hands a destination's report to the HW actor of the partition's newest leader.
func (p *process) reportFloor(key core.MirrorKey, id core.PartitionID, floor *messages.ReplicaFloorsPartition) {
	if r := p.leader(id); r != nil {
		r.highwater.tell(facts.Report(key, floor))
	}
}

// standing judges a registration epoch: the image decides, the ledger tells propagating from void (C1, C5).
func (b *broker) standing(key core.MirrorKey, topic core.TopicID, epoch core.RegistrationEpoch) standing {
	gating := false
	for _, g := range b.feed.image.Sync[topic].Gates {
		gating = gating || g.Key == key && g.Epoch == epoch
	}
	entry, known := b.home.ledger.Look(key, topic)
	leaving := gating && known && entry.Epoch == 0 && entry.Released != 0
	if gating && !leaving {
		return standing{epoch: epoch}
	}
	if known && entry.Epoch != 0 && entry.Epoch == epoch {
		return standing{epoch: epoch, refusal: perr.MirrorRegistrationPropagating}
	}
	if known && entry.Released != 0 {
		b.home.registration.tell(registration.ReportTold{Key: key, Topic: topic, Number: entry.Released})
	}
	return standing{epoch: epoch, refusal: perr.InvalidSyncRegistration, released: entry.Released, leaving: leaving}
}

func (q *waitingFetch) attempt() {
	q.looking = false
	if q.over {
		return
	}
	p := q.broker.home
	list := make([]fetchedPartition, 0, len(q.asked))
	urgent, size := false, 0
	type watch struct {
		at     int
		r      *replica
		until  partition.Position
		beyond core.Offset
	}
	var watches []watch
	for i := range q.asked {
		a, asked := &q.req.partitions[i], &q.asked[i]
		out := fetchedPartition{id: a.id, hw: core.Unknown, start: core.Unknown}
		r, code := q.broker.leaderHere(a.id)
		if code == perr.None {
			code = fenceEpoch(r.view, a.epoch)
		}
		if code == perr.None {
			code = asked.failed
		}
		until := partition.PositionHW
		if asked.reports && code == perr.None {
			if asked.refusal == perr.None {
				asked.standing = q.broker.standing(q.req.key, a.id.Topic, asked.epoch)
			}
			until, code = partition.PositionLEO, asked.refusal
		}
		if code == perr.None && (a.from < r.view.LogStart || a.from > r.view.LEO) {
			code = perr.OffsetOutOfRange
		}
		if code == perr.None {
			out.hw, out.start = r.view.HW, r.view.LogStart
			out.diverging, code = diverges(r.view, *a)
			if out.diverging {
				urgent = true
			} else if code == perr.None {
				below := position(r.view, until)
				watches = append(watches, watch{i, r, until, max(below, a.from)})
				if a.from < below && size < maxFetchBytes {
					found := r.log.read(a.from, below, maxFetchBytes-size)
					if len(found) > 0 && core.Offset(found[0].BaseOffset) > a.from {
						code, found = perr.OffsetOutOfRange, nil // deleted since the view was taken
					}
					for _, b := range found {
						out.records = append(out.records, b.Bytes...)
					}
					size += len(out.records)
				}
			}
		}
		if code != perr.None {
			out.code, urgent = code, true
			out.hw, out.start = core.Unknown, core.Unknown
		}
		out.released = asked.released
		if r != nil {
			out.evidence = p.evidenceFor(r, q.req.key, asked.epoch)
		}
		list = append(list, out)
	}
	if urgent || size > 0 || p.mono() >= q.late {
		q.end()
		q.reply(list)
		return
	}
	for _, w := range watches {
		q.park(w.at, w.r, w.until, w.beyond)
	}
	if !q.deadline {
		q.deadline = true
		p.wake(q.late, q.look)
	}
}

func diverges(v partition.View, a askedPartition) (bool, perr.Code) {
	if a.last < 0 {
		return false, perr.None
	}
	epoch, end := partition.EndOffsetForEpoch(v, a.last)
	switch {
	case end == core.Unknown:
		return false, perr.OffsetOutOfRange
	case epoch < a.last || end < a.from:
		return true, perr.None
	default:
		return false, perr.None
	}
}

func (q *waitingFetch) park(at int, r *replica, until partition.Position, beyond core.Offset) {
	asked := &q.asked[at]
	if asked.parked {
		return
	}
	asked.parked, asked.ref = true, 0
	ref := r.ask(func(ref core.RequestID) partition.Command {
		return partition.ParkFetch{Ref: ref, Until: until, Beyond: beyond}
	}, func(answer any) {
		asked.parked = false
		if gone, ok := answer.(shell.Failed); ok {
			asked.failed = gone.Code
		}
		q.look()
	})
	if asked.parked {
		asked.ref = ref
	}
}

// look composes again, once for all wake-ups of the same instant.
func (q *waitingFetch) look() {
	if q.over || q.looking {
		return
	}
	q.looking = true
	q.broker.home.site.world.after(20*us, func() {
		if !q.broker.home.dead {
			q.attempt()
		}
	})
}

func (q *waitingFetch) end() {
	q.over = true
	for i := range q.asked {
		asked := &q.asked[i]
		if r := q.broker.replicas[q.req.partitions[i].id]; r != nil && asked.parked && asked.ref != 0 {
			r.partition.cancel(asked.ref, partition.UnparkFetch{Ref: asked.ref})
		}
	}
}
