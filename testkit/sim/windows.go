package sim

import (
	"slices"

	"lockstep/actors/core/image"
)

// window is told of facts before any broker hears of them. An armed fault waits for the step between the commit
// of an addition to an ISR and its leader's hearing of it: the leader hears late, the new member's disk is slow,
// and then the leader stops, so that the new member may lead (F58, model Z2).
func (f *faults) window(p *process, before *image.Image, facts []image.Fact) {
	if f == nil || len(f.armed) == 0 || f.world.healed || !p.ready || f.running(p) < 2 {
		return
	}
	w := f.world
	for _, fact := range facts {
		changed, ok := fact.(image.PartitionChanged)
		if !ok {
			continue
		}
		was, known := before.Partition(changed.ID)
		leader := p.broker(changed.Partition.Leader)
		if !known || leader == nil || leader.lost != nil || was.LeaderEpoch != changed.Partition.LeaderEpoch || len(changed.Partition.ISR) <= len(was.ISR) {
			continue
		}
		one := f.armed[0]
		f.armed = f.armed[1:]
		r := stream(w.seed, "window/%s", one.Name)
		w.mix(hashName(one.Name))
		w.say("%s: %s does not hear that brokers %v are in the ISR of %s", p.site.id, leader.name(), changed.Partition.ISR, changed.ID)
		leader.feed.hold(true)
		held := logUniform(r, 5*ms, 2*sec)
		for _, b := range changed.Partition.ISR {
			if !slices.Contains(was.ISR, b) {
				p.broker(b).disk.slow = w.now + held
			}
		}
		w.after(held, func() {
			if !p.dead && leader.running && leader.lost == nil {
				f.poisonBroker(r, p.site, leader)
			}
			leader.feed.hold(false)
		})
		return
	}
}
