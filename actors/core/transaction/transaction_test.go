package transaction

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

const unanswered = perr.Code(-99)

// C12, F30: the answer to EndTxn is the word that the transaction is committed wherever it wrote.
func TestATransactionEndsWhenEveryMarkerIsCommitted(t *testing.T) {
	for _, commit := range []bool{true, false} {
		w := newWorld(t)
		p := w.init("a")
		if code := w.add(p, part(0, 0), part(1, 3)); code != 0 {
			t.Fatal(code)
		}
		ref := w.next()
		w.do(AddPartitions{Ref: ref, ID: "a", ProducerID: p.pid, Epoch: p.epoch, Groups: []string{"g"}})
		end := w.end(p, commit, false)
		if w.code(end) != unanswered || len(w.markers) != 3 {
			t.Fatalf("answered %v, orders %+v", w.code(end), w.markers)
		}
		for i, e := range w.markers {
			if w.code(end) != unanswered {
				t.Fatalf("answered after %d of 3", i)
			}
			if m, ok := e.(WriteMarker); ok && (m.Commit != commit || m.ProducerID != p.pid || m.Epoch != p.epoch) {
				t.Fatalf("%+v", m)
			}
			w.do(answerTo(e, MarkerCommitted))
		}
		want := CompleteAbort
		if commit {
			want = CompleteCommit
		}
		if w.code(end) != 0 || w.phase("a") != want {
			t.Fatalf("%v, %s", w.code(end), w.phase("a"))
		}
		if again := w.end(p, commit, false); w.code(again) != 0 {
			t.Fatalf("a retry: %v", w.code(again))
		}
		if other := w.end(p, !commit, false); w.code(other) != perr.InvalidTxnState {
			t.Fatalf("the other end: %v", w.code(other))
		}
	}
}

// T10: what was decided is finished, over lost leaders and restarts, and whoever asks meanwhile waits (T18, T24).
func TestMarkersAreWrittenUntilTheyStand(t *testing.T) {
	w := newWorld(t)
	p := w.init("a")
	w.add(p, part(0, 0), part(0, 1))
	first := w.end(p, true, false)
	w.do(answerTo(w.markers[0], MarkerCommitted))
	w.markers = w.markers[1:]
	w.settle(MarkerAgain)
	w.wait(retryMax / ms)
	if len(w.markers) != 1 {
		t.Fatalf("asked again for %+v", w.markers)
	}
	w.wait(9_000)
	if w.code(first) != perr.ConcurrentTransactions {
		t.Fatalf("the waiter was told %v", w.code(first))
	}
	if code := w.add(p, part(0, 2)); code != perr.ConcurrentTransactions {
		t.Fatalf("the next transaction: %v", code)
	}
	w.restart()
	if len(w.markers) != 2 {
		t.Fatalf("after a restart: %+v", w.markers)
	}
	again := w.end(p, true, false)
	old := answerTo(w.markers[0], MarkerCommitted)
	old.Epoch-- // of another transaction
	if w.do(old); w.code(again) != unanswered {
		t.Fatal("a late answer ended it")
	}
	w.settle(MarkerNowhere)
	if w.code(again) != 0 || w.phase("a") != CompleteCommit {
		t.Fatalf("%v, %s", w.code(again), w.phase("a"))
	}
}

// The table of KIP-890: with a bump at each end, the epoch tells a retry from the next request.
func TestEndsWithABump(t *testing.T) {
	w := newWorld(t)
	p := w.init("a")
	bumped := func(ref core.RequestID) producer {
		a, _ := reply[Ended](w, ref)
		return producer{"a", a.ProducerID, a.Epoch}
	}
	empty := w.end(p, true, true)
	if w.code(empty) != perr.InvalidTxnState {
		t.Fatalf("commit without a transaction: %v", w.code(empty))
	}
	abort := w.end(p, false, true)
	if w.code(abort) != 0 || bumped(abort) != (producer{"a", p.pid, p.epoch + 1}) { // T19
		t.Fatalf("abort without a transaction: %v %+v", w.code(abort), bumped(abort))
	}
	if retry := w.end(p, false, true); w.code(retry) != 0 || bumped(retry) != bumped(abort) {
		t.Fatalf("its retry: %v %+v", w.code(retry), bumped(retry))
	}
	if other := w.end(p, true, true); w.code(other) != perr.InvalidTxnState {
		t.Fatalf("commit in the same epoch: %v", w.code(other))
	}
	p = bumped(abort)
	w.add(p, part(0, 0))
	end := w.end(p, true, true)
	if m := w.markers[0].(WriteMarker); m.Epoch != p.epoch+1 {
		t.Fatalf("the marker must fence late batches: %+v", m)
	}
	retry := w.end(p, true, true)
	if wrong := w.end(p, false, true); w.code(wrong) != perr.InvalidTxnState {
		t.Fatalf("abort of what is decided: %v", w.code(wrong))
	}
	w.settle(MarkerCommitted)
	if w.code(end) != 0 || w.code(retry) != 0 || bumped(end) != bumped(retry) || bumped(end).epoch != p.epoch+1 {
		t.Fatalf("%v %+v, retry %v %+v", w.code(end), bumped(end), w.code(retry), bumped(retry))
	}
	late := w.end(p, true, true)
	if w.code(late) != 0 || bumped(late) != bumped(end) {
		t.Fatalf("a late retry: %v", w.code(late))
	}
	if next := w.end(bumped(end), true, true); w.code(next) != perr.InvalidTxnState {
		t.Fatalf("the next commit, without a transaction: %v", w.code(next))
	}
}

// T17: epochs are used up one by one, then another producer id follows, and a retry over that is still a retry.
func TestEpochsAreUsedUp(t *testing.T) {
	w := newWorld(t)
	p := w.init("a")
	w.s.txns["a"].Epoch = lastUsed
	p.epoch = lastUsed
	w.add(p, part(0, 0))
	end := w.end(p, true, true)
	if m := w.markers[0].(WriteMarker); m.Epoch != math.MaxInt16 || m.ProducerID != p.pid {
		t.Fatalf("%+v", m)
	}
	w.settle(MarkerCommitted)
	a, _ := reply[Ended](w, end)
	if a.Code != 0 || a.ProducerID == p.pid || a.Epoch != 0 {
		t.Fatalf("%+v", a)
	}
	again := w.end(p, true, true)
	if b, _ := reply[Ended](w, again); b.Code != 0 || b.ProducerID != a.ProducerID || b.Epoch != 0 {
		t.Fatalf("a retry: %+v", b)
	}
	w.s.txns["a"].Epoch = lastUsed
	p = producer{"a", a.ProducerID, lastUsed}
	w.add(p, part(0, 0))
	w.wait(60_000) // fenced by time, under the epoch that nobody has
	w.settle(MarkerCommitted)
	if end := w.end(p, false, true); w.code(end) != perr.ProducerFenced {
		got, _ := reply[Ended](w, end)
		t.Fatalf("it may go on with %+v", got)
	}
	if next := w.init("a"); next.pid == a.ProducerID || next.epoch != 0 {
		t.Fatalf("init with used up epochs: %+v", next)
	}
}

// T14: a transaction that takes too long is aborted, and its producer cannot write on.
func TestATransactionThatTakesTooLongIsAborted(t *testing.T) {
	w := newWorld(t)
	p := w.init("a")
	w.add(p, part(0, 0))
	w.wait(59_000)
	w.add(p, part(0, 1)) // does not prolong it
	if w.phase("a") != Ongoing {
		t.Fatal(w.phase("a"))
	}
	w.wait(1_000)
	if w.phase("a") != PrepareAbort || len(w.markers) != 2 || w.markers[0].(WriteMarker).Epoch != p.epoch+1 {
		t.Fatalf("%s, %+v", w.phase("a"), w.markers)
	}
	w.settle(MarkerCommitted)
	if code := w.add(p, part(0, 0)); code != perr.ProducerFenced {
		t.Fatalf("writes on: %v", code)
	}
	if end := w.end(p, true, false); w.code(end) != perr.ProducerFenced {
		t.Fatalf("commits: %v", w.code(end))
	}
	q := w.init("a")
	w.add(q, part(0, 0))
	w.restart()
	w.wait(60_000)
	if w.phase("a") != PrepareAbort {
		t.Fatalf("after a restart: %s", w.phase("a"))
	}
}

func TestTimeoutsAreBounded(t *testing.T) { // T21
	w := newWorld(t)
	for _, timeout := range []int32{0, -1, 900_001} {
		ref := w.next()
		w.do(InitProducerID{Ref: ref, ID: "a", TimeoutMs: timeout, ExpectedID: -1})
		if w.code(ref) != perr.InvalidTransactionTimeout {
			t.Errorf("%d: %v", timeout, w.code(ref))
		}
	}
	ref := w.next()
	w.do(InitProducerID{Ref: ref, TimeoutMs: 1, ExpectedID: -1})
	if w.code(ref) != perr.InvalidRequest {
		t.Errorf("an empty id: %v", w.code(ref))
	}
}

func TestUnusedIdsExpire(t *testing.T) { // T20
	w := newWorld(t)
	w.settings.ExpirationMs = 5_000
	w.do(Resume{Settings: w.settings})
	p, busy := w.init("a"), w.init("b")
	w.add(busy, part(0, 0))
	w.wait(4_000)
	w.add(p, part(0, 0))
	w.end(p, false, false)
	w.settle(MarkerCommitted)
	w.wait(4_999)
	if w.s.txns["a"] == nil {
		t.Fatal("forgotten before its time")
	}
	if w.wait(1); w.s.txns["a"] != nil || w.s.txns["b"] == nil || w.s.live["a"] != nil {
		t.Fatal("not forgotten, or an open one was")
	}
	if code := w.add(p, part(0, 0)); code != perr.InvalidProducerIdMapping {
		t.Fatal(code)
	}
	w.restart()
}

// KIP-890: whoever appends asks first; without the question nothing is added.
func TestVerifying(t *testing.T) {
	w := newWorld(t)
	p := w.init("a")
	w.add(p, part(0, 0))
	ref := w.next()
	w.do(AddPartitions{Ref: ref, ID: "a", ProducerID: p.pid, Epoch: p.epoch, Verify: true, Groups: []string{"g"},
		Partitions: []PartitionRecord{part(0, 0), part(0, 1), part(0, 1)}})
	if a, _ := reply[PartitionsAnswered](w, ref); a.Code != 0 || fmt.Sprint(a.Missing) != "[1 2]" || !a.NoGroup {
		t.Fatalf("%+v", a)
	}
	if len(w.s.txns["a"].Partitions) != 1 {
		t.Fatal("the question changed something")
	}
}

// C8: a topic's writes cannot move while transactions are open in it.
func TestWhatIsOpenWhenATopicMovesIsAborted(t *testing.T) {
	w := newWorld(t)
	here, elsewhere, foreign := w.init("here"), w.init("elsewhere"), w.init("foreign")
	w.add(here, part(1, 0))
	w.add(elsewhere, part(2, 0))
	w.add(foreign, part(1, 0))
	w.do(AbortOpen{Topic: core.TopicID{1}, Producers: []int64{here.pid, elsewhere.pid}})
	if w.phase("here") != PrepareAbort || w.phase("elsewhere") != Ongoing || w.phase("foreign") != Ongoing {
		t.Fatalf("%s %s %s", w.phase("here"), w.phase("elsewhere"), w.phase("foreign"))
	}
}

func TestShardsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.settings.MaxShardBytes = 64 << 10
	w.do(Resume{Settings: w.settings})
	p := w.init("a")
	full := false
	for i := range int32(10_000) {
		if code := w.add(p, part(0, i)); code != 0 {
			full = code == perr.CoordinatorLoadInProgress
			break
		}
	}
	ref := w.next()
	w.do(InitProducerID{Ref: ref, ID: strings.Repeat("b", 1000), TimeoutMs: 1000, ExpectedID: -1})
	if !full || w.code(ref) != perr.CoordinatorLoadInProgress || w.s.kept > w.settings.MaxShardBytes {
		t.Fatalf("full %v, a new id %v, %d bytes", full, w.code(ref), w.s.kept)
	}
	w.end(p, true, false)
	w.settle(MarkerCommitted)
	if w.init("b"); w.s.kept > 4096 {
		t.Fatalf("%d bytes are left", w.s.kept)
	}
}

func TestListsAndDescriptions(t *testing.T) {
	w := newWorld(t)
	a, b := w.init("a"), w.init("b")
	w.add(a, part(0, 0))
	w.wait(5_000)
	list := func(c ListTransactions) string {
		c.Ref = w.next()
		w.do(c)
		l, _ := reply[Listed](w, c.Ref)
		var out []string
		for _, x := range l.Txns {
			out = append(out, x.ID+" "+x.Phase.String())
		}
		return strings.Join(out, ",")
	}
	for want, c := range map[string]ListTransactions{
		"a Ongoing,b Empty": {LongerMs: -1},
		"a Ongoing":         {LongerMs: -1, States: []string{"ongoing"}},
		"b Empty":           {LongerMs: -1, Producers: []int64{b.pid}},
		"":                  {LongerMs: 5_000},
	} {
		if got := list(c); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
	ref := w.next()
	w.do(DescribeTransaction{Ref: ref, ID: "a"})
	if d, _ := reply[Described](w, ref); !d.Found || d.Txn.ProducerID != a.pid || len(d.Txn.Partitions) != 1 || d.Txn.StartMs != 1000 {
		t.Errorf("%+v", d)
	}
	ref = w.next()
	w.do(DescribeTransaction{Ref: ref, ID: "c"})
	if d, _ := reply[Described](w, ref); d.Found {
		t.Errorf("%+v", d)
	}
}
