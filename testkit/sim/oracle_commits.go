package sim

import (
	"sort"

	"lockstep/actors/core"
	"lockstep/actors/core/invariants"
	"lockstep/protocol/batch"
)

// commit is one batch that a high watermark passed.
type commit struct {
	base, last core.Offset
	digest     invariants.Digest
}

func committedAt(list []commit, base core.Offset) (commit, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].last >= base })
	if i < len(list) && list[i].base == base {
		return list[i], true
	}
	return commit{}, false
}

func end(list []commit) core.Offset {
	if n := len(list); n > 0 {
		return list[n-1].last + 1
	}
	return 0
}

// follows is the site whose commits a replica of a site must agree with.
func (t *truth) follows(site int) int {
	if t.sites[site].forked == core.Unknown {
		return 0
	}
	return site
}

// commits notes what HW passed in a leader's log: never other bytes than before (I04), at a mirror never what
// its source has not committed (I19, I21).
func (o *oracle) commits(t *truth, r *replica, site int, from, to core.Offset) {
	if site != 0 {
		from = end(t.committed[site])
	}
	list := r.log.batches
	for _, b := range list[find(list, from):] {
		if core.Offset(b.LastOffset()) >= to {
			return
		}
		one := commit{core.Offset(b.BaseOffset), core.Offset(b.LastOffset()), digest(b)}
		if of := t.follows(site); of != site {
			if known, ok := committedAt(t.committed[of], one.base); !ok || known != one {
				o.world.found("I21", "%s commits %d..%d of %s, which its source has not committed", r.partition.spec.id, one.base, one.last, r.id)
				return
			}
		}
		if known, ok := committedAt(t.committed[site], one.base); ok {
			if known != one {
				o.world.found("I04", "%s commits other bytes at offset %d of %s than were committed there before", r.partition.spec.id, one.base, r.id)
				return
			}
			continue
		}
		if one.base < end(t.committed[site]) {
			o.world.found("I04", "%s commits %d..%d of %s across what was committed up to %d", r.partition.spec.id, one.base, one.last, r.id, end(t.committed[site]))
			return
		}
		t.committed[site] = append(t.committed[site], one)
	}
}

// leads: whoever begins to lead has all that was committed (I04).
func (o *oracle) leads(t *truth, r *replica) {
	site := r.broker.home.site.index
	for _, c := range t.committed[site] {
		if c.last >= t.goneBelow(site) && !has(r.log.batches, c) {
			o.world.found("I04", "%s of %s begins to lead %s without the committed batch %d..%d", r.broker.name(), r.broker.home.site.id, r.id, c.base, c.last)
			return
		}
	}
}

func has(list []batch.Batch, c commit) bool {
	i := find(list, c.base)
	return i < len(list) && core.Offset(list[i].BaseOffset) == c.base && digest(list[i]) == c.digest
}

// shows: whatever any replica lets be read is committed, with these bytes (I15, I18).
func (o *oracle) shows(r *replica, hw core.Offset) {
	if hw <= r.truth.checked {
		return
	}
	t := o.truth(r.id)
	site := r.broker.home.site.index
	of := t.follows(site)
	list := r.log.batches
	for _, b := range list[find(list, r.truth.checked):] {
		last := core.Offset(b.LastOffset())
		if last >= hw {
			return
		}
		if c, ok := committedAt(t.committed[of], core.Offset(b.BaseOffset)); !ok || c.digest != digest(b) {
			what := "which nobody has committed"
			if ok {
				what = "where other bytes are committed"
			}
			o.world.found("I18", "%s of %s shows %d..%d of %s, %s", r.broker.name(), r.broker.home.site.id, b.BaseOffset, last, r.id, what)
			return
		}
		r.truth.checked = last + 1
	}
}

// viewsHold compares what is shown with what is on disk, at the end of an event: views of before and after a
// truncation are released together when one sync covers both, and the last one counts.
func (o *oracle) viewsHold() {
	for _, r := range o.world.viewed {
		r.viewed = false
		if r.broker.home.dead || r.broker.lost != nil {
			continue
		}
		end := core.Offset(0)
		if n := len(r.log.disk); n > 0 {
			end = core.Offset(r.log.disk[n-1].LastOffset()) + 1
		}
		if r.view.LEO > max(end, r.view.LogStart) {
			o.world.found("I26", "%s shows LEO %d, its disk ends at %d", r.partition.spec.id, r.view.LEO, end)
		}
	}
	o.world.viewed = o.world.viewed[:0]
}
