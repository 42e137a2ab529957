package sim

import (
	"math/rand/v2"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// deleteRecords is a client that deletes the head of a partition, up to HW or less, where the cluster lets it.
func (f *faults) deleteRecords(r *rand.Rand, s *site) {
	w, home := f.world, s.serving()
	if home == nil {
		return
	}
	t, known := home.newest.Topic(topicID(r.IntN(len(w.options.Topics))))
	if !known {
		return
	}
	id := pick(r, partitionsOf(*t))
	leader := home.leader(id)
	if leader == nil {
		return
	}
	before := core.Unknown
	if chance(r, 0.7) {
		before = core.Offset(r.Int64N(int64(leader.view.HW) + 2))
	}
	leader.ask(func(ref core.RequestID) partition.Command { return partition.DeleteRecords{Ref: ref, Before: before} }, func(answer any) {
		if d, ok := answer.(partition.RecordsDeleted); ok && d.Code == perr.None {
			w.say("%s: %s begins at %d now, asked was %d", s.id, id, d.LogStart, before)
			if v := partition.Describe(leader.partition.state); d.LogStart < before || v.LogStart < d.LogStart {
				w.found("I11", "%s answers that %s begins at %d, asked was %d, and its leader begins at %d", s.id, id, d.LogStart, before, v.LogStart)
			}
		}
	})
}

// starts is told where a replica's log begins from now on: where a client of the cluster that writes the topic said so, never
// above what is committed there.
func (o *oracle) starts(r *replica, start core.Offset, client bool) {
	t, site := o.truth(r.id), r.broker.home.site.index
	switch below := t.goneBelow(site); {
	case client:
		o.counts.Deletions++
		if hw := t.topHW[site]; start > hw {
			o.world.found("I15", "%s of %s deletes %s below %d, and HW was never above %d", r.broker.name(), r.broker.home.site.id, r.id, start, hw)
		}
	case start > below:
		o.world.found("I01", "%s of %s begins %s at %d, and nobody has deleted more than what is below %d", r.broker.name(), r.broker.home.site.id, r.id, start, below)
	}
	t.deleted[site] = max(t.deleted[site], start)
}

// goneBelow is up to where a site owes nothing any more. A copy owes what its source has, until it opens.
func (t *truth) goneBelow(site int) core.Offset {
	if t.follows(site) != site {
		return max(t.deleted[site], t.deleted[0])
	}
	return t.deleted[site]
}

// truncated: a member of the ISR never cuts what its cluster owes.
func (o *oracle) truncated(r *replica, e partition.LogTruncated) {
	t, s := o.truth(r.id), r.broker.home.site
	r.truth.checked = min(r.truth.checked, e.To)
	isr, _ := o.electable(s, r.id)
	if !slices.Contains(isr, r.broker.id) {
		return
	}
	for i := range t.acks {
		a := &t.acks[i]
		if a.last < e.To || a.last < t.goneBelow(s.index) || a.owed&siteBit(s.index) == 0 {
			continue
		}
		j := find(r.log.disk, a.base)
		if j < len(r.log.disk) && digest(r.log.disk[j]) == a.digest {
			o.world.found("I28", "%s/%s, an in-sync replica, cuts %s to %d and with it the acknowledged batch %d..%d", s.id, r.broker.name(), r.id, e.To, a.base, a.last)
			return
		}
	}
}
