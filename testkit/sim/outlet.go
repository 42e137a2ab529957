package sim

import (
	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

const repeatWaiting = 100 * ms

// outlet is a mirror's way to its source over NATS: floors out, evidence and notices in (actors/bus).
type outlet struct {
	home   *process
	name   core.MirrorName
	link   *link
	floors map[core.PartitionID]*sentFloor
	order  []core.PartitionID // of floors
	dirty  map[core.PartitionID]bool
	up     bool
	kicked bool
	ticks  bool
}

type sentFloor struct {
	known   bool
	floor   highwater.PublishFloor
	broker  core.ReplicaID
	waiters bool
	sent    int64
}

func (p *process) outlet(name core.MirrorName) *outlet {
	o := p.outlets[name]
	if o == nil {
		o = &outlet{home: p, name: name, link: p.site.world.net.link(p.site, p.site.world.sites[0]),
			floors: map[core.PartitionID]*sentFloor{}, dirty: map[core.PartitionID]bool{}}
		p.outlets[name] = o
	}
	return o
}

func (p *process) publishFloor(id core.PartitionID, f highwater.PublishFloor) {
	if !p.attached {
		return
	}
	o := p.outlet(f.Mirror)
	e := o.entry(id)
	if e.known && (f.DestEpoch < e.floor.DestEpoch || f.DestEpoch == e.floor.DestEpoch && f.Seq < e.floor.Seq) {
		return
	}
	e.floor, e.known = f, true
	o.dirty[id] = true
	o.nudge()
}

func (o *outlet) entry(id core.PartitionID) *sentFloor {
	e := o.floors[id]
	if e == nil {
		e = &sentFloor{}
		o.floors[id] = e
		o.order = sortedPartitions(o.floors)
	}
	return e
}

func (o *outlet) placed(id core.PartitionID, broker core.ReplicaID, waiters bool) {
	e := o.entry(id)
	e.broker, e.waiters = broker, waiters
	o.tick()
}

func (o *outlet) forget(topic core.TopicID) {
	for _, id := range o.order {
		if id.Topic == topic {
			delete(o.floors, id)
			delete(o.dirty, id)
		}
	}
	o.order = sortedPartitions(o.floors)
}

func (o *outlet) nudge() {
	o.tick()
	if o.kicked {
		return
	}
	o.kicked = true
	o.home.site.world.after(30*us, func() {
		o.kicked = false
		if !o.home.dead {
			o.flush()
		}
	})
}

// tick repeats what may have been lost. It rests while there is nothing to repeat.
func (o *outlet) tick() {
	if o.ticks || len(o.floors) == 0 {
		return
	}
	o.ticks = true
	o.home.wake(o.home.mono()+repeatWaiting, func() {
		o.ticks = false
		o.flush()
		o.tick()
	})
}

func (o *outlet) flush() {
	if o.home.pausedUntil > o.home.site.world.now {
		return
	}
	now, again := o.home.mono(), false
	if up := o.link.nats(); up != o.up {
		o.up, again = up, up
	}
	if !o.up {
		return // what stays dirty goes when the link is up
	}
	m := &messages.ReplicaFloors{DestinationCluster: string(o.home.site.id), MirrorName: string(o.name), SentMono: now}
	for _, id := range o.order {
		e := o.floors[id]
		age := now - e.sent
		if e.known && (again || o.dirty[id] || e.waiters && age >= repeatWaiting || age >= o.home.site.world.options.Lease/3) {
			e.sent = now
			facts.AddFloor(m, id, e.floor)
		}
	}
	clear(o.dirty)
	if len(m.Topics) == 0 {
		return
	}
	life := o.home.life
	o.link.datagram(true, func(source *process) { source.inlet.receiveFloors(m, life) })
}

func (o *outlet) receiveEvidence(m *messages.GateEvidence, life int) {
	sent := int64(0)
	if life == o.home.life && m.SentMono > 0 && m.SentMono <= o.home.mono() {
		sent = m.SentMono
	}
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			id := core.PartitionID{Topic: m.Topics[i].TopicId, Index: m.Topics[i].Partitions[j].Partition}
			e := &m.Topics[i].Partitions[j].Evidence
			known := o.floors[id]
			if known == nil {
				if e.Gating {
					o.home.mirrorTell(o.name, mirror.ReportUnknownPartition{ID: id})
				}
				continue
			}
			known.waiters = e.HasWaiters
			if e.Gating {
				o.home.mirrorTell(o.name, facts.Evidence(id, sent, e))
			}
		}
	}
}
