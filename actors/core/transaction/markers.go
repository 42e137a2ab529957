package transaction

import (
	"cmp"
	"slices"
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

// answered takes what became of one marker. An answer about a transaction that is over says nothing of this one.
func (t *turn) answered(c MarkerAnswered) {
	r := t.record
	if r == nil || !r.phase().prepared() || r.ProducerID != c.ProducerID || r.Epoch != c.Epoch {
		return
	}
	d, owed := t.due[c.Target]
	switch {
	case !owed:
	case c.Outcome == MarkerAgain:
		wait := min(retryNs<<min(d.tries, 10), retryMax)
		t.due[c.Target] = due{retryAt: t.now.Mono + wait, tries: d.tries}
	default:
		delete(t.due, c.Target)
		if len(t.due) == 0 {
			t.complete()
		}
	}
}
