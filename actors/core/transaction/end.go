package transaction

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lockstep/protocol/perr"
)

// endTxn decides the open transaction. With Bump the epoch alone does not tell the next request from a retry, so the
// phase and the epoch before decide together (KIP-890's table).
func (t *turn) endTxn(c EndTxn) {
	refuse := func(code perr.Code, text string) {
		t.reply(Ended{Ref: c.Ref, Code: code, Text: text, ProducerID: -1, Epoch: -1})
	}
	r := t.record
	if c.ID == "" {
		refuse(perr.InvalidRequest, "the transactional id is empty")
		return
	}
	if r == nil {
		refuse(perr.InvalidProducerIdMapping, "")
		return
	}
	phase := r.phase()
	// Only the end of its own transaction moves a producer on: the epoch before alone may be that of one who was replaced.
	moved := c.Bump && (r.LastEpoch == c.Epoch || !retryOfOwnEnd)
	overflowed := moved && r.PreviousID == c.ProducerID && c.Epoch == lastUsed && r.Epoch == 0
	retry := overflowed || moved && int(r.Epoch) == int(c.Epoch)+1
	current := r.Epoch == c.Epoch
	switch {
	case r.ProducerID != c.ProducerID && !overflowed:
		refuse(perr.InvalidProducerIdMapping, "")
		return
	case !fenceOlderEpochs:
	case !c.Bump && !current,
		c.Bump && (phase == Ongoing || phase == Empty) && !current,
		c.Bump && phase.prepared() && !retry,
		c.Bump && !current && !retry:
		refuse(perr.ProducerFenced, "")
		return
	}
	wrong := func() {
		refuse(perr.InvalidTxnState, fmt.Sprintf("transactional id %s is in state %s: it cannot be ended with commit %v", c.ID, phase, c.Commit))
	}
	as := func(commit Phase, abort Phase) bool {
		return c.Commit && phase == commit || !c.Commit && phase == abort
	}
	switch {
	case phase == Ongoing:
		t.decided(c)
	case phase.prepared():
		if !as(PrepareCommit, PrepareAbort) {
			wrong()
			return
		}
		t.wait(waiter{end: &c})
	case as(CompleteCommit, CompleteAbort) && (retry || !c.Bump):
		t.reply(t.ended(c))
	case c.Bump && !c.Commit && !retry: // an abort of a transaction without partitions (T19)
		t.decided(c)
	default:
		wrong()
	}
}

// decided prepares the end, and answers when it has come everywhere (C12).
func (t *turn) decided(c EndTxn) {
	r := t.record
	epoch, last, next := r.Epoch, r.LastEpoch, int64(-1)
	if c.Bump {
		if exhausted(r.Epoch) {
			next = c.Fresh
		}
		epoch, last = min(r.Epoch, lastUsed)+1, r.Epoch
	}
	if !answerWhenEnded {
		t.reply(Ended{Ref: c.Ref, ProducerID: r.ProducerID, Epoch: epoch})
	} else {
		t.wait(waiter{end: &c})
	}
	t.prepare(c.Commit, epoch, last, next)
}

func (t *turn) ended(c EndTxn) Ended {
	if !c.Bump {
		return Ended{Ref: c.Ref, ProducerID: -1, Epoch: -1}
	}
	if t.record.Epoch == math.MaxInt16 { // of a fence: nothing could be above it
		return Ended{Ref: c.Ref, Code: perr.ProducerFenced, ProducerID: -1, Epoch: -1}
	}
	return Ended{Ref: c.Ref, ProducerID: t.record.ProducerID, Epoch: t.record.Epoch}
}

// prepare makes the end a fact. Markers are asked for once it is durable.
func (t *turn) prepare(commit bool, epoch, last int16, next int64) {
	var targets []Target
	if t.record.phase() == Ongoing {
		targets = t.record.targets()
	}
	t.happen(TransactionPrepared{ID: t.id, Commit: commit, Epoch: epoch, LastEpoch: last, NextID: next, At: t.now.Wall})
	t.deadline, t.expires = 0, 0
	t.owe(targets, t.now.Mono)
	if len(targets) == 0 {
		t.complete()
	}
}

// complete ends the transaction and answers everybody who waited for that.
func (t *turn) complete() {
	t.happen(TransactionCompleted{ID: t.id, At: t.now.Wall})
	t.due = nil
	t.used()
	waiters := t.waiters
	t.waiters = nil
	// Whoever asked for this end is told of this end, before a successor moves on: what it is told is what it writes with.
	if successorsLast {
		slices.SortStableFunc(waiters, func(a, b waiter) int { return cmp.Compare(a.kind(), b.kind()) })
	}
	for _, w := range waiters {
		if w.end != nil {
			t.reply(t.ended(*w.end))
		} else {
			t.init(*w.init)
		}
	}
}
