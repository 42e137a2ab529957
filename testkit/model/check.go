package model

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/invariants"
	"lockstep/actors/core/partition"
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
	for d, re := range w.carried {
		if re != 0 && re == w.gates[d] && mask&(1<<d) == 0 && e.LeaderEpoch == w.src().epoch {
			w.foundIf("I35", "HW moves %d -> %d in epoch %d without %s, whose registration %d the election carried", e.From, e.To, e.LeaderEpoch, keys[d].Cluster, re)
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
	if len(w.acked) > 0 && w.honest() {
		keep(invariants.AckedEverywhere(w.acks(0xff), w.src().electable()))
	}
	leader := w.src().broker(w.src().leader)
	led := leader.view.IsLeader && leader.view.Epoch == w.src().epoch
	var lineage []invariants.Digest
	if led && !w.bounds.AcksOnly {
		lineage = copyOf("", leader.live).Batches
	}
	for d := range w.n - 1 {
		copies := w.cl[d+1].electable()
		if len(w.acked) > 0 {
			keep(invariants.AckedEverywhere(w.acks(1<<d), copies))
		}
		if w.bounds.AcksOnly || !led {
			continue
		}
		for _, s := range w.stated {
			if int(s.dest) == d && s.epoch == w.src().epoch {
				keep(invariants.FloorStable(s.floor, lineage, copies))
			}
		}
	}
	if w.bounds.AcksOnly {
		return
	}
	for i := range w.n {
		if i > 0 || w.honest() {
			w.checkBounded(&w.cl[i], keep)
		}
	}
	if w.honest() {
		w.checkShown()
	}
}

// honest reports whether the source has kept what it committed: no election was unclean, no disk lied.
func (w *world) honest() bool { return w.unclean == 0 && w.losses == 0 }

// checkShown is I21: whatever broker shows a record below its HW, in either cluster, shows the same one.
func (w *world) checkShown() {
	type shown struct {
		digest invariants.Digest
		by     string
	}
	var first []shown
	for i := range w.n {
		for id := core.ReplicaID(1); id <= 2; id++ {
			r := w.cl[i].broker(id)
			for at := range int(min(r.view.HW, core.Offset(len(r.live)))) {
				one := shown{digest(r.live[at]), w.cl[i].label(id)}
				if at == len(first) {
					first = append(first, one)
				} else if first[at].digest != one.digest {
					w.found("I21", "%s and %s show different records at offset %d", first[at].by, one.by, at)
				}
			}
		}
	}
}

// acks is what was acknowledged under a stamp that names a destination of mask, or all of it.
func (w *world) acks(mask uint8) map[core.Offset]invariants.Digest {
	all := map[core.Offset]invariants.Digest{}
	for _, a := range w.acked {
		if mask == 0xff || a.gated&mask != 0 {
			all[a.at] = a.digest
		}
	}
	return all
}

// checkKept is I14: within a leader epoch no reader sees HW go back, but with an unclean election.
func (w *world) checkKept(i int, id core.ReplicaID, was, is partition.View) {
	if was.Epoch != is.Epoch || (i == 0 && !w.honest()) || w.violation != nil {
		return
	}
	w.violation = invariants.HighWatermarkKept(w.cl[i].label(id), was.HW, is.HW)
}

func (w *world) checkBounded(c *cluster, keep func(*invariants.Violation)) {
	if l := c.broker(c.leader); l.view.IsLeader && l.view.Epoch == c.epoch {
		keep(invariants.HighWatermarkBounded(c.label(c.leader), l.view.HW, core.Offset(len(l.live)), c.electable()))
	}
}

func (w *world) broken() *invariants.Violation { return w.violation }

func (w *world) promised() bool { return len(w.acked) > 0 }
