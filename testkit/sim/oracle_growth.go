package sim

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

// grew notes who gated a topic when a partition was added to it, and at whom partitions exist.
func (o *oracle) grew(p *process, before *image.Image, topic image.Topic) {
	_, existed := before.Topic(topic.ID)
	for _, id := range partitionsOf(topic) {
		t := o.truth(id)
		t.made |= siteBit(p.site.index)
		if _, known := before.Partition(id); existed && !known && p.site.index == 0 {
			t.born = p.newest.Sync[topic.ID].Gates
			o.counts.Grown++
		}
	}
}

// writesTooEarly is C11 (F36): an added partition takes no write while a mirror that gated the topic then, and does
// still, has no such partition: SYNC would not be true of it.
func (o *oracle) writesTooEarly(t *truth, p *process, base core.Offset) {
	if p.site.index != 0 {
		return
	}
	for _, then := range t.born {
		for _, now := range p.newest.Sync[t.id.Topic].Gates {
			d := o.world.siteNamed(then.Key.Cluster)
			if now.Key == then.Key && now.Epoch == then.Epoch && d != nil && t.made&siteBit(d.index) == 0 {
				o.world.found("I35", "%s acks offset %d of %s, which was added while %s gated the topic and does not exist there", p.site.id, base, t.id, d.id)
			}
		}
	}
}

func (o *oracle) deleted(s *site, topic image.Topic) {
	for _, id := range partitionsOf(topic) {
		o.truth(id).gone |= siteBit(s.index)
	}
}
