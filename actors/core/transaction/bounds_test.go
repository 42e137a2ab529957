package transaction

import (
	"fmt"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
	"lockstep/testkit/decoding"
)

// Every turn of an id looks at all that its transaction has and at all who wait: groups cost a client their names, and
// ends asked for again cost it nothing.
func TestWhatOneTransactionHoldsIsBounded(t *testing.T) {
	w := newWorld(t)
	p := w.init("a")
	add := func(group string) perr.Code {
		ref := w.next()
		w.do(AddPartitions{Ref: ref, ID: p.id, ProducerID: p.pid, Epoch: p.epoch, Groups: []string{group}})
		a, _ := reply[PartitionsAnswered](w, ref)
		return a.Code
	}
	for i := range maxGroups {
		if code := add(fmt.Sprint("g", i)); code != 0 {
			t.Fatalf("group %d: %v", i, code)
		}
	}
	if code := add("one more"); code != perr.TransactionAbortable {
		t.Errorf("beyond the bound: %v", code)
	}
	if code := add("g0"); code != 0 {
		t.Errorf("a group that is there: %v", code)
	}
	var refs []core.RequestID
	for range 3 * maxWaiters {
		refs = append(refs, w.next())
		w.do(EndTxn{Ref: refs[len(refs)-1], ID: p.id, ProducerID: p.pid, Epoch: p.epoch, Commit: true, Fresh: -1})
	}
	if n := len(w.s.live[p.id].waiters); n > maxWaiters {
		t.Errorf("%d wait", n)
	}
	w.settle(MarkerCommitted)
	for i, ref := range refs {
		want := perr.ConcurrentTransactions
		if i >= len(refs)-maxWaiters {
			want = perr.None
		}
		if code := w.code(ref); code != want {
			t.Errorf("end %d of %d: %v", i, len(refs), code)
		}
	}
	if code := add("one more"); code != 0 {
		t.Errorf("in the next transaction: %v", code)
	}
}

// A transaction has as many partitions as the cluster: adding one, and ending in one, is a step that looks at no other.
func TestEachOfManyPartitionsTakesOneStep(t *testing.T) {
	const n, each = 2_000, 4 << 10
	s := Machine().Init("")
	do := func(cmd Command) []Effect {
		out := Machine().Decide(s, core.Now{Mono: ms, Wall: 1}, cmd)
		for _, ev := range out.Events {
			Machine().Apply(s, ev)
		}
		return out.Late
	}
	do(Resume{Settings: DefaultSettings()})
	do(InitProducerID{ID: "a", Fresh: 1, TimeoutMs: 60_000, ExpectedID: -1, ExpectedEpoch: -1})
	adding := decoding.Allocated(func() {
		for i := range int32(n) {
			do(AddPartitions{ID: "a", ProducerID: 1, Partitions: []PartitionRecord{part(0, i)}})
		}
	})
	orders := do(EndTxn{ID: "a", ProducerID: 1, Commit: true})
	ending := decoding.Allocated(func() {
		for _, e := range orders {
			do(answerTo(e, MarkerAgain))
			do(answerTo(e, MarkerCommitted))
		}
	})
	if len(orders) != n || s.txns["a"].phase() != CompleteCommit || adding > n*each || ending > n*each {
		t.Fatalf("%d partitions, %s: adding took %d bytes, ending %d", len(orders), s.txns["a"].phase(), adding, ending)
	}
}
