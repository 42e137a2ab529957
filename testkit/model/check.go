package model

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/invariants"
)

// checkAdvance is I05 and I16, at the instant HW moves: every registered mirror has stated at least that
// floor, in exactly this leader epoch and under this registration.
func (w *world) checkAdvance(b *broker, e highwater.HighWatermarkAdvanced) {
	if len(e.Replicas) < w.bounds.MinISR {
		w.foundIf("R5", "HW moves %d -> %d on %d in-sync replicas; min ISR is %d", e.From, e.To, len(e.Replicas), w.bounds.MinISR)
	}
	mask := uint8(0)
	for _, g := range e.Gates {
		dest := int8(0)
		if g.Cluster == keys[1].Cluster {
			dest = 1
		}
		mask |= 1 << dest
		floor := core.Unknown
		for _, s := range w.stated {
			if s.dest == dest && s.re == g.Epoch && s.epoch == e.LeaderEpoch {
				floor = s.floor
			}
		}
		switch {
		case floor == core.Unknown:
			w.foundIf("I05", "HW moves %d -> %d in epoch %d, registration %d, in which %s has stated no floor", e.From, e.To, e.LeaderEpoch, g.Epoch, g.Cluster)
		case e.To > floor:
			w.foundIf("I16", "HW moves %d -> %d in epoch %d, in which the highest floor %s has stated is %d", e.From, e.To, e.LeaderEpoch, g.Cluster, floor)
		}
	}
	stamps := append([]uint8(nil), b.stamps...)
	for at := core.Offset(len(stamps)); at < e.To; at++ {
		stamps = append(stamps, 0)
	}
	for at := e.From; at < e.To; at++ {
		stamps[at] = mask
	}
	b.stamps = stamps
}

// foundIf is for what is broken before anybody was told so: the search can be asked to go on to the ack.
func (w *world) foundIf(id, format string, args ...any) {
	if !w.bounds.AcksOnly {
		w.found(id, format, args...)
	}
}

// check is what must be true of every state.
func (w *world) check() {
	keep := func(v *invariants.Violation) {
		if v != nil && w.violation == nil {
			w.violation = v
		}
	}
	all := map[core.Offset]invariants.Digest{}
	for _, a := range w.acked {
		all[a.at] = a.digest
	}
	if w.unclean == 0 {
		keep(invariants.AckedEverywhere(all, w.src().electable()))
	}
	leader := w.src().broker(w.src().leader)
	lineage := copyOf("", leader.live).Batches
	led := leader.view.IsLeader && leader.view.Epoch == w.src().epoch
	for d := range w.n - 1 {
		gated := map[core.Offset]invariants.Digest{}
		for _, a := range w.acked {
			if a.gated&(1<<d) != 0 {
				gated[a.at] = a.digest
			}
		}
		copies := w.cl[d+1].electable()
		keep(invariants.AckedEverywhere(gated, copies))
		if w.bounds.AcksOnly || !led {
			continue
		}
		for _, s := range w.stated {
			if int(s.dest) == d && s.epoch == w.src().epoch {
				keep(invariants.FloorStable(s.floor, lineage, copies))
			}
		}
	}
	for i := range w.n {
		if i == 0 && w.unclean > 0 {
			continue // HW may go back with an unclean election, and only with it
		}
		w.checkHW(&w.cl[i], keep)
	}
}

func (w *world) checkHW(c *cluster, keep func(*invariants.Violation)) {
	for id := core.ReplicaID(1); id <= 2; id++ {
		b := c.broker(id)
		if b.view.Epoch == b.hwEpoch {
			keep(invariants.HighWatermarkKept(c.label(id), b.hwSeen, b.view.HW))
		}
		b.hwSeen, b.hwEpoch = b.view.HW, b.view.Epoch
	}
	if l := c.broker(c.leader); l.view.IsLeader && l.view.Epoch == c.epoch && !w.bounds.AcksOnly {
		keep(invariants.HighWatermarkBounded(c.label(c.leader), l.view.HW, core.Offset(len(l.live)), c.electable()))
	}
}
