package transaction

import (
	"fmt"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
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
