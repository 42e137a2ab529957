package sim

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

const (
	evidenceGap   = 10 * ms
	evidenceEvery = 250 * ms
)

// inlet is the source's side: floors in, evidence and notices out.
type inlet struct {
	home   *process
	heard  map[core.MirrorKey]heardFrom
	gated  map[core.PartitionID]int64
	stated map[statement]messages.PartitionEvidence
	dirty  map[core.PartitionID]bool
	kicked bool
	last   int64
}

type heardFrom struct {
	life int
	mono int64
}

type statement struct {
	id  core.PartitionID
	key core.MirrorKey
}

func newInlet(p *process) *inlet {
	return &inlet{home: p, heard: map[core.MirrorKey]heardFrom{}, gated: map[core.PartitionID]int64{},
		stated: map[statement]messages.PartitionEvidence{}, dirty: map[core.PartitionID]bool{}}
}

func (n *inlet) start() {
	if n.home.site.index == 0 { // only the first cluster is mirrored
		n.tick()
	}
}

func (n *inlet) tick() {
	n.home.wake(n.home.mono()+evidenceEvery, func() {
		n.publish()
		n.tick()
	})
}

func (n *inlet) receiveFloors(m *messages.ReplicaFloors, life int) {
	key := core.MirrorKey{Cluster: core.ClusterID(m.DestinationCluster), Mirror: core.MirrorName(m.MirrorName)}
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			n.home.reportFloor(key, core.PartitionID{Topic: m.Topics[i].TopicId, Index: p.Partition}, p)
		}
	}
	if old, known := n.heard[key]; known && old.life == life && m.SentMono <= old.mono {
		return
	}
	n.heard[key] = heardFrom{life, m.SentMono}
}

func (n *inlet) changed(id core.PartitionID) {
	if !n.home.attached || n.home.site.index != 0 {
		return
	}
	n.dirty[id] = true
	if n.kicked {
		return
	}
	n.kicked = true
	w := n.home.site.world
	w.after(max(30*us, n.last+evidenceGap-w.now), func() {
		n.kicked = false
		if !n.home.dead {
			n.publish()
		}
	})
}

// publish sends the evidence that is due, by destination and mirror.
func (n *inlet) publish() {
	w := n.home.site.world
	if n.home.pausedUntil > w.now {
		return
	}
	n.last = w.now
	dirty := n.dirty
	n.dirty = map[core.PartitionID]bool{}
	for id, sent := range n.gated {
		if w.now-sent >= w.options.Lease/3 {
			dirty[id] = true
		}
	}
	per := map[core.MirrorKey]*messages.GateEvidence{}
	var keys []core.MirrorKey
	for _, id := range sortedPartitions(dirty) {
		t, e, ok := n.home.evidence(id)
		if !ok {
			e.Gates = nil
		}
		for _, g := range n.due(id, e) {
			m := per[g.Key]
			if m == nil {
				m = &messages.GateEvidence{SourceCluster: string(n.home.site.id), DestinationCluster: string(g.Key.Cluster), MirrorName: string(g.Key.Mirror)}
				per[g.Key] = m
				keys = append(keys, g.Key)
			}
			body := messages.PartitionEvidence{SourceEpoch: int32(e.Epoch), HighWatermark: int64(e.HW), LastUncleanEpoch: int32(e.LastUnclean), HasWaiters: e.HasWaiters, Era: int64(n.home.era(id.Topic)), Partitions: n.home.partitions(id.Topic), Incarnation: n.home.newest.Incarnation}
			state(&body, g, t)
			n.stated[statement{id, g.Key}] = body
			k := len(m.Topics)
			if k == 0 || core.TopicID(m.Topics[k-1].TopicId) != id.Topic {
				m.Topics = append(m.Topics, messages.GateEvidenceTopic{TopicId: id.Topic})
				k++
			}
			m.Topics[k-1].Partitions = append(m.Topics[k-1].Partitions, messages.GateEvidencePartition{Partition: id.Index, Evidence: body})
		}
	}
	for _, key := range keys {
		m, echo := per[key], n.heard[key]
		m.SentMono = echo.mono
		n.toDestination(key, func(o *outlet) { o.receiveEvidence(m, echo.life) })
	}
}

// due keeps what is worth saying now. The rest stays dirty until evidenceEvery has passed.
func (n *inlet) due(id core.PartitionID, e highwater.PublishGates) []highwater.GateState {
	now := n.home.site.world.now
	sent, gated := n.gated[id]
	if len(e.Gates) == 0 {
		delete(n.gated, id)
		for s := range n.stated {
			if s.id == id {
				delete(n.stated, s)
			}
		}
		return nil
	}
	news := !gated || now-sent >= evidenceEvery
	for _, g := range e.Gates {
		last, ok := n.stated[statement{id, g.Key}]
		news = news || !ok || last.SourceEpoch != int32(e.Epoch) || last.RegistrationEpoch != int64(g.Epoch) || last.GateStart != int64(g.GateStart) ||
			(last.FloorAccepted >= last.GateStart) != (g.Floor >= g.GateStart) || !last.HasWaiters && e.HasWaiters
	}
	if !news {
		n.dirty[id] = true
		return nil
	}
	n.gated[id] = now
	return e.Gates
}

func (n *inlet) released(key core.MirrorKey, number core.ReleaseNumber, topics []core.TopicID) {
	if d := n.home.site.world.siteNamed(key.Cluster); d != nil {
		n.home.site.world.oracle.releasedAt(d, number, topics)
	}
	topics = slices.Clone(topics)
	n.toDestination(key, func(o *outlet) {
		o.home.mirrorTell(key.Mirror, mirror.ReportReleased{Number: number, Topics: topics})
	})
}

func (n *inlet) lifted(key core.MirrorKey, topics []core.TopicID) {
	topics = slices.Clone(topics)
	n.toDestination(key, func(o *outlet) { o.home.mirrorTell(key.Mirror, mirror.ReportLifted{Topics: topics}) })
}

func (n *inlet) toDestination(key core.MirrorKey, arrive func(*outlet)) {
	w := n.home.site.world
	for _, s := range w.sites[1:] {
		if s.id == key.Cluster {
			w.net.link(s, w.sites[0]).datagram(false, func(p *process) { arrive(p.outlet(key.Mirror)) })
		}
	}
}
