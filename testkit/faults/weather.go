package faults

import (
	"time"

	"lockstep/testkit/wire"
)

// fault does something, says in r.now what that may hold, probes, and undoes it; lines are healed anyway.
type fault struct {
	name  string
	needs int // mirrors, at least
	do    func(*run)
}

var all = []fault{
	{"distance", 1, onLines(func(r *run, w *wire.Wire) {
		d := time.Duration(r.rng.Int64N(int64(150 * time.Millisecond)))
		w.Delay(wire.Up, d)
		w.Delay(wire.Down, d)
	})},
	{"slow line", 1, onLines(func(r *run, w *wire.Wire) { w.Rate(wire.Down, int64(1<<10+r.rng.IntN(64<<10))) })},
	{"cut in a request", 1, onLines(func(r *run, w *wire.Wire) { w.CutIn(wire.Up, int64(1+r.rng.IntN(200))) })},
	{"cut in an answer", 1, onLines(func(r *run, w *wire.Wire) { w.CutIn(wire.Down, int64(1+r.rng.IntN(20_000))) })},
	{"black hole of requests", 1, deaf(func(w *wire.Wire) { w.Hold(wire.Up, true) })},
	{"black hole of answers", 1, deaf(func(w *wire.Wire) { w.Hold(wire.Down, true) })},
	{"closed line", 1, deaf((*wire.Wire).Close)},
	{"closed NATS", 1, onMirrors(func(r *run, m string) { r.lanes[m].NATS.Close() })},
	{"silent NATS", 1, onMirrors(func(r *run, m string) { r.lanes[m].NATS.Hold(wire.Way(r.rng.IntN(2)), true) })},
	{"lost NATS messages", 1, onMirrors(func(r *run, m string) { r.loss[m].Set(0.1 + 0.9*r.rng.Float64()) })},
	{"random lines", 1, onLines(func(r *run, w *wire.Wire) {
		way := wire.Way(r.rng.IntN(2))
		switch r.rng.IntN(5) {
		case 0:
			w.Close()
		case 1:
			w.Hold(way, true)
		case 2:
			w.CutIn(way, int64(1+r.rng.IntN(5000)))
		case 3:
			w.Rate(way, int64(1<<10+r.rng.IntN(16<<10)))
		default:
		}
	})},
	{"frozen destination", 1, func(r *run) {
		m := r.one()
		r.destinations[m].Freeze(r.job)
		r.now.deafens(m)
		r.suffer()
		r.now.hears()
		r.destinations[m].Thaw(r.job)
	}},
	{"killed destination", 1, func(r *run) {
		m := r.one()
		r.destinations[m].Kill()
		r.now.deafens(m)
		r.now.unders(m) // in-sync replicas join again one by one
		r.suffer()
		r.now.hears()
		r.destinations[m].Restart(r.job)
		r.probe(r.Most / 8)
	}},
	{"killed destinations", 2, func(r *run) {
		for _, m := range r.mirrors {
			r.destinations[m].Kill()
			r.now.unders(m)
		}
		r.now.deafens(r.mirrors...)
		r.suffer()
		r.now.hears()
		for _, m := range r.mirrors {
			r.destinations[m].Restart(r.job)
		}
	}},
	{"destination under min ISR", 1, func(r *run) {
		m := r.one()
		d := r.destinations[m]
		d.StopBroker(r.job, 2)
		d.StopBroker(r.job, 3)
		r.now.unders(m)
		r.now.deafens(m)
		r.suffer()
		r.now.hears()
		d.StartBroker(r.job, 2)
		d.StartBroker(r.job, 3)
	}},
	{"broker of a destination", 1, func(r *run) {
		m := r.one()
		id := int32(1 + r.rng.IntN(3))
		r.now.unders(m)
		r.destinations[m].StopBroker(r.job, id)
		r.suffer()
		r.destinations[m].StartBroker(r.job, id)
	}},
	{"broker of the source", 1, func(r *run) {
		id := int32(1 + r.rng.IntN(3))
		r.now.moves(r.mirrors)
		r.source.StopBroker(r.job, id)
		r.suffer()
		r.source.StartBroker(r.job, id)
	}},
	{"frozen source", 1, func(r *run) {
		r.now.moves(r.mirrors)
		r.source.Freeze(r.job)
		r.idle()
		r.source.Thaw(r.job)
		r.probe(r.Most / 8)
	}},
	{"killed source", 1, func(r *run) {
		r.now.moves(r.mirrors)
		r.source.Kill()
		r.idle()
		r.source.Restart(r.job)
		r.probe(r.Most / 8)
	}},
	{"killed everywhere", 1, func(r *run) {
		r.now.moves(r.mirrors)
		r.now.unders(r.mirrors...)
		list := r.all()
		r.rng.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		for _, d := range list {
			d.Kill()
			r.idle()
		}
		r.rng.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		for _, d := range list {
			d.Restart(r.job)
		}
		r.probe(r.Most / 8)
	}},
	{"source killed, gated by a frozen destination", 1, func(r *run) {
		m := r.one()
		r.destinations[m].Freeze(r.job)
		r.now.moves(r.mirrors)
		r.now.deafens(m)
		r.source.Kill()
		r.source.Restart(r.job)
		r.suffer()
		r.now.hears()
		r.destinations[m].Thaw(r.job)
	}},
	{"released while cut off", 1, func(r *run) { r.releasedCut() }},
	{"released while it lives", 1, func(r *run) { r.releasedAlive() }},
	{"released and held", 1, func(r *run) { r.releasedHeld() }},
	{"one released, the other frozen", 2, func(r *run) { r.releasedOne() }},
	{"ASYNC and back", 1, func(r *run) { r.asyncAndBack() }},
}

// onMirrors hits one mirror or all; none is deaf by it for certain.
func onMirrors(hit func(*run, string)) func(*run) {
	return func(r *run) {
		for _, m := range r.some() {
			r.now.hits(m)
			hit(r, m)
		}
		r.suffer()
	}
}

// onLines does something to every line of some mirrors.
func onLines(hit func(*run, *wire.Wire)) func(*run) {
	return onMirrors(func(r *run, m string) { r.lanes[m].Each(func(w *wire.Wire) { hit(r, w) }) })
}

// deaf is onLines of what lets no request, or no answer, pass.
func deaf(hit func(*wire.Wire)) func(*run) {
	return func(r *run) {
		some := r.some()
		for _, m := range some {
			r.lanes[m].Each(hit)
		}
		r.now.deafens(some...)
		r.suffer()
		r.now.hears()
	}
}

// one is any mirror.
func (r *run) one() string { return r.mirrors[r.rng.IntN(len(r.mirrors))] }

// other is a mirror beside m.
func (r *run) other(m string) string {
	for _, o := range r.mirrors {
		if o != m {
			return o
		}
	}
	return ""
}

// some is one mirror, or now and then all.
func (r *run) some() []string {
	if r.rng.IntN(5) == 0 {
		return r.mirrors
	}
	return []string{r.one()}
}

// idle lets a fault last without asking anything.
func (r *run) idle() {
	select {
	case <-time.After(r.Most/16 + time.Duration(r.rng.Int64N(int64(r.Most/2)))):
	case <-r.job.Context().Done():
	}
}
