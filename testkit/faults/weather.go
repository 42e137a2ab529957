package faults

import (
	"time"

	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// fault does something and returns how it is undone; the road is healed anyway.
type fault struct {
	name string
	do   func(*run) (undo func())
}

func nothing() {}

var all = []fault{
	{"distance", func(r *run) func() {
		d := time.Duration(r.rng.Int64N(int64(150 * time.Millisecond)))
		r.road.Each(func(w *wire.Wire) { w.Delay(wire.Up, d); w.Delay(wire.Down, d) })
		return nothing
	}},
	{"slow line", func(r *run) func() {
		rate := int64(1<<10 + r.rng.IntN(64<<10))
		r.road.Each(func(w *wire.Wire) { w.Rate(wire.Down, rate) })
		return nothing
	}},
	{"black hole of requests", func(r *run) func() { r.road.Each(func(w *wire.Wire) { w.Hold(wire.Up, true) }); return nothing }},
	{"black hole of answers", func(r *run) func() { r.road.Each(func(w *wire.Wire) { w.Hold(wire.Down, true) }); return nothing }},
	{"cut in a request", func(r *run) func() { return r.cut(wire.Up, 200) }},
	{"cut in an answer", func(r *run) func() { return r.cut(wire.Down, 20_000) }},
	{"closed line", func(r *run) func() { r.road.Each((*wire.Wire).Close); return nothing }},
	{"closed NATS", func(r *run) func() { r.road.NATS.Close(); return nothing }},
	{"lost NATS messages", func(r *run) func() { r.loss.Set(0.1 + 0.9*r.rng.Float64()); return nothing }},
	{"frozen destination", func(r *run) func() {
		d := r.one()
		d.Freeze(r.job)
		return func() { d.Thaw(r.job) }
	}},
	{"killed destination", func(r *run) func() {
		d := r.one()
		d.Kill()
		return func() { d.Restart(r.job) }
	}},
	{"destination under min ISR", func(r *run) func() {
		d := r.one()
		d.StopBroker(r.job, 2)
		d.StopBroker(r.job, 3)
		return func() { d.StartBroker(r.job, 2); d.StartBroker(r.job, 3) }
	}},
	{"broker of the source", func(r *run) func() {
		id := int32(1 + r.rng.IntN(3))
		r.source.StopBroker(r.job, id)
		return func() { r.source.StartBroker(r.job, id) }
	}},
}

// one is any destination.
func (r *run) one() *dc.Datacenter { return r.destinations[r.rng.IntN(len(r.destinations))] }

// cut breaks every line of the road somewhere in the next bytes of a direction.
func (r *run) cut(way wire.Way, within int) func() {
	r.road.Each(func(w *wire.Wire) { w.CutIn(way, int64(1+r.rng.IntN(within))) })
	return nothing
}
