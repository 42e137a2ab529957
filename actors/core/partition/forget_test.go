package partition

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// known lists the producers that a replica remembers.
func (b *bench) known() string { return fmt.Sprint(slices.Sorted(maps.Keys(b.s.producers))) }

// T05: who was idle for long is forgotten, also after a restart; a retry of what is remembered is a duplicate as before.
func TestIdleProducersAreForgotten(t *testing.T) {
	b := leader(t).produce(9, 0, 0, 2).produce(10, 0, 0, 1).produce(11, 0, 0, 1).commit().produce(12, 0, 0, 1)
	for _, nothing := range []ForgetProducers{{Epoch: 4, Before: 3}, {Epoch: 5, Before: 1}, {Epoch: 5, Before: -1}} {
		if b.do(nothing); len(b.events) != 0 || b.known() != "[9 10 11 12]" {
			t.Fatalf("%+v: %+v, knows %s", nothing, b.events, b.known())
		}
	}
	if b.do(ForgetProducers{Epoch: 5, Before: 3}); b.known() != "[11 12]" {
		t.Fatalf("knows %s", b.known())
	}
	if v, _ := effect[PublishView](b); v.View.Forgotten != 3 {
		t.Fatalf("the view says %+v", v.View)
	}
	if b.do(ForgetProducers{Epoch: 5, Before: 3}); len(b.events) != 0 {
		t.Fatalf("once more: %+v", b.events)
	}
	if b.do(ForgetProducers{Epoch: 5, Before: 99}); b.known() != "[12]" {
		t.Fatalf("what is not committed is not forgotten: knows %s", b.known())
	}
	if r := b.restarted(); r.known() != "[12]" {
		t.Fatalf("after a restart: %s", r.known())
	}
	leads := func() *bench {
		return b.do(Lead{Epoch: 6, Role: Writable, Replicas: []core.ReplicaID{1, 2}}).commit()
	}
	if leads().produce(9, 0, 7, 1); b.refusal() != 0 || b.s.leo != 6 {
		t.Fatalf("who was forgotten begins anywhere: %v", b.refusal())
	}
	if b.produce(12, 0, 0, 1); b.refusal() != 0 || b.s.leo != 6 {
		t.Fatalf("a retry of who is remembered: %v, LEO %d", b.refusal(), b.s.leo)
	}
}

// T05: an open transaction is never forgotten, nor the highest id that was handed out.
func TestWhoIsNotForgotten(t *testing.T) {
	b := leader(t).begun(8, 0, 0).produce(9, 0, 0, 1).begun(7, 0, 0).mark(7, 0, true).commit().produce(3<<32|9, 0, 0, 1).commit()
	b.do(ForgetProducers{Epoch: 5, Before: b.s.leo})
	if got, want := b.known(), fmt.Sprint([]int64{8, 9, 3<<32 | 9}); got != want {
		t.Fatalf("knows %s, want %s", got, want)
	}
	if b.begun(8, 0, 5); b.refusal() != perr.OutOfOrderSequenceNumber {
		t.Fatalf("a gap in an open transaction: %v", b.refusal())
	}
	b.mark(8, 0, true).commit().do(ForgetProducers{Epoch: 5, Before: 4})
	if got, want := b.known(), fmt.Sprint([]int64{8, 9, 3<<32 | 9}); got != want {
		t.Fatalf("once it has ended it is as old as its end: knows %s, want %s", got, want)
	}
	if b.produce(9, 0, 1, 1).commit().do(ForgetProducers{Epoch: 5, Before: b.s.leo - 1}); b.known() != fmt.Sprint([]int64{9, 3<<32 | 9}) {
		t.Fatalf("knows %s", b.known())
	}
}

func TestFollowersForgetWithTheirLeader(t *testing.T) { // T05
	w, one, two := pair(t)
	for id := int64(1); id <= 5; id++ {
		one.tell(AppendBatch{Ref: core.RequestID(id), Batch: client(id, 0, 0, 1), Acks: -1, Deadline: w.now.Mono + int64(time.Minute)})
	}
	w.settle(w.src)
	before := len(two.part.producers)
	one.tell(ForgetProducers{Epoch: one.view.Epoch, Before: 5})
	w.settle(w.src)
	if a, b := len(one.part.producers), len(two.part.producers); a != b || a >= before {
		t.Fatalf("of %d producers the leader knows %d, the follower %d", before, a, b)
	}
	b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, Tail: 2})
	push := Replicate{From: 2, Epoch: 5, Term: 1, HW: 1, Forgotten: 2,
		Batches: []batch.Batch{client(9, 0, 0, 1).Stamped(0, 4), client(10, 0, 0, 1).Stamped(1, 4)}}
	if b.do(push); b.known() != "[9 10]" {
		t.Fatalf("before HW is there: knows %s", b.known())
	}
	if b.do(Replicate{From: 2, Epoch: 5, Term: 1, HW: 2, Forgotten: 2}); b.known() != "[10]" {
		t.Fatalf("with HW there: knows %s", b.known())
	}
}

// A mirror forgets what its source has forgotten, once it has committed as much, and nothing by itself: after a failover a
// retry finds what it would have found at the source.
func TestAMirrorForgetsWithItsSource(t *testing.T) { // T05
	b := mirrored(t)
	var list []batch.Batch
	for i := range int64(4) {
		list = append(list, client(20+i, 0, 0, 1).Stamped(i, 7))
	}
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: list, SourceHW: 4, SourceForgotten: 2})
	if b.known() != "[20 21 22 23]" {
		t.Fatalf("before HW is there: knows %s", b.known())
	}
	if b.do(Advanced{Epoch: 100, HW: 1, Shown: true}); b.known() != "[20 21 22 23]" {
		t.Fatalf("with HW 1: knows %s", b.known())
	}
	if b.do(Advanced{Epoch: 100, HW: 4, Shown: true}); b.known() != "[22 23]" {
		t.Fatalf("with HW 4: knows %s", b.known())
	}
	if b.do(ForgetProducers{Epoch: 100, Before: 4}); len(b.events) != 0 {
		t.Fatalf("by itself: %+v", b.events)
	}
	if b.do(AppendMirrored{Session: 1, SourceEpoch: 7, SourceHW: 4, SourceForgotten: 3}); b.known() != "[23]" {
		t.Fatalf("later: knows %s", b.known())
	}
}
