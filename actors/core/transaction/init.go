package transaction

import (
	"fmt"
	"math"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// init gives the asker an epoch above all others of the id. What is open is aborted first, and what is decided is
// finished first: then a new epoch is drawn, so that the one the abort used is nobody's.
func (t *turn) init(c InitProducerID) {
	refuse := func(code perr.Code, text string) {
		t.reply(Initialized{Ref: c.Ref, Code: code, Text: text, ProducerID: -1, Epoch: -1})
	}
	r := t.record
	switch {
	case c.ID == "":
		refuse(perr.InvalidRequest, "the transactional id is empty")
		return
	case c.TimeoutMs <= 0 || int64(c.TimeoutMs) > t.s.settings.MaxTimeoutMs:
		refuse(perr.InvalidTransactionTimeout, fmt.Sprintf("transaction.timeout.ms is %d, transaction.max.timeout.ms is %d", c.TimeoutMs, t.s.settings.MaxTimeoutMs))
		return
	case r == nil:
		if code, text := t.s.noRoom(idCost + int64(len(c.ID))); code != 0 {
			refuse(code, text)
			return
		}
		t.initialize(c, c.Fresh, -1, 0, -1)
		return
	}
	expected := c.ExpectedID >= 0
	if expected && c.ExpectedID != r.ProducerID && !(c.ExpectedID == r.PreviousID && exhausted(c.ExpectedEpoch)) {
		refuse(perr.ProducerFenced, "")
		return
	}
	switch phase := r.phase(); {
	case phase == Ongoing && expected && c.ExpectedEpoch != r.Epoch && fenceOlderEpochs:
		refuse(perr.ProducerFenced, "") // what is open is its successor's
	case phase == Ongoing:
		t.fence()
		t.wait(waiter{init: &c})
	case phase.prepared():
		t.wait(waiter{init: &c})
	case exhausted(r.Epoch) && (!expected || c.ExpectedEpoch == r.Epoch || r.Epoch == math.MaxInt16 && c.ExpectedEpoch == r.LastEpoch):
		last := int16(-1)
		if expected {
			last = c.ExpectedEpoch
		}
		t.initialize(c, c.Fresh, r.ProducerID, 0, last)
	case !expected:
		t.initialize(c, r.ProducerID, r.PreviousID, r.Epoch+1, -1)
	case c.ExpectedEpoch == r.Epoch && c.ExpectedID == r.ProducerID:
		t.initialize(c, r.ProducerID, r.PreviousID, r.Epoch+1, r.Epoch)
	case c.ExpectedEpoch == r.LastEpoch: // the answer of the first try was not heard, and nobody came between
		t.initialize(c, r.ProducerID, r.PreviousID, r.Epoch, r.LastEpoch)
	default:
		refuse(perr.ProducerFenced, "")
	}
}

func (t *turn) initialize(c InitProducerID, producer, previous int64, epoch, last int16) {
	t.happen(ProducerInitialized{ID: c.ID, ProducerID: producer, PreviousID: previous, Epoch: epoch, LastEpoch: last, TimeoutMs: c.TimeoutMs, At: t.now.Wall})
	t.used()
	t.reply(Initialized{Ref: c.Ref, ProducerID: producer, Epoch: epoch})
}

// fence aborts the open transaction under an epoch that no producer has: whoever wrote in it cannot go on, unless it asks
// before a successor does.
func (t *turn) fence() {
	epoch := t.record.Epoch
	if epoch < math.MaxInt16 && bumpAtFence {
		epoch++
	}
	t.prepare(false, epoch, t.record.Epoch, -1)
}

func (t *turn) wait(w waiter) {
	w.until = t.now.Mono + holdNs
	if boundShards && len(t.waiters) >= maxWaiters {
		t.tell(t.waiters[0], perr.ConcurrentTransactions, "others wait for the same end")
		t.waiters = slices.Delete(t.waiters, 0, 1)
	}
	t.waiters = append(t.waiters, w)
}

// abortOpen ends what would keep a topic from being handed over.
func (s *State) abortOpen(c AbortOpen, now core.Now) outcome {
	var out outcome
	if !abortOpenAtHandover {
		return out
	}
	first := int64(0)
	producers := producerSet(c.Producers)
	for _, id := range s.ids() {
		r := s.txns[id]
		if r.phase() != Ongoing || !producers[r.ProducerID] ||
			!slices.ContainsFunc(r.Partitions, func(p PartitionRecord) bool { return p.Topic == c.Topic }) {
			continue
		}
		t := s.begin(id, now)
		t.fence()
		t.finish()
		first = t.join(&out, first)
	}
	s.arm(&out, first)
	return out
}
