package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// faults is the plan of a run: every fault has a name of its own, so that a failing run can be tried again
// without it.
type faults struct {
	world    *world
	plan     []planned
	done     map[string]int // injected, by kind
	armed    []planned      // faults that wait for their window
	laggards []*laggard
}

// planned is one fault. What it hits is drawn from a stream of its name when it happens.
type planned struct {
	Name string
	Kind string
	At   int64
}

// newFaults draws the plan over the safety phase of a run, without what was dropped.
func newFaults(w *world, until int64, dropped []string) *faults {
	f := &faults{world: w, done: map[string]int{}}
	for _, kind := range Kinds {
		rate, on := w.options.Rates[kind]
		if !on || slices.Contains(dropped, kind) {
			continue
		}
		r := stream(w.seed, "faults/%s", kind)
		at := 2 * sec
		for i := 0; ; i++ {
			at += int64(r.ExpFloat64() * 60 / rate * float64(sec))
			if at >= until {
				break
			}
			if p := (planned{fmt.Sprintf("%s#%d", kind, i), kind, at}); !slices.Contains(dropped, p.Name) {
				f.plan = append(f.plan, p)
			}
		}
	}
	r := stream(w.seed, "faults/disaster")
	at := within(r, until/4, until)
	if w.options.Disaster && !slices.Contains(dropped, "disaster") {
		f.plan = append(f.plan, planned{"disaster", "disaster", at})
	}
	at = within(r, until/4, until)
	if w.options.StopAlive && !slices.Contains(dropped, "stop-alive") {
		f.plan = append(f.plan, planned{"stop-alive", "stop-alive", at})
	}
	for _, kind := range moveKinds {
		r := stream(w.seed, "faults/%s", kind)
		on, at := chance(r, 0.2), within(r, until/4, until)
		if on && !slices.Contains(dropped, kind) {
			f.plan = append(f.plan, planned{kind, kind, at})
		}
	}
	f.planPreferred(until, dropped)
	for _, p := range f.plan {
		w.after(p.At, func() {
			if !w.healed {
				f.inject(p)
			}
		})
	}
	return f
}

func (f *faults) inject(p planned) {
	w := f.world
	r := stream(w.seed, "fault/%s", p.Name)
	s := pick(r, w.sites)
	if s.gone {
		return
	}
	f.done[p.Kind]++
	w.mix(hashName(p.Name))
	w.say("FAULT %s at %s", p.Name, s.id)
	switch p.Kind {
	case "kill":
		if chance(r, 0.5) {
			s = w.sites[0]
		}
		f.kill(r, s)
	case "stop-broker":
		f.stopBroker(r, s)
	case "poison":
		f.poison(r, s)
	case "slow-disk":
		pick(r, append(slices.Clone(s.volumes), s.control)).slow = w.now + within(r, 100*ms, 10*sec)
	case "cut":
		f.link(r).cut(w.now + within(r, 0, 20*sec))
	case "hole-to", "hole-from":
		f.hole(r, p.Kind)
	case "pause":
		if home := s.alive(); home != nil {
			home.pausedUntil = max(home.pausedUntil, w.now+logUniform(r, 50*ms, 15*sec))
		}
	case "hold-image":
		f.holdImage(r, s)
	case "starve":
		if home := s.alive(); home != nil && len(home.boxes) > 0 {
			pick(r, home.boxes).slow = w.now + within(r, 100*ms, 5*sec)
		}
	case "panic":
		f.panics(r, s)
	case "usurp":
		f.usurp(r, s)
	case "isr-window":
		f.armed = append(f.armed, p)
	case "isr-removal":
		f.lag(r, s)
	case "clock-step":
		s.offset += within(r, 1, 30_000)
	case "release":
		f.release(r)
	case "alter":
		f.alter(r)
	case "disaster":
		f.disaster(r)
	case "stop-alive":
		f.stopAlive(r)
	case "switchover":
		f.switchover(r)
	case "failover":
		f.failover(r)
	case "grow":
		f.grow(r)
	case "hold":
		f.hold(r)
	case "forget":
		f.forget(r)
	case "wipe":
		f.wipe(r, s)
	case reassignKind:
		f.reassign(r, s)
	case "replace":
		f.replace(r)
	case "prefer":
		f.prefer(s)
	case "delete-records":
		f.deleteRecords(r, s)
	default:
		panic("sim: unknown fault " + p.Kind)
	}
}

// link picks the way of one destination.
func (f *faults) link(r *rand.Rand) *link {
	w := f.world
	return w.net.link(pick(r, w.sites[1:]), w.sites[0])
}

func (f *faults) kill(r *rand.Rand, s *site) {
	if s.alive() == nil {
		return
	}
	s.kill()
	f.world.after(logUniform(r, 50*ms, 20*sec), s.boot)
}

// hole swallows one direction of a link, or both.
func (f *faults) hole(r *rand.Rand, kind string) {
	w, l := f.world, f.link(r)
	until := w.now + logUniform(r, 100*ms, 20*sec)
	l.hole[0] = max(l.hole[0], until)
	if kind == "hole-from" {
		l.hole[0], l.hole[1] = 0, max(l.hole[1], until)
	} else if chance(r, 0.3) {
		l.hole[1] = until
	}
	if until-w.now > 2*sec {
		w.after(2*sec, func() { l.natsDown = max(l.natsDown, until+within(l.random, 0, 2*sec)) })
	}
}

// stopBroker is an operator's stop, and the start some time later. The last broker is left alone.
func (f *faults) stopBroker(r *rand.Rand, s *site) {
	home := s.alive()
	if home == nil || !home.ready || f.running(home) < 2 {
		return
	}
	if b := pick(r, home.brokers); b.running && b.lost == nil {
		f.stopBrokerOf(r, home, b)
	}
}

func (f *faults) stopBrokerOf(r *rand.Rand, home *process, b *broker) {
	w, s := f.world, home.site
	w.say("%s: %s is stopped", s.id, b.name())
	back := logUniform(r, 200*ms, 30*sec)
	b.stop(func() {
		w.after(back, func() {
			if !home.dead && !b.running {
				w.say("%s: %s is started", s.id, b.name())
				b.restart()
			}
		})
	})
}

func (f *faults) running(home *process) (n int) {
	for _, b := range home.brokers {
		if b.running && b.lost == nil {
			n++
		}
	}
	return n
}

// poison fails a write of one volume. With its majority the control quorum is lost too, and the process ends.
func (f *faults) poison(r *rand.Rand, s *site) {
	home := s.alive()
	if home == nil || !home.ready {
		return
	}
	if b := pick(r, home.brokers); b.lost == nil {
		f.poisonBroker(r, s, b)
	}
}

func (f *faults) poisonBroker(r *rand.Rand, s *site, b *broker) {
	w, home := f.world, b.home
	w.say("%s: the volume of %s fails", s.id, b.name())
	b.disk.fail()
	b.volumeLost(errDisk)
	lost := 0
	for _, b := range home.brokers {
		if b.lost != nil {
			lost++
		}
	}
	if n := len(home.brokers); n-lost <= n/2 {
		home.exit("control quorum lost")
		return
	}
	w.after(logUniform(r, 200*ms, 30*sec), func() {
		if !home.dead && b.lost != nil {
			w.say("%s: %s is started with its volume", s.id, b.name())
			b.restart()
		}
	})
}

// holdImage keeps new facts from one broker for a while (D9: the lag is part of the specification).
func (f *faults) holdImage(r *rand.Rand, s *site) {
	w, home := f.world, s.alive()
	if home == nil {
		return
	}
	b := pick(r, home.brokers)
	b.feed.hold(true)
	w.after(logUniform(r, 10*ms, 10*sec), func() { b.feed.hold(false) })
}

// panics restarts the pair of one replica in place (R12).
func (f *faults) panics(r *rand.Rand, s *site) {
	home := s.alive()
	if home == nil || !home.ready {
		return
	}
	b := pick(r, home.brokers)
	if b.lost != nil || len(b.replicas) == 0 {
		return
	}
	id := pick(r, sortedPartitions(b.replicas))
	f.world.say("%s: %s of %s panics", s.id, id, b.name())
	b.replicas[id].panic()
}

// usurp makes logs part: a follower does not hear of its leader's new epoch, so what is appended in it stays with
// the leader alone and with mirrors that read past HW. Then that leader stops, and the follower leads.
func (f *faults) usurp(r *rand.Rand, s *site) {
	if chance(r, 0.5) {
		s = f.world.sites[0]
	}
	w, home := f.world, s.alive()
	if home == nil || !home.ready {
		return
	}
	id := core.PartitionID{Topic: topicID(r.IntN(len(w.options.Topics)))}
	t, known := home.newest.Topic(id.Topic)
	if !known {
		return
	}
	id.Index = int32(r.IntN(len(t.Partitions)))
	p, _ := home.newest.Partition(id)
	leader := home.broker(p.Leader)
	followers := slices.DeleteFunc(slices.Clone(p.ISR), func(b core.ReplicaID) bool { return b == p.Leader })
	if leader == nil || leader.replicas[id] == nil || leader.lost != nil || len(followers) == 0 {
		return
	}
	w.say("%s: %s is led on by %s while brokers %v do not hear of it", s.id, id, leader.name(), followers)
	for _, b := range followers {
		home.broker(b).feed.hold(true)
	}
	leader.replicas[id].panic()
	held := logUniform(r, 50*ms, 5*sec)
	w.after(held, func() {
		if home.dead || !leader.running || leader.lost != nil {
			return
		}
		if s.index == 0 && chance(r, 0.5) { // what mirrors say of the old epoch is all that is heard for a while
			for _, d := range w.sites[1:] {
				w.net.link(d, s).hole[1] = w.now + logUniform(r, 100*ms, 5*sec)
			}
		}
		if chance(r, 0.3) {
			f.poisonBroker(r, s, leader)
		} else {
			f.stopBrokerOf(r, home, leader)
		}
	})
	w.after(held+logUniform(r, ms, 500*ms), func() {
		for _, b := range followers {
			home.broker(b).feed.hold(false)
		}
	})
}

// release is --release-sync at the source.
func (f *faults) release(r *rand.Rand) {
	w := f.world
	home, d := w.sites[0].serving(), pick(r, w.sites[1:])
	if home == nil {
		return
	}
	cmd := registration.ReleaseMirror{Mirror: mirrorName(d)}
	if chance(r, 0.5) {
		cmd.Topics = []core.TopicID{topicID(r.IntN(len(w.options.Topics)))}
	}
	w.oracle.counts.Releases++
	home.registration.ask(func(ref core.RequestID) registration.Command { cmd.Ref = ref; return cmd }, func(any) {})
}

// alter changes what a destination wants of a topic, and back.
func (f *faults) alter(r *rand.Rand) {
	w := f.world
	d := pick(r, w.sites[1:])
	topic := topicID(r.IntN(len(w.options.Topics)))
	order := func(want mirror.Type) {
		if home := d.serving(); home != nil && home.mirrors[mirrorName(d)] != nil {
			home.mirrors[mirrorName(d)].ask(func(ref core.RequestID) mirror.Command {
				return mirror.AlterType{Ref: ref, Topics: []core.TopicID{topic}, Type: want}
			}, func(any) {})
		}
	}
	w.say("%s: topic %s is to be ASYNC", d.id, topic)
	order(mirror.TypeAsync)
	w.after(logUniform(r, 50*ms, 20*sec), func() {
		w.say("%s: topic %s is to be SYNC", d.id, topic)
		order(mirror.TypeSync)
	})
}
