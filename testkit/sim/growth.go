package sim

import (
	"math/rand/v2"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

const mostPartitions = 6

// grow adds partitions to a topic of the source. Clients come as soon as metadata shows them, whatever the mirrors have.
func (f *faults) grow(r *rand.Rand) {
	w := f.world
	id := topicID(r.IntN(len(w.options.Topics)))
	more := 1 + r.IntN(2)
	home := w.sites[0].serving()
	if home == nil {
		return
	}
	t, known := home.newest.Topic(id)
	if !known || len(t.Partitions)+more > mostPartitions {
		return
	}
	from, count := int32(len(t.Partitions)), int32(len(t.Partitions)+more)
	w.say("%s: topic %s is to have %d partitions", w.sites[0].id, id, count)
	home.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.CreatePartitions{Ref: ref, ID: id, Count: count}
	}, func(answer any) {
		if done, ok := answer.(controller.Done); !ok || done.Code != perr.None {
			return
		}
		for i := from; i < count; i++ {
			p := core.PartitionID{Topic: id, Index: i}
			w.usePartition(w.sites[0], p)
			for _, d := range w.sites[1:] {
				w.consumePartition(d, p)
			}
		}
	})
}

func (w *world) usePartition(s *site, id core.PartitionID) {
	for range w.options.Topics[id.Topic[1]-1].Producers {
		w.load.addProducer(s, id)
	}
	w.load.addConsumer(s, id)
}

// consumePartition begins to read a partition of a mirror once it is there.
func (w *world) consumePartition(d *site, id core.PartitionID) {
	if d.gone || w.load.stopped {
		return
	}
	if home := d.serving(); home != nil {
		if _, made := home.newest.Partition(id); made {
			w.load.addConsumer(d, id)
			return
		}
	}
	w.after(2*sec, func() { w.consumePartition(d, id) })
}

// again is the id of a topic that was created under the name of a deleted one.
func again(id core.TopicID) core.TopicID { return core.TopicID{id[0] + 1, id[1], id[2]} }

// replace deletes a topic at the source and creates another of its name. Every destination's operator stops and deletes
// the copy of the old one, some time later, and mirrors the new one. Nothing that was ever said of the old id may touch
// the new one (F34, I41).
func (f *faults) replace(r *rand.Rand) {
	w := f.world
	i := r.IntN(len(w.options.Topics))
	old := topicID(i)
	home := w.sites[0].serving()
	if home == nil {
		return
	}
	if _, known := home.newest.Topic(old); !known || home.newest.Sync[old].Fence.Moved {
		return
	}
	w.say("%s: topic %s is deleted", w.sites[0].id, old)
	for _, p := range w.load.producers {
		if p.id.Topic == old && p.site == w.sites[0] {
			p.leaves = true
		}
	}
	home.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.DeleteTopic{Ref: ref, ID: old}
	}, func(any) {})
	w.after(logUniform(r, 20*ms, 5*sec), func() { w.createTopic(i, again(old), w.options.Topics[i]) })
	for _, d := range w.sites[1:] {
		w.after(logUniform(r, 100*ms, 20*sec), func() { w.replaceCopy(d, old) })
	}
}

func (w *world) replaceCopy(d *site, old core.TopicID) {
	home := d.serving()
	if d.gone || w.sites[0].gone || w.load.stopped {
		return
	}
	w.after(700*ms, func() { w.replaceCopy(d, old) })
	if home == nil || home.mirrors[mirrorName(d)] == nil {
		return
	}
	m := home.mirrors[mirrorName(d)]
	for _, t := range describe(m, home).Topics {
		switch {
		case t.Topic == again(old):
			return
		case t.Topic != old:
		case t.Phase == mirror.Stopped:
			home.controller.ask(func(ref core.RequestID) controller.Command {
				return controller.DeleteTopic{Ref: ref, ID: old}
			}, func(any) {})
			return
		case t.Phase != mirror.Stopping:
			m.ask(func(ref core.RequestID) mirror.Command {
				return mirror.StopTopics{Ref: ref, Topics: []core.TopicID{old}, Verb: mirror.VerbStop}
			}, func(any) {})
			return
		default:
			return
		}
	}
	w.startTopic(d, again(old), true)
}
