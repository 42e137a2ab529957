package sim

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// keyTruth is what was said and done about one topic of one destination at the source. Only what is on disk counts: what
// a crash forgot was told to nobody.
type keyTruth struct {
	newest   core.Generation    // of the commands that were answered
	released core.ReleaseNumber // of the topic
	admitted core.ReleaseNumber // newest release that a registration has answered
	heard    core.ReleaseNumber // newest that the destination has noted
}

func (o *oracle) key(site int, topic core.TopicID) *keyTruth {
	key := moveKey{site, topic}
	k := o.keys[key]
	if k == nil {
		k = &keyTruth{}
		o.keys[key] = k
	}
	return k
}

// answered notes a command whose answer left the source.
func (o *oracle) answered(d *site, topic core.TopicID, g core.Generation) {
	k := o.key(d.index, topic)
	k.newest = max(k.newest, g)
}

// releasedAt notes a release that is on the source's disk. No topics: all of the mirror, now and later.
func (o *oracle) releasedAt(d *site, n core.ReleaseNumber, topics []core.TopicID) {
	if len(topics) == 0 {
		o.wholly[d.index] = max(o.wholly[d.index], n)
	}
	for _, topic := range topics {
		k := o.key(d.index, topic)
		k.released = max(k.released, n)
	}
}

// obeys is I39: no command that is older than one that was answered has an effect at the source.
func (o *oracle) obeys(cluster core.ClusterID, topic core.TopicID, g core.Generation, what string) {
	d := o.world.siteNamed(cluster)
	if d == nil || g == 0 {
		return
	}
	if k := o.key(d.index, topic); g < k.newest {
		o.world.found("I39", "the source obeys %s %d of %s for topic %s, and has answered %d", what, g, d.id, topic, k.newest)
	}
}

// gatesAgain is I37: after a release the source gates only for a Register that echoes it, of a destination that has noted it.
func (o *oracle) gatesAgain(e registration.TopicRegistered) {
	d := o.world.siteNamed(e.Cluster)
	if d == nil {
		return
	}
	k := o.key(d.index, e.Topic)
	n := max(k.released, o.wholly[d.index])
	if n > k.admitted && (e.Content.Echo < n || k.heard < n) {
		o.world.found("I37", "the source gates topic %s on %s again after release %d: the Register echoes %d, and the destination has noted %d", e.Topic, d.id, n, e.Content.Echo, k.heard)
	}
	k.admitted = max(k.admitted, e.Content.Echo)
}

func (o *oracle) ledgerEvent(ev registration.Event) {
	switch e := ev.(type) {
	case registration.TopicRegistered:
		o.obeys(e.Cluster, e.Topic, e.Generation, "Register")
		o.gatesAgain(e)
	case registration.TopicUnregistered:
		o.obeys(e.Cluster, e.Topic, e.Generation, "Unregister")
	case registration.TopicFenced:
		o.obeys(e.Cluster, e.Topic, e.Generation, "switchover")
	default: // commands nobody's gate
	}
}

// noted follows which releases a destination knows of.
func (o *oracle) noted(s *site, ev mirror.Event) {
	n, topic := core.ReleaseNumber(0), core.TopicID{}
	switch e := ev.(type) {
	case mirror.ReleaseNoted:
		n, topic = e.Release, e.Topic
	case mirror.TopicUnclaimed:
		n, topic = e.Release, e.Topic
	case mirror.RegisterRefused:
		n, topic = e.Release, e.Topic
	default:
		return
	}
	k := o.key(s.index, topic)
	k.heard = max(k.heard, n)
}

// wants is I36: what is claimed is what the operator wants.
func (o *oracle) wants(s *site, t mirror.TopicDescription) {
	if t.Effective == mirror.TypeSync && t.Desired != mirror.TypeSync {
		o.world.found("I36", "%s: topic %s is effectively SYNC and desired %s", s.id, t.Topic, t.Desired)
	}
}

// orphans is I40, once everything has come to rest: the source gates on nobody who does not report to it. A copy that
// was stopped, or has taken over, withdraws nothing: that is for an operator (C8).
func (o *oracle) orphans() {
	source := o.world.sites[0].serving()
	if source == nil {
		return
	}
	for _, d := range o.world.sites[1:] {
		p := d.serving()
		if p == nil || p.mirrors[mirrorName(d)] == nil {
			continue
		}
		for _, t := range describe(p.mirrors[mirrorName(d)], p).Topics {
			o.orphan(d, t, source.newest.Sync[t.Topic].Gates)
		}
	}
}

func (o *oracle) orphan(d *site, t mirror.TopicDescription, gates []image.Gate) {
	if t.Reporting || t.Phase == mirror.Stopping || t.Phase == mirror.Stopped {
		return
	}
	for _, g := range gates {
		if g.Key.Cluster == d.id {
			o.world.found("I40", "the source gates topic %s on %s (registration %d), which is %s and reports nothing", t.Topic, d.id, g.Epoch, t.Phase)
		}
	}
}

// letsGo is I48: what the source's ledger lets go of stops gating at every leader within 100 ms, unless the machine stands
// still. A leader whose volume failed applies nothing and answers nobody any more; the election of another may wait for the
// control quorum longer than that. facts are about to be told.
func (o *oracle) letsGo(p *process, facts []image.Fact) {
	if p.site.index != 0 || !p.attached {
		return
	}
	for _, fact := range facts {
		changed, ok := fact.(image.RegistrationsChanged)
		if !ok {
			continue
		}
		for _, old := range p.newest.Sync[changed.ID].Gates {
			if !slices.ContainsFunc(changed.Registrations.Gates, func(g image.Gate) bool { return g.Key == old.Key && g.Epoch == old.Epoch }) {
				at := o.world.now
				o.world.after(100*ms, func() { o.letGo(p, changed.ID, old, at) })
			}
		}
	}
}

func (o *oracle) letGo(p *process, topic core.TopicID, old image.Gate, at int64) {
	t, known := p.newest.Topic(topic)
	if p.dead || !known || o.world.options.Scheduler == schedulerSlow || p.pausedUntil > at || o.world.healed && at < o.world.healedAt+15*sec {
		return
	}
	for _, id := range partitionsOf(*t) {
		r := p.leader(id)
		if r == nil || r.highwater.state == nil || r.highwater.err != nil || r.broker.feed.held || r.broker.feed.freed > at ||
			max(r.broker.feed.box.slow, r.highwater.box.slow, r.partition.box.slow) > at {
			continue
		}
		o.stillGates(r.id, old, highwater.Describe(r.highwater.state), at)
	}
}

func (o *oracle) stillGates(id core.PartitionID, old image.Gate, now highwater.Description, at int64) {
	for _, g := range now.Gates.Gates {
		if now.Leading && g.Key == old.Key && g.Epoch == old.Epoch {
			o.world.found("I48", "%s gates on %s, %d ms after its registration %d has ended", id, g.Key.Cluster, (o.world.now-at)/ms, g.Epoch)
		}
	}
}
