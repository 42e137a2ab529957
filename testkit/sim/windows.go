package sim

import (
	"math/rand/v2"
	"slices"

	"lockstep/actors/core/controller"
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

// laggard is a follower whose actor stands still, so that its leader will propose an ISR without it.
type laggard struct {
	follower *replica
	held     int64 // how long the proposal is under way; then the leader stops
}

// lag makes a follower lag for longer than an ISR bears (F58, model Z1).
func (f *faults) lag(r *rand.Rand, s *site) {
	if chance(r, 0.5) {
		s = f.world.sites[0]
	}
	home := s.alive()
	if home == nil || !home.ready || f.running(home) < 2 {
		return
	}
	var list []*replica
	for _, b := range home.brokers {
		for _, id := range sortedPartitions(b.replicas) {
			if p, known := home.newest.Partition(id); known && b.running && b.lost == nil && p.Leader != b.id && slices.Contains(p.ISR, b.id) {
				list = append(list, b.replicas[id])
			}
		}
	}
	if len(list) == 0 {
		return
	}
	one := &laggard{follower: pick(r, list), held: logUniform(r, 20*ms, 2*sec)}
	one.follower.partition.box.stuck = f.world.now + 15*sec
	f.laggards = append(f.laggards, one)
	f.world.say("%s: %s of %s stands still", s.id, one.follower.id, one.follower.broker.name())
}

// removing holds a proposal back that takes a laggard out of the ISR, until its leader has stopped: whoever counted the
// laggard as gone has acknowledged what its successor lacks.
func (f *faults) removing(leader *replica, change controller.ChangeISR) bool {
	at := slices.IndexFunc(f.laggards, func(l *laggard) bool {
		return l.follower.id == leader.id && l.follower.broker.home == leader.broker.home && !slices.Contains(change.ISR, l.follower.broker.id)
	})
	if at < 0 || f.world.healed {
		return false
	}
	one, home := f.laggards[at], leader.broker.home
	f.laggards = slices.Delete(f.laggards, at, at+1)
	f.world.say("%s: the proposal of ISR %v of %s is under way", home.site.id, change.ISR, leader.id)
	f.world.after(one.held, func() {
		one.follower.partition.box.stuck = f.world.now // it stood still until now, as the oracle must know
		if home.dead {
			return
		}
		if leader.broker.running && leader.broker.lost == nil && f.running(home) > 1 && !f.world.healed {
			f.stopBrokerOf(stream(f.world.seed, "removal/%s/%d", leader.id, f.world.now), home, leader.broker)
		}
		f.world.after(ms, func() {
			if !home.dead {
				home.controller.tell(change)
			}
		})
	})
	return true
}
