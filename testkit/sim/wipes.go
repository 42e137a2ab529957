package sim

import (
	"math/rand/v2"
	"slices"

	"lockstep/actors/core"
)

// wipe is a power failure after which one broker finds an empty disk in the place of its own (R12, D13). It keeps the
// ledger of copies: never is the last intact one of a partition destroyed, so that whatever is lost is a fault of the
// machines and not arithmetic.
func (f *faults) wipe(r *rand.Rand, s *site) {
	w, home := f.world, s.alive()
	if home == nil || !home.ready {
		return
	}
	b := pick(r, home.brokers)
	if c := home.controller; !s.spares(b.id) || c.durable != c.issued { // partitions that nobody has heard of may be on its disk
		f.done["wipe"]--
		return
	}
	s.kill()
	w.say("%s: %s comes back with an empty disk", s.id, b.name())
	s.volumes[b.id-1].wipe()
	w.after(logUniform(r, 50*ms, 20*sec), s.boot)
}

// spares reports whether every partition of the site has another intact copy than that of one broker. The in-sync
// replicas are the intact ones: of the others nobody knows.
func (s *site) spares(broker core.ReplicaID) bool {
	for _, id := range sortedTopics(s.proc.newest.Topics) {
		for _, p := range s.proc.newest.Topics[id].Partitions {
			if slices.Contains(p.ISR, broker) && !slices.ContainsFunc(p.ISR, func(b core.ReplicaID) bool { return b != broker && !s.volumes[b-1].wiped }) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(s.volumes, func(d *disk) bool { return d.wiped })
}

// intact leaves out the brokers whose disk is another one now. The controller drops them as soon as it runs.
func (s *site) intact(isr []core.ReplicaID) []core.ReplicaID {
	if !slices.ContainsFunc(s.volumes, func(d *disk) bool { return d.wiped }) {
		return isr
	}
	return slices.DeleteFunc(slices.Clone(isr), func(b core.ReplicaID) bool { return s.volumes[b-1].wiped })
}

func (d *disk) wipe() {
	d.streams, d.wiped = map[string]*diskStream{}, true
	d.life++
}
