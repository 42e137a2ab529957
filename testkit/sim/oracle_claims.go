package sim

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/invariants"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// floorStated is I24 and I26 at the instant a floor leaves: everybody who may lead at the destination has it
// on disk. A floor of a source epoch that the leader has left binds nobody any more: it may be told between the cut that
// the next epoch demanded and the word of it, and the leader of the next epoch takes floors of its own epoch alone (R3).
func (o *oracle) floorStated(r *replica, e highwater.PublishFloor) {
	if e.Floor == core.Unknown {
		return
	}
	s := r.broker.home.site
	isr, _ := o.electable(s, r.id)
	if r.partition.state != nil && partition.Describe(r.partition.state).Adopted > e.SourceEpoch {
		isr = nil
	}
	for _, broker := range isr {
		if end := s.ends(broker, r.id); end < e.Floor {
			o.world.found("I24", "%s states floor %d of %s in source epoch %d, and its in-sync broker %d ends at %d", s.id, e.Floor, r.id, e.SourceEpoch, broker, end)
		}
	}
	// A source that moves answers without its incarnation for a moment, and the epoch is adopted again without it.
	same := r.truth.statedE == e.SourceEpoch && r.truth.statedI == e.SourceIncarnation
	if r.truth.stated != core.Unknown && same && e.Floor < r.truth.stated {
		o.world.found("I24", "%s states floor %d of %s after %d, in one source epoch", s.id, e.Floor, r.id, r.truth.stated)
	}
	r.truth.stated, r.truth.statedE, r.truth.statedI = e.Floor, e.SourceEpoch, e.SourceIncarnation
}

// claims checks I35 and I44: whatever a destination claims up to T, it has. It runs now and then, and at the
// instant before a failover.
func (o *oracle) claims() {
	for _, s := range o.world.sites[1:] {
		p := s.alive()
		if p == nil {
			continue
		}
		for _, name := range sortedKeys(p.mirrors) {
			m := p.mirrors[name]
			if m.state == nil {
				continue
			}
			for _, t := range describe(m, p).Topics {
				o.wants(s, t)
				if t.Effective != mirror.TypeSync {
					continue
				}
				for i := 0; ; i++ { // also partitions that the destination does not know of
					id := core.PartitionID{Topic: t.Topic, Index: int32(i)}
					if o.partitions[id] == nil && i >= len(t.Partitions) {
						break
					}
					o.claimed(s, id, t.T.Clock)
				}
			}
		}
	}
}

func describe(m *mirrorActor, p *process) (d mirror.Description) {
	out := m.spec.machine.Decide(m.state, p.clock(), mirror.Describe{})
	for _, f := range out.Late {
		if described, ok := f.(mirror.Described); ok {
			d = described.Mirror
		}
	}
	return d
}

// claimed: every acks=all record that the source acknowledged before T is at the site, from now on.
func (o *oracle) claimed(s *site, id core.PartitionID, until int64) {
	t := o.truth(id)
	st := &t.sites[s.index]
	for ; st.claimed < len(t.acks); st.claimed++ {
		a := &t.acks[st.claimed]
		if a.site == 0 && a.wall >= until {
			return
		}
		if a.site != 0 || a.acks != -1 {
			continue
		}
		o.counts.ClaimsChecked++
		if a.owed&siteBit(s.index) == 0 {
			a.owed |= siteBit(s.index)
			if t.made&siteBit(s.index) == 0 {
				o.world.found("I35", "%s claims its topic SYNC until later than the batch %d..%d of %s was acknowledged, and has no such partition", s.id, a.base, a.last, id)
			}
			o.checkAck(t, a, s.index, "though it claims SYNC until later")
		}
	}
}

// siteLost is the last word on what a source had promised: the claims as they stand are checked now, and stay.
func (o *oracle) siteLost(*site) { o.claims() }

// fenced says where a destination's own history begins.
func (o *oracle) fenced(s *site, id core.PartitionID, leo core.Offset) {
	t := o.truth(id)
	o.world.say("%s: mirroring of %s ended at %d", s.id, id, leo)
	if t.sites[s.index].forked == core.Unknown {
		t.sites[s.index].forked = leo
	}
	o.opensAt(s, id, leo)
	for i := range t.acks {
		if a := &t.acks[i]; a.owed&siteBit(s.index) != 0 && a.site == 0 && a.last >= leo {
			o.world.found("I03", "%s opens %s at %d without the batch %d..%d, acknowledged while it was gated", s.id, id, leo, a.base, a.last)
		}
	}
}

// unmirrored is fenced for what mirroring had not begun on when it ended: the topic was still being made, or the
// partition had just been added. Its history here begins at 0. The mirror is asked, because an image may be older.
func (o *oracle) unmirrored(s *site, home *process) {
	stopped := map[core.TopicID]bool{}
	for _, t := range describe(home.mirrors[mirrorName(s)], home).Topics {
		stopped[t.Topic] = t.Phase == mirror.Stopped
	}
	for _, p := range sortedPartitions(o.partitions) {
		if !stopped[p.Topic] || o.truth(p).sites[s.index].forked != core.Unknown {
			continue
		}
		written := false
		for i := range s.volumes {
			written = written || len(s.onDisk(core.ReplicaID(i+1), p)) > 0
		}
		if !written {
			o.fenced(s, p, 0)
		}
	}
}

// reset notes whether producer state survived a failover.
func (o *oracle) reset(s *site, id core.PartitionID, keep partition.KeepProducers) {
	if keep != partition.KeepIdempotent {
		o.truth(id).sites[s.index].dup = true
	}
}

// divergedAt: with clean elections alone no mirror may refuse to follow its source.
func (o *oracle) divergedAt(p *process, id core.PartitionID, text string) {
	o.world.say("%s: %s is DIVERGED: %s", p.site.id, id, text)
	o.truth(id).sites[p.site.index].diverged = true
	o.world.found("I28", "%s: %s is DIVERGED, though no committed record was ever lost: %s", p.site.id, id, text)
}

// consumed: an offset shows the same bytes for ever, in every cluster that shares the history. A mirror that
// was stopped keeps what it has, whatever its old source commits at that offset later.
func (o *oracle) consumed(c *consumer, b batch.Batch) {
	t := o.truth(c.id)
	base, d := core.Offset(b.BaseOffset), digest(b)
	o.counts.Consumed++
	for site, seen := range t.seen {
		if site != c.site.index && (t.sites[site].forked != core.Unknown || t.sites[c.site.index].forked != core.Unknown) {
			continue
		}
		if old, known := seen[base]; known && old != d {
			o.world.found("I21", "a consumer at %s reads other bytes at offset %d of %s than were read before at %s", c.site.id, base, c.id, o.world.sites[site].id)
		}
	}
	t.seen[c.site.index][base] = d
}

// checkSite compares all that a site owes with what its disks hold.
func (o *oracle) checkSite(s *site, when string) {
	for _, id := range sortedPartitions(o.partitions) {
		isr, ok := o.electable(s, id)
		if !ok {
			continue
		}
		for _, broker := range isr {
			o.checkMember(o.partitions[id], s, broker, "after "+when)
		}
	}
}

// audit is the comparison of whole logs: between replicas of a cluster, and between clusters (I20, I21, I22).
func (o *oracle) audit() {
	for _, id := range sortedPartitions(o.partitions) {
		t := o.partitions[id]
		type copyOf struct {
			site   int
			broker core.ReplicaID
			list   []batch.Batch
		}
		var copies []copyOf
		for _, s := range o.world.sites {
			if s.gone {
				continue
			}
			for b := range s.volumes {
				if list := s.onDisk(core.ReplicaID(b+1), id); len(list) > 0 {
					copies = append(copies, copyOf{s.index, core.ReplicaID(b + 1), list})
				}
			}
		}
		at := map[[3]int64]invariants.Digest{} // lineage, epoch, base
		for _, c := range copies {
			next := int64(-1)
			for _, b := range c.list {
				if next >= 0 && b.BaseOffset != next {
					o.world.found("I22", "%s/broker-%d: %s has a hole between %d and %d", o.world.sites[c.site].id, c.broker, id, next, b.BaseOffset)
				}
				next = b.LastOffset() + 1
				o.counts.Compared++
				key := [3]int64{int64(t.lineage(c.site, core.Offset(b.BaseOffset))), int64(b.LeaderEpoch), b.BaseOffset}
				d := digest(b)
				if old, known := at[key]; known && old != d {
					o.world.found("I20", "%s/broker-%d holds other bytes at offset %d of %s, epoch %d, than another replica", o.world.sites[c.site].id, c.broker, b.BaseOffset, id, b.LeaderEpoch)
				}
				at[key] = d
			}
		}
	}
}

// duplicates looks for values that are twice in the committed log of a cluster though their producer numbered
// them (I30).
func (o *oracle) duplicates() {
	for _, s := range o.world.sites {
		p := s.alive()
		if p == nil {
			continue
		}
		for _, id := range sortedPartitions(o.partitions) {
			leader := p.leader(id)
			if leader == nil {
				continue
			}
			seen := map[uint64]core.Offset{}
			for _, b := range leader.log.disk {
				for i, v := range values(b) {
					o.appeared(s, id, b, v)
					at := core.Offset(b.BaseOffset) + core.Offset(i)
					first, again := seen[v]
					seen[v] = at
					known := o.values[v]
					if again && known != nil && !known.duplicates && !(o.truth(id).sites[s.index].dup && known.sending.sites > 1) {
						o.world.found("I30", "%s: the value %x of an idempotent producer is at offsets %d and %d of %s", s.id, v, first, at, id)
					}
				}
			}
		}
	}
}

// unseen looks for acknowledged values that no consumer of the cluster can read (I65).
func (o *oracle) unseen(s *site) string {
	p := s.serving()
	if p == nil {
		return fmt.Sprintf("%s does not serve", s.id)
	}
	for _, id := range sortedPartitions(o.partitions) {
		leader := p.leader(id)
		if leader == nil {
			if _, known := p.newest.Partition(id); known {
				return fmt.Sprintf("%s: nobody leads %s", s.id, id)
			}
			continue
		}
		if t := o.partitions[id]; s.index > 0 && t.gone&siteBit(0) != 0 && t.sites[s.index].forked == core.Unknown {
			continue // its source has deleted the topic: the rest is shown once the copy is stopped
		}
		for i := range o.partitions[id].acks {
			a := &o.partitions[id].acks[i]
			if a.owed&siteBit(s.index) != 0 && a.last >= leader.view.HW && !o.waitsForOpened(s, id, a.last) {
				return fmt.Sprintf("%s: the acknowledged batch %d..%d of %s is above HW %d", s.id, a.base, a.last, id, leader.view.HW)
			}
		}
	}
	return ""
}

// waitsForOpened says that the source holds an offset back for a mirror that has opened and reports no more. Its gate
// stands until an operator forces a release (C8), and no source knows by itself what a mirror had that opened alone: a new
// leader, or one whose process started again, shows what its ledger had on disk and waits. Other mirrors of that source
// wait with it. The batch itself is where the writes went.
func (o *oracle) waitsForOpened(s *site, id core.PartitionID, last core.Offset) bool {
	t, source := o.truth(id), o.world.sites[0].serving()
	if source == nil || t.follows(s.index) != 0 {
		return false
	}
	leader := source.leader(id)
	if leader == nil || leader.highwater.state == nil {
		return false
	}
	for _, g := range highwater.Describe(leader.highwater.state).Gates.Gates {
		if d := o.world.siteNamed(g.Key.Cluster); d != nil && t.sites[d.index].forked != core.Unknown && g.Floor <= last {
			return true
		}
	}
	return false
}
