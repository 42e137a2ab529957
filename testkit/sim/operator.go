package sim

import (
	"math/rand/v2"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

func mirrorName(d *site) core.MirrorName { return core.MirrorName("from-dc1-to-" + string(d.id)) }

// setUp is what operators do before anything goes wrong: topics, their users, mirrors. Each step is repeated
// until it is answered, as a person would.
func (w *world) setUp() {
	for i, t := range w.options.Topics {
		w.createTopic(i, topicID(i), t)
	}
	r := stream(w.seed, "operator")
	for _, d := range w.sites[1:] {
		at := within(r, 0, 10*sec)
		w.after(at, func() { w.createMirror(d) })
	}
	w.after(sec, w.watchClaims)
}

func (w *world) watchClaims() {
	w.oracle.claims()
	w.after(pick(w.sched, []int64{100 * ms, 500 * ms, sec}), w.watchClaims)
}

func (w *world) createTopic(i int, id core.TopicID, t TopicOptions) {
	s := w.sites[0]
	home := s.serving()
	again := func() { w.after(300*ms, func() { w.createTopic(i, id, t) }) }
	if home == nil {
		again()
		return
	}
	if _, made := home.newest.Topic(id); made {
		w.useTopic(s, id)
		return
	}
	home.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.CreateTopic{Ref: ref, Fresh: id, Name: string(rune('a' + i)), Partitions: t.Partitions, Replication: t.Replication,
			Config: map[string]string{"min.insync.replicas": string(rune('0' + t.MinISR))}}
	}, func(any) {})
	again()
}

func (w *world) useTopic(s *site, id core.TopicID) {
	t, _ := s.proc.newest.Topic(id)
	for _, p := range partitionsOf(*t) {
		w.usePartition(s, p)
	}
}

func (w *world) createMirror(d *site) {
	home := d.serving()
	again := func() { w.after(500*ms, func() { w.createMirror(d) }) }
	if home == nil {
		again()
		return
	}
	name := mirrorName(d)
	if home.mirrors[name] == nil {
		machine := mirror.Machine()
		create := mirror.CreateMirror{Mirror: name, SourceCluster: w.sites[0].id, Config: map[string]string{
			"bootstrap.servers": "dc1:9092", "lockstep.claim.lease.ms": itoa(w.options.Lease / ms)}}
		if len(machine.Decide(machine.Init(string(name)), home.clock(), create).Events) > 0 {
			home.spawnMirror(name)
			home.mirrors[name].tell(create)
		}
	}
	w.startTopics(d)
}

// startTopics begins to mirror what exists at the source, once each, SYNC at once or after a while.
func (w *world) startTopics(d *site) {
	left := false
	r := stream(w.seed, "operator/%s", d.id)
	for i := range w.options.Topics {
		sync, delay := chance(r, 0.7), within(r, 0, 10*sec)
		if !w.startTopic(d, topicID(i), sync) {
			left = true
		} else if !sync {
			w.after(delay, func() { w.wantSync(d, topicID(i)) })
		}
	}
	if left {
		w.after(700*ms, func() { w.startTopics(d) })
	}
}

// startTopic reports whether the topic is in the mirror.
func (w *world) startTopic(d *site, id core.TopicID, sync bool) bool {
	home, source := d.serving(), w.sites[0].serving()
	name := mirrorName(d)
	if d.gone || w.sites[0].gone {
		return true
	}
	if home == nil || source == nil || home.mirrors[name] == nil {
		return false
	}
	for _, t := range describe(home.mirrors[name], home).Topics {
		if t.Topic == id {
			w.consumeMirror(d, id)
			return true
		}
	}
	t, known := source.newest.Topic(id)
	if !known || w.net.link(d, w.sites[0]).blind() || w.net.link(d, w.sites[0]).cutUntil > w.now {
		return false
	}
	want := mirror.TypeAsync
	if sync {
		want = mirror.TypeSync
	}
	cmd := mirror.StartTopics{Topics: []mirror.StartTopic{{Type: want, Source: mirror.SourceTopic{ID: t.ID, Name: t.Name, Partitions: int32(len(t.Partitions))}}}}
	home.mirrors[name].ask(func(ref core.RequestID) mirror.Command { cmd.Ref = ref; return home.withLocal(cmd) }, func(any) {})
	return false
}

func (w *world) consumeMirror(d *site, topic core.TopicID) {
	t, known := d.proc.newest.Topic(topic)
	if !known {
		w.after(sec, func() {
			if d.alive() != nil {
				w.consumeMirror(d, topic)
			} else {
				w.after(5*sec, func() { w.consumeMirror(d, topic) })
			}
		})
		return
	}
	for _, p := range partitionsOf(*t) {
		w.load.addConsumer(d, p)
	}
}

func (w *world) wantSync(d *site, topic core.TopicID) {
	home := d.serving()
	if d.gone {
		return
	}
	if home == nil || home.mirrors[mirrorName(d)] == nil {
		w.after(sec, func() { w.wantSync(d, topic) })
		return
	}
	home.mirrors[mirrorName(d)].ask(func(ref core.RequestID) mirror.Command {
		return mirror.AlterType{Ref: ref, Topics: []core.TopicID{topic}, Type: mirror.TypeSync}
	}, func(any) {})
}

// recoverOrphans does what the text of an ORPHANED topic asks for: a source broker that stood behind when a topic was made says
// that there is none, and the copy is kept as it is until an operator sees that the source has the topic.
func (w *world) recoverOrphans(d *site) {
	if d.gone || w.sites[0].gone {
		return
	}
	w.after(5*sec, func() { w.recoverOrphans(d) })
	home, source := d.serving(), w.sites[0].serving()
	if home == nil || source == nil || home.mirrors[mirrorName(d)] == nil {
		return
	}
	m := home.mirrors[mirrorName(d)]
	for _, t := range describe(m, home).Topics {
		if _, there := source.newest.Topic(t.Topic); !there || t.Phase != mirror.Orphaned {
			continue
		}
		w.say("%s: the operator recovers topic %s", d.id, t.Topic)
		cmd := mirror.RecoverTopics{Topics: []core.TopicID{t.Topic}}
		m.ask(func(ref core.RequestID) mirror.Command { cmd.Ref = ref; return home.withLocal(cmd) }, func(any) {})
	}
}

// disaster loses the source for good at one instant and opens one destination, perhaps all.
func (f *faults) disaster(r *rand.Rand) {
	w := f.world
	w.sites[0].lose()
	first := w.sites[1+r.IntN(len(w.sites)-1)]
	verb := pick(r, []mirror.Verb{mirror.VerbStop, mirror.VerbFailover})
	w.after(logUniform(r, 100*ms, 30*sec), func() { w.open(first, true, verb) })
}

// stopAlive opens a destination whose source lives: from then on there are two histories.
func (f *faults) stopAlive(r *rand.Rand) {
	w := f.world
	d := w.sites[1+r.IntN(len(w.sites)-1)]
	verb := pick(r, []mirror.Verb{mirror.VerbStop, mirror.VerbStop, mirror.VerbFailover, mirror.VerbSwitchover})
	w.open(d, !w.sites[0].gone && chance(r, 0.3), verb)
}

// open ends the mirroring of every topic, repeated until all are STOPPED; then producers come.
func (w *world) open(d *site, redirect bool, verb mirror.Verb) {
	if d.gone {
		return
	}
	again := func() { w.after(sec, func() { w.open(d, redirect, verb) }) }
	home := d.serving()
	if home == nil || home.mirrors[mirrorName(d)] == nil {
		again()
		return
	}
	m := home.mirrors[mirrorName(d)]
	var list []core.TopicID
	opened := 0
	topics := describe(m, home).Topics
	for _, t := range topics {
		if t.Phase == mirror.Stopped {
			opened++
		} else if t.Phase != mirror.Stopping {
			list = append(list, t.Topic)
		}
	}
	if opened == len(topics) {
		w.opened(d, home, redirect)
		return
	}
	if len(list) > 0 {
		w.say("%s: the operator asks for the %s of %d topics", d.id, verb, len(list))
		m.ask(func(ref core.RequestID) mirror.Command { return mirror.StopTopics{Ref: ref, Topics: list, Verb: verb} }, func(answer any) {
			if a, ok := answer.(mirror.TopicsAnswered); ok && a.Code != perr.None {
				w.found("I36", "%s: stop is refused: %s", d.id, a.Text)
			}
		})
	}
	again()
}

func (w *world) opened(d *site, home *process, redirect bool) {
	w.oracle.counts.Failovers++
	w.say("%s is open for writers", d.id)
	w.oracle.unmirrored(d, home)
	has := map[core.TopicID]bool{}
	for _, id := range sortedTopics(home.newest.Topics) {
		has[id] = home.newest.Mirrors[id].State == image.MirrorStopped
	}
	if redirect {
		for _, p := range w.load.producers {
			if has[p.id.Topic] && p.site == w.sites[0] {
				p.redirect(d)
			}
		}
		return
	}
	for _, id := range sortedTopics(has) {
		if t, ok := home.newest.Topic(id); ok && has[id] {
			for _, p := range partitionsOf(*t) {
				w.load.addProducer(d, p)
			}
		}
	}
}
