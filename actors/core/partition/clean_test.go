package partition

import (
	"bytes"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// pass begins a pass of compaction.
func (b *bench) pass() CleaningPrepared {
	b.t.Helper()
	p, ok := effect[CleaningPrepared](b.do(PrepareCleaning{Ref: 80}))
	if !ok || p.OK && p.Pass != 80 {
		b.t.Fatalf("%+v", p)
	}
	return p
}

// clean says whether batches of the pass were taken.
func (b *bench) clean(c CleanBatches) bool {
	b.t.Helper()
	c.Ref, c.Pass = 81, 80
	a, ok := effect[BatchesCleaned](b.do(c))
	if !ok || a.OK == (a.Text != "") {
		b.t.Fatalf("%+v", a)
	}
	return a.OK
}

func TestWhatIsCommittedIsCleaned(t *testing.T) { // F52
	b := leader(t).produce(9, 0, 0, 2).produce(9, 0, 2, 3).commit().produce(9, 0, 5, 1)
	if p := b.pass(); !p.OK || p.Limit != 5 || p.Cleaned != 0 || p.Newest[9].Data != 4 || p.Newest[9].Marker != core.Unknown {
		t.Fatalf("%+v", p)
	}
	for _, wrong := range []CleanBatches{
		{Batches: []batch.Batch{batch.Nothing(0, 5, 5)}},
		{Batches: []batch.Batch{batch.Nothing(2, 4, 5), batch.Nothing(0, 1, 5)}},
		{Done: true, To: 6},
	} {
		if b.clean(wrong) || len(b.events) != 0 {
			t.Fatalf("%+v: %+v", wrong, b.events)
		}
	}
	if !b.clean(CleanBatches{Batches: []batch.Batch{batch.Nothing(0, 1, 5)}, Horizon: -1}) {
		t.Fatal("refused")
	}
	if last := b.entries[len(b.entries)-1]; last.Op != core.IndexReplace || last.Base != 0 || last.Last != 1 || last.Epoch != 5 || len(last.Payload) != batch.HeaderLen {
		t.Fatalf("journaled %+v", last)
	}
	if !b.clean(CleanBatches{Done: true, To: 5, Horizon: 900}) {
		t.Fatal("refused")
	}
	if d, ok := effect[DropCacheHead](b); !ok || d.Below != 5 {
		t.Fatalf("%+v", b.late)
	}
	if b.clean(CleanBatches{Batches: []batch.Batch{batch.Nothing(0, 1, 5)}}) {
		t.Fatal("the pass is over")
	}
	for name, s := range map[string]*State{"replayed": b.restarted().s, "restored": restored(t, b.s)} {
		v := Describe(s)
		if v.Cleaned != 5 || v.Horizon != 900 || v.LEO != 6 || s.emptied != 5 || len(s.producers[9]) != 3 || !slices.Equal(v.Epochs, []EpochStart{{5, 0}}) {
			t.Fatalf("%s: %+v, emptied %d", name, v, s.emptied)
		}
	}
}

func restored(t *testing.T, s *State) *State {
	t.Helper()
	snap := snapshot(s)
	again, err := restore(s.ID, snap)
	if err != nil || !bytes.Equal(snapshot(again), snap) {
		t.Fatal(err)
	}
	return again
}

// What a pass is about to write stands for records that it has read: it ends when they may be others.
func TestAPassEndsWithACutAndWithTheSeat(t *testing.T) { // F52
	follower := func() *bench {
		b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
		b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, LEO: 0, Tail: 40})
		b.do(Replicate{From: 2, Epoch: 5, Term: 1, Batches: []batch.Batch{client(9, 0, 0, 3).Stamped(0, 4), client(9, 0, 3, 3).Stamped(3, 5)}, HW: 6})
		if p := b.pass(); !p.OK || p.Limit != 6 {
			t.Fatalf("%+v", p)
		}
		return b
	}
	one := CleanBatches{Batches: []batch.Batch{batch.Nothing(3, 5, 5)}}
	for name, b := range map[string]*bench{
		"a cut":          follower().do(AlignTo{From: 2, Epoch: 5, Term: 2, EndEpoch: 4, EndOffset: 3}),
		"another leader": follower().do(Follow{Epoch: 6, Leader: 3}),
		"the lead":       follower().do(Lead{Epoch: 6, Role: Writable, Replicas: []core.ReplicaID{1, 2}}),
		"a log that begins anew": follower().do(Follow{Epoch: 6, Leader: 2}).
			do(Aligned{From: 2, Epoch: 6, Term: 1, LastEpoch: 5, LEO: 6, Tail: 40, HW: 30, LogStart: 21}),
	} {
		if b.clean(one) {
			t.Errorf("%s: the pass goes on", name)
		}
	}
	if b := follower(); !b.clean(one) {
		t.Error("a pass that nothing ended has ended")
	}
	if p := newBench(t).pass(); p.OK {
		t.Error("who has no seat knows no HW")
	}
}

func TestACutInsideOfWhatWasEmptiedTakesTheWholeLog(t *testing.T) { // F52
	b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, LEO: 0, Tail: 40})
	b.do(Replicate{From: 2, Epoch: 5, Term: 1, Batches: []batch.Batch{batch.Nothing(0, 5, 4), client(9, 0, 0, 3).Stamped(6, 4)}, HW: 9})
	b.do(AlignTo{From: 2, Epoch: 5, Term: 2, EndEpoch: 4, EndOffset: 7})
	if b.s.leo != 7 {
		t.Fatalf("cut to %d", b.s.leo)
	}
	b.do(AlignTo{From: 2, Epoch: 5, Term: 3, EndEpoch: 4, EndOffset: 4})
	if b.s.leo != 0 || b.s.emptied != 0 {
		t.Fatalf("cut to %d: the batch at 0 reaches over 4", b.s.leo)
	}
}

// A leader puts together what has become empty while a follower is in the middle of it.
func TestAFollowerTakesTheRestOfWhatIsEmpty(t *testing.T) { // R03
	b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, LEO: 0, Tail: 40})
	b.do(Replicate{From: 2, Epoch: 5, Term: 1, Batches: []batch.Batch{client(9, 0, 0, 3).Stamped(0, 4)}, HW: 3})
	more := Replicate{From: 2, Epoch: 5, Term: 1, Batches: []batch.Batch{batch.Nothing(0, 9, 4), client(9, 0, 3, 1).Stamped(10, 5)}, HW: 11}
	for range 2 {
		b.do(more)
		if v := Describe(b.s); v.LEO != 11 || v.HW != 11 || !slices.Equal(v.Epochs, []EpochStart{{4, 0}, {5, 10}}) {
			t.Fatalf("%+v", v)
		}
	}
	if e := b.entries[len(b.entries)-2]; e.Op != core.IndexAdd || e.Base != 3 || e.Last != 9 {
		t.Fatalf("journaled %+v", e)
	}
	if v := Describe(b.restarted().s); v.LEO != 11 {
		t.Fatalf("after a restart %+v", v)
	}
}

// Consumers skip what a producer wrote from the first offset of an aborted transaction on, until they meet its marker.
func TestAnAbortedTransactionGoesWithItsMarker(t *testing.T) { // R02
	b := leader(t).begun(9, 0, 0).mark(9, 0, false).begun(9, 0, 1).mark(9, 0, true).begun(8, 0, 0).mark(8, 0, false).commit()
	if p := b.pass(); len(p.Aborted) != 2 || p.Newest[9].Data != 2 || p.Newest[9].Marker != 3 {
		t.Fatalf("%+v", p)
	}
	before := b.s.txns
	if !b.clean(CleanBatches{Batches: []batch.Batch{batch.Nothing(0, 1, 5)}}) {
		t.Fatal("refused")
	}
	if v, ok := effect[PublishView](b); !ok || len(v.View.Txns.Aborted) != 1 || v.View.Txns.Aborted[0].ProducerID != 8 || len(before.Aborted) != 2 {
		t.Fatalf("the view says %+v", v.View.Txns)
	}
	if got := b.restarted().s.txns.AbortedIn(0, 10); len(got) != 1 || b.s.txns.LSO(6) != 6 {
		t.Fatalf("after a restart %+v", got)
	}
}
