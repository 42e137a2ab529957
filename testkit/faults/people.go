package faults

import (
	"context"
	"slices"

	"lockstep/protocol/admin"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// releasedCut: a mirror is cut off, the operator releases it, the source goes on without it, and with the line back it
// gates again by itself.
func (r *run) releasedCut() {
	m := r.one()
	r.lanes[m].Each((*wire.Wire).Close)
	r.now.deafens(m)
	r.suffer()
	released := r.release(m)
	r.goesOn("after the release of " + m)
	r.suffer()
	r.lanes[m].Heal(r.job)
	r.returns(m, released)
}

// releasedAlive: the release of a mirror that is well; it comes back while the operator still looks.
func (r *run) releasedAlive() {
	m := r.one()
	r.now.hits(m) // it may be back, and behind, at any time
	released := r.source.Release(r.job, m)
	r.suffer()
	r.returns(m, released)
}

// releasedHeld: until the operator says so, the mirror does not come back, however willing it is.
func (r *run) releasedHeld() {
	m := r.one()
	released := r.operator("release and hold", m, admin.ReleaseOptions{Hold: true})
	r.now.frees(m)
	r.destinations[m].AwaitTopic(r.job, m, topic, "held", func(now dc.Described) bool {
		return now.EffectiveMirrorType == admin.Async && now.RecoveryPending && now.ReleaseNumber >= released.Number
	})
	r.destinations[m].Freeze(r.job)
	r.goesOn("while " + m + " is held and frozen")
	r.suffer()
	r.destinations[m].Thaw(r.job)
	r.operator("lift the hold", m, admin.ReleaseOptions{Unhold: true})
	r.returns(m, released)
}

// releasedOne: of two mirrors one is cut off and released; the other still gates.
func (r *run) releasedOne() {
	m := r.one()
	r.lanes[m].Each((*wire.Wire).Close)
	r.now.deafens(m)
	released := r.release(m)
	r.goesOn("after the release of " + m)
	o := r.other(m)
	r.destinations[o].Freeze(r.job)
	r.now.deafens(o)
	r.suffer()
	r.now.hears()
	r.destinations[o].Thaw(r.job)
	r.goesOn("with " + o + " back")
	r.lanes[m].Heal(r.job)
	r.returns(m, released)
}

// asyncAndBack is the operator of the destination.
func (r *run) asyncAndBack() {
	m := r.one()
	d := r.destinations[m]
	r.now.hits(m)
	d.Alter(r.job, m, topic, admin.Async)
	d.AwaitTopic(r.job, m, topic, "ASYNC", func(now dc.Described) bool { return now.Phase == "ASYNC" && !now.Reporting })
	r.now.frees(m)
	d.Freeze(r.job)
	r.goesOn("while " + m + " is ASYNC and frozen")
	r.suffer()
	d.Thaw(r.job)
	r.now.binds(m)
	d.Alter(r.job, m, topic, admin.Sync)
	d.AwaitSync(r.job, m, topic)
	r.gates(m)
}

// release takes a mirror's vote away.
func (r *run) release(m string) admin.Release {
	released := r.source.Release(r.job, m)
	r.now.frees(m)
	return released
}

// operator is a release with options at the source.
func (r *run) operator(what, m string, o admin.ReleaseOptions) admin.Release {
	ctx, cancel := context.WithTimeout(r.job.Context(), dc.Patience)
	defer cancel()
	released, err := r.source.Admin.Release(ctx, m, nil, o)
	if err != nil {
		r.job.Fatalf("%s %s: %v", what, m, err)
	}
	return released
}

// goesOn: the client is acknowledged new records, on every partition.
func (r *run) goesOn(when string) {
	dc.Await(r.job, "new records are acknowledged "+when, r.load.NextNew())
	for p := range int32(partitions) {
		r.source.MustProduce(r.job, topic, p, "goes on")
	}
}

// returns waits until a released mirror is SYNC with that release known to it, by itself, and then gates.
func (r *run) returns(m string, released admin.Release) {
	r.now.binds(m)
	r.destinations[m].AwaitTopic(r.job, m, topic, "SYNC again", func(now dc.Described) bool { return dc.InSync(now) && now.ReleaseNumber >= released.Number })
	r.gates(m)
}

// gates proves that a mirror which says SYNC holds acknowledgements: frozen, it must.
func (r *run) gates(m string) {
	if slices.Contains(r.now.free, m) {
		r.job.Fatalf("%s is free, and is asked to gate", m)
	}
	r.destinations[m].Freeze(r.job)
	r.now.deafens(m)
	r.probe(r.Most / 4)
	r.now.hears()
	r.destinations[m].Thaw(r.job)
}
