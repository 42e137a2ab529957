package sim

import (
	"math/rand/v2"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
)

// switchover is the planned move of some topics to a destination, with their producers. It is asked for once and may be
// refused, or come to nothing.
func (f *faults) switchover(r *rand.Rand) {
	w := f.world
	d := w.sites[1+r.IntN(len(w.sites)-1)]
	for _, topic := range w.someTopics(r) {
		w.moveTopic(d, topic, mirror.VerbSwitchover, 1)
	}
}

// failover takes topics over from a source that nobody reaches and that lives all the same. Some clients stay behind
// with it. Later it hears what has happened.
func (f *faults) failover(r *rand.Rand) {
	w := f.world
	d := w.sites[1+r.IntN(len(w.sites)-1)]
	l := w.net.link(d, w.sites[0])
	until := w.now + logUniform(r, 2*sec, 40*sec)
	if chance(r, 0.7) {
		l.hole[0] = max(l.hole[0], until)
		if chance(r, 0.7) {
			l.hole[1] = max(l.hole[1], until)
		}
		l.natsDown = max(l.natsDown, until+within(l.random, 0, 2*sec))
	}
	stay := pick(r, []float64{0, 0.5, 1})
	topics := w.someTopics(r)
	w.after(logUniform(r, 10*ms, 20*sec), func() {
		for _, topic := range topics {
			w.moveTopic(d, topic, mirror.VerbFailover, 1-stay)
		}
	})
}

// someTopics are all, or one of them.
func (w *world) someTopics(r *rand.Rand) (list []core.TopicID) {
	one := r.IntN(len(w.options.Topics))
	all := chance(r, 0.5)
	for i := range w.options.Topics {
		if all || i == one {
			list = append(list, topicID(i))
		}
	}
	return list
}

// moveTopic asks a destination to take one topic over; once it is open, a share of the source's producers follow. A
// failover is asked for until it is heard, a switchover once: whether it is refused is the mirror's to say.
func (w *world) moveTopic(d *site, topic core.TopicID, verb mirror.Verb, share float64) {
	home := d.serving()
	if d.gone || w.healed && w.sites[0].gone {
		return
	}
	if home == nil || home.mirrors[mirrorName(d)] == nil {
		w.after(sec, func() { w.moveTopic(d, topic, verb, share) })
		return
	}
	w.say("%s: the operator asks for the %s of topic %s", d.id, verb, topic)
	home.mirrors[mirrorName(d)].ask(func(ref core.RequestID) mirror.Command {
		return mirror.StopTopics{Ref: ref, Topics: []core.TopicID{topic}, Verb: verb}
	}, func(any) {})
	w.after(300*ms, func() { w.watchMove(d, topic, verb, share, 5) })
}

// watchMove waits for the end of a move. One that is not under way is looked at asked more times: the order may be late.
func (w *world) watchMove(d *site, topic core.TopicID, verb mirror.Verb, share float64, asked int) {
	home := d.serving()
	again := func() { w.after(300*ms, func() { w.watchMove(d, topic, verb, share, asked) }) }
	if d.gone {
		return
	}
	if home == nil || home.mirrors[mirrorName(d)] == nil {
		again()
		return
	}
	for _, t := range describe(home.mirrors[mirrorName(d)], home).Topics {
		switch {
		case t.Topic != topic:
			continue
		case t.Phase == mirror.Stopped:
			w.movedTopic(d, home, topic, share)
		case t.Phase == mirror.Stopping || t.Moving:
			again()
		case verb == mirror.VerbFailover:
			w.after(sec, func() { w.moveTopic(d, topic, verb, share) })
		case asked > 0:
			w.after(sec, func() { w.watchMove(d, topic, verb, share, asked-1) })
		default:
			w.say("%s: the switchover of topic %s came to nothing", d.id, topic)
		}
	}
}

func (w *world) movedTopic(d *site, home *process, topic core.TopicID, share float64) {
	w.oracle.counts.Failovers++
	w.oracle.unmirrored(d, home)
	w.say("%s is open for writers of topic %s", d.id, topic)
	for _, p := range w.load.producers {
		if p.id.Topic == topic && p.site == w.sites[0] && chance(p.random, share) {
			p.redirect(d)
		}
	}
}
