package sim

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// moveTruth is how one destination stands to the writes of one topic of the source.
type moveTruth struct {
	admitted bool                   // it was told that the source gates on it, and has sent no command since
	epoch    core.RegistrationEpoch // of which it was told that
	released bool                   // the source's operator has let it go since its newest registration
	took     bool                   // it takes the writes over from a source that gates on it
	handed   bool                   // the source has handed them over
	starts   map[int32]gateTruth    // by partition: which registration its leaders gate by, lowest start

	ends    map[int32][]core.Offset  // by partition: where the source said it ends, as often as it said so
	decided []registration.EndRecord // decided by the source's process of that life, not on disk yet; a partition may be there twice
	life    int
}

type gateTruth struct {
	epoch core.RegistrationEpoch
	start core.Offset
}

type moveKey struct {
	site  int
	topic core.TopicID
}

func (o *oracle) move(site int, topic core.TopicID) *moveTruth {
	key := moveKey{site, topic}
	m := o.moves[key]
	if m == nil {
		m = &moveTruth{ends: map[int32][]core.Offset{}, starts: map[int32]gateTruth{}}
		o.moves[key] = m
	}
	return m
}

// mirrorMoves follows what a destination knows of its own standing.
func (o *oracle) mirrorMoves(s *site, ev mirror.Event) {
	switch e := ev.(type) {
	case mirror.CommandIssued:
		o.move(s.index, e.Topic).admitted = false
	case mirror.TopicAdmitted:
		m := o.move(s.index, e.Topic)
		m.admitted, m.epoch = true, e.Epoch
	case mirror.TopicStopping:
		if m := o.move(s.index, e.Topic); mirror.Verb(e.Verb) == mirror.VerbFailover {
			m.took = m.admitted
		}
	case mirror.SwitchoverCommitted:
		m := o.move(s.index, e.Topic)
		m.took, m.handed = true, true
	default: // says nothing of who takes the writes
	}
}

// ledgerMoves follows the source's ledger.
func (o *oracle) ledgerMoves(p *process, ev registration.Event) {
	switch e := ev.(type) {
	case registration.TopicRegistered:
		if d := o.world.siteNamed(e.Cluster); d != nil {
			o.move(d.index, e.Topic).released = false
		}
	case registration.GateApplied:
		if d := o.world.siteNamed(e.Cluster); d != nil {
			o.move(d.index, e.Topic).gates(e)
		}
	case registration.MirrorReleased:
		d := o.world.siteNamed(e.Cluster)
		for key, m := range o.moves { // topics that were made again are among them
			if d != nil && key.site == d.index && (e.Whole || slices.Contains(e.Topics, key.topic)) {
				m.released = true
			}
		}
	case registration.TopicSuperseded:
		if d := o.world.siteNamed(e.Cluster); d != nil && e.Planned {
			m := o.move(d.index, e.Topic)
			if len(m.ends) == 0 {
				if m.life != p.life {
					m.decided, m.life = nil, p.life
				}
				m.decided = append(m.decided, e.Ends...) // told one after the other, and each may be the one that is heard
				break
			}
			for _, end := range e.Ends { // a later leader ends elsewhere, with all that is acknowledged
				m.ends[end.Partition] = append(m.ends[end.Partition], end.LEO)
			}
		}
	default: // changes nobody's standing
	}
}

func (m *moveTruth) gates(e registration.GateApplied) {
	start := e.Gate.Start
	if was, known := m.starts[e.Gate.Partition]; known && was.epoch == e.Epoch {
		start = min(start, was.start) // a later leader gates from where it begins, and so did the one before
	}
	m.starts[e.Gate.Partition] = gateTruth{e.Epoch, start}
}

// binds says whether a leader of the source gates an offset on this destination: from its gate start on (C2). An added
// partition, or one whose leader has not heard of the registration yet, does not, and the topic is ASYNC until it does: a
// failover then takes what there is. A handover comes after all of them gate.
func (m *moveTruth) binds(partition int32, last core.Offset) bool {
	g, known := m.starts[partition]
	return m.handed || known && g.epoch == m.epoch && last >= g.start
}

// handsOver is I47 at the instant a switchover is on the source's disk: whatever the source holds and has acknowledged,
// also with acks=1, is on every replica that may lead at the destination, and it is owed there from now on.
func (o *oracle) handsOver(p *process, facts []image.Fact) {
	for _, fact := range facts {
		changed, ok := fact.(image.RegistrationsChanged)
		if !ok {
			continue
		}
		for _, d := range o.world.sites[1:] {
			m := o.moves[moveKey{d.index, changed.ID}]
			if m == nil || m.decided == nil || m.life != p.life {
				continue
			}
			for _, end := range m.decided {
				m.ends[end.Partition] = append(m.ends[end.Partition], end.LEO)
				o.handsOverPartition(p, d, core.PartitionID{Topic: changed.ID, Index: end.Partition}, end.LEO)
			}
			m.decided = nil
			o.counts.Switchovers++
		}
	}
}

func (o *oracle) handsOverPartition(p *process, d *site, id core.PartitionID, end core.Offset) {
	t, leader := o.truth(id), p.leader(id)
	o.world.say("%s hands %s over to %s, ending at %d", p.site.id, id, d.id, end)
	isr, _ := o.electable(d, id)
	for _, broker := range isr {
		if has := d.ends(broker, id); has < end {
			o.world.found("I47", "%s hands %s over to %s ending at %d, and %s/broker-%d ends at %d", p.site.id, id, d.id, end, d.id, broker, has)
			return
		}
	}
	for i := range t.acks {
		a := &t.acks[i]
		if a.site != 0 || a.owed&siteBit(d.index) != 0 {
			continue
		}
		here := leader != nil && a.last < end && has(leader.log.disk, commit{a.base, a.last, a.digest})
		if !here && a.acks != -1 {
			continue // one broker confirmed it alone, and has lost it
		}
		if a.last >= end {
			o.world.found("I47", "%s hands %s over to %s ending at %d, and has acknowledged %d..%d", p.site.id, id, d.id, end, a.base, a.last)
			return
		}
		a.owed |= siteBit(d.index)
		o.checkAck(t, a, d.index, "when the source handed over")
	}
}

// opensAt is the rest of I47: a copy that was handed over opens where the source ended.
func (o *oracle) opensAt(s *site, id core.PartitionID, leo core.Offset) {
	m := o.moves[moveKey{s.index, id.Topic}]
	if m == nil || len(m.ends[id.Index]) == 0 || slices.Contains(m.ends[id.Index], leo) {
		return
	}
	o.world.found("I47", "%s opens %s at %d after a switchover, and the source ended at %v", s.id, id, leo, m.ends[id.Index])
}

// ackedAfterMove is I46: no source confirms to all what a destination, which it still gates on and which has taken its
// writes over, does not have. What that destination had before it opened may be confirmed late: its floor was on its way.
func (o *oracle) ackedAfterMove(t *truth, a *ackTruth) {
	if a.site != 0 || a.acks != -1 {
		return
	}
	for _, d := range o.world.sites[1:] {
		m := o.moves[moveKey{d.index, t.id.Topic}]
		if m != nil && m.took && !m.released && m.binds(t.id.Index, a.last) && t.sites[d.index].forked != core.Unknown && a.last >= t.sites[d.index].forked {
			o.world.found("I46", "%s acks %d..%d of %s to all, and %s, which nobody has released, has taken its writes over at %d",
				o.world.sites[a.site].id, a.base, a.last, t.id, d.id, t.sites[d.index].forked)
		}
	}
}

func (w *world) siteNamed(id core.ClusterID) *site {
	for _, s := range w.sites {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (o *oracle) registrationEvent(p *process, ev registration.Event) {
	if p.site.index == 0 {
		o.ledgerMoves(p, ev)
		o.ledgerEvent(ev)
	}
}

func (o *oracle) mirrorEvent(p *process, ev mirror.Event) {
	o.mirrorMoves(p.site, ev)
	o.noted(p.site, ev)
}

// ends is where the disk of a broker ends.
func (s *site) ends(broker core.ReplicaID, id core.PartitionID) core.Offset {
	list := s.onDisk(broker, id)
	if n := len(list); n > 0 {
		return core.Offset(list[n-1].LastOffset()) + 1
	}
	return s.world.oracle.truth(id).goneBelow(s.index) // all of it was deleted, if there was anything
}
