package transaction

import (
	"cmp"
	"slices"

	"lockstep/actors/core"
)

// send asks for every marker that is due and not on its way, in a fixed order. The orders are late: the decision that
// they carry out is durable first.
func (t *turn) send() {
	if t.record == nil || !t.record.phase().prepared() {
		return
	}
	var ready []Target // sorted alone: each answer comes here, and most of what is due is on its way then
	for at, d := range t.due {
		if !d.asked && d.retryAt <= t.now.Mono {
			ready = append(ready, at)
		}
	}
	slices.SortFunc(ready, compareTargets)
	for _, at := range ready {
		d := t.due[at]
		t.due[at] = due{asked: true, tries: d.tries + 1}
		commit := t.record.phase() == PrepareCommit
		if at.Group != "" {
			t.out.Late = append(t.out.Late, EndOffsets{ID: t.id, ProducerID: t.record.ProducerID, Epoch: t.record.Epoch, Group: at.Group, Commit: commit})
		} else {
			t.out.Late = append(t.out.Late, WriteMarker{ID: t.id, ProducerID: t.record.ProducerID, Epoch: t.record.Epoch, Partition: at.Partition, Commit: commit, Tries: d.tries})
		}
	}
}

func compareTargets(a, b Target) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), slices.Compare(a.Partition.Topic[:], b.Partition.Topic[:]), cmp.Compare(a.Partition.Index, b.Partition.Index))
}

// markerAnswered takes what became of one marker. An answer about a transaction that is over says nothing of this one. A
// transaction may have as many places as the cluster has partitions, so an answer looks at none of the others.
func (s *State) markerAnswered(c MarkerAnswered, now core.Now) outcome {
	var out outcome
	r, l := s.txns[c.ID], s.live[c.ID]
	switch {
	case r == nil || !r.phase().prepared() || r.ProducerID != c.ProducerID || r.Epoch != c.Epoch:
		return out
	case l == nil: // before Resume reached us
		return s.turn(c.ID, now, func(t *turn) { t.answered(c) })
	}
	d, owed := l.due[c.Target]
	switch {
	case !owed:
	case c.Outcome == MarkerAgain:
		again := d.again(now.Mono)
		out.Events = append(out.Events, MarkerNoted{ID: c.ID, Target: c.Target, due: again})
		s.arm(&out, again.retryAt)
	case len(l.due) > 1:
		out.Events = append(out.Events, MarkerNoted{ID: c.ID, Target: c.Target, ended: true})
	default:
		return s.turn(c.ID, now, func(t *turn) { t.answered(c) })
	}
	return out
}

func (d due) again(now int64) due {
	return due{retryAt: now + min(retryNs<<min(d.tries, 10), retryMax), tries: d.tries}
}

// answered is an answer that may be the last one.
func (t *turn) answered(c MarkerAnswered) {
	d, owed := t.due[c.Target]
	switch {
	case !owed:
	case c.Outcome == MarkerAgain:
		t.due[c.Target] = d.again(t.now.Mono)
	default:
		delete(t.due, c.Target)
		if len(t.due) == 0 {
			t.complete()
		}
	}
}
