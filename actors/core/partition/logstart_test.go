package partition

import (
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

func (b *bench) deleted() RecordsDeleted {
	b.t.Helper()
	r, ok := effect[RecordsDeleted](b)
	if !ok {
		b.t.Fatal("DeleteRecords was not answered")
	}
	return r
}

func TestWhatIsCommittedMayBeDeleted(t *testing.T) { // R09
	b := leader(t).produce(9, 0, 0, 2).produce(9, 0, 2, 3).commit().produce(9, 0, 5, 1)
	for _, beyond := range []core.Offset{6, 99, -2} {
		if r := b.do(DeleteRecords{Ref: 70, Before: beyond}).deleted(); r.Code != perr.OffsetOutOfRange || b.s.logStart != 0 {
			t.Fatalf("below %d, with HW 5: %+v", beyond, r)
		}
	}
	b.do(ParkFetch{Ref: 71, Until: PositionLEO, Beyond: 6})
	if r := b.do(DeleteRecords{Ref: 70, Before: 3}).deleted(); r.Code != 0 || r.LogStart != 3 {
		t.Fatalf("%+v", r)
	}
	if last := b.entries[len(b.entries)-1]; last.Op != core.IndexTrim || last.Base != 3 {
		t.Fatalf("journaled %+v", last)
	}
	if v, _ := effect[PublishView](b); v.View.LogStart != 3 || v.View.LEO != 6 {
		t.Fatalf("the view says %+v", v.View)
	}
	if r := b.do(DeleteRecords{Ref: 70, Before: 1}).deleted(); r.Code != 0 || r.LogStart != 3 || len(b.events) != 0 {
		t.Fatalf("below the log start: %+v with %+v", r, b.events)
	}
	if r := b.do(DeleteRecords{Ref: 70, Before: core.Unknown}).deleted(); r.LogStart != 5 {
		t.Fatalf("up to HW: %+v", r)
	}
	if v := Describe(b.restarted().s); v.LogStart != 5 || v.HW < 5 || v.LEO != 6 {
		t.Fatalf("after a restart %+v", v)
	}
}

// An ack does not wait for the ledger, and neither does who deletes what was acknowledged. HW stays at or above the log start
// all the same.
func TestWhatIsAcknowledgedMayBeDeletedAtOnce(t *testing.T) { // I14
	b := leader(t).produce(9, 0, 0, 2)
	b.do(Advanced{Epoch: 5, HW: 2, Confirmed: []core.RequestID{b.ref}})
	if r := b.do(DeleteRecords{Ref: 70, Before: 2}).deleted(); r.Code != 0 || r.LogStart != 2 {
		t.Fatalf("%+v", r)
	}
	if v, _ := effect[PublishView](b); v.View.HW != 2 || v.View.LSO != 2 {
		t.Fatalf("the view says %+v", v.View)
	}
	if v := Describe(b.restarted().s); v.LogStart != 2 || v.HW != 2 {
		t.Fatalf("after a restart %+v", v)
	}
}

// Retention was judged by a view: what is not committed stays, and so does the log of another epoch.
func TestWhatExpiresIsCommitted(t *testing.T) {
	b := leader(t).produce(9, 0, 0, 2).commit().produce(9, 0, 2, 3)
	if b.do(ExpireRecords{Epoch: 4, Before: 2, Reason: ReasonTime}); len(b.events) != 0 {
		t.Fatalf("of an older epoch: %+v", b.events)
	}
	b.do(ExpireRecords{Epoch: 5, Before: 5, Reason: ReasonTime})
	if v, _ := effect[PublishView](b); v.View.LogStart != 2 || b.events[0].(LogStartAdvanced).Reason != ReasonTime {
		t.Fatalf("%+v, view %+v", b.events, v.View)
	}
	if m := mirrored(t, 7, 7).do(Advanced{Epoch: 100, HW: 2, Shown: true}).do(ExpireRecords{Epoch: 100, Before: 1}); len(m.events) != 0 {
		t.Fatalf("a mirror follows its source, not its own retention: %+v", m.events)
	}
}

func TestOnlyWhoTakesWritesDeletes(t *testing.T) {
	fence := Fence{Number: 3, Code: perr.NotLeaderOrFollower, Text: "moves to dc2"}
	for name, c := range map[string]struct {
		b    *bench
		want perr.Code
	}{
		"a follower": {newBench(t).do(Follow{Epoch: 5, Leader: 2}), perr.NotLeaderOrFollower},
		"a mirror":   {mirrored(t, 7), perr.ReadOnlyTopic},
		"a fence":    {leader(t).do(Lead{Epoch: 5, Role: Writable, Replicas: []core.ReplicaID{1, 2}, Fence: fence}), perr.NotLeaderOrFollower},
	} {
		if r := c.b.do(DeleteRecords{Ref: 70, Before: core.Unknown}).deleted(); r.Code != c.want || len(c.b.events) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestFollowersDeleteWhatTheirLeaderDeleted(t *testing.T) { // F52
	w, one, two := pair(t)
	for id := int64(1); id <= 5; id++ {
		w.send(one, id)
	}
	w.settle(w.src)
	one.tell(DeleteRecords{Ref: 70, Before: 3})
	w.settle(w.src)
	if one.view.LogStart != 3 || two.view.LogStart != 3 || two.view.HW != 5 {
		t.Fatalf("the leader begins at %d, the follower at %d with HW %d", one.view.LogStart, two.view.LogStart, two.view.HW)
	}
	w.elect(w.src, 2, false)
	w.settle(w.src)
	w.send(two, 6)
	w.settle(w.src)
	wantSame(t, one, two, 6)
	if one.view.LogStart != 3 || two.view.LogStart != 3 {
		t.Fatalf("after an election %d and %d", one.view.LogStart, two.view.LogStart)
	}
}

// What a follower still reads may be deleted under it: then there is nothing between its end and the leader's log start
// that anybody could send. The first batch it gets may begin below, because records are deleted and batches are kept.
func TestAFollowerBelowTheLogStartBeginsAnew(t *testing.T) { // F52
	joined := func() *bench {
		b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
		b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, LEO: 0, Tail: 40})
		b.do(Replicate{From: 2, Epoch: 5, Term: 1, Batches: []batch.Batch{client(9, 0, 0, 3).Stamped(0, 4)}, HW: 3})
		if b.s.leo != 3 || len(b.s.producers) != 1 {
			t.Fatalf("LEO %d, producers %v", b.s.leo, b.s.producers)
		}
		return b
	}
	begun := map[string]*bench{
		"while it reads": joined().do(Replicate{From: 2, Epoch: 5, Term: 1, HW: 30, LogStart: 21}),
		"when it joins": joined().do(Follow{Epoch: 6, Leader: 2}).
			do(Aligned{From: 2, Epoch: 6, Term: 1, LastEpoch: 4, LEO: 3, Tail: 40, HW: 30, LogStart: 21}),
	}
	for name, b := range begun {
		if v := Describe(b.s); v.LogStart != 21 || v.LEO != 21 || v.HW != 21 || len(b.s.producers) != 0 {
			t.Fatalf("%s: view %+v, producers %v", name, v, b.s.producers)
		}
		if v := Describe(b.restarted().s); v.LogStart != 21 || v.HW != 21 {
			t.Fatalf("%s, after a restart: %+v", name, v)
		}
		b.do(Follow{Epoch: 7, Leader: 2}).do(Aligned{From: 2, Epoch: 7, Term: 1, LastEpoch: core.NoEpoch, LEO: 21, Tail: 40, HW: 30, LogStart: 21})
		straddles := client(9, 0, 20, 4).Stamped(20, 4)
		b.do(Replicate{From: 2, Epoch: 7, Term: 1, Batches: []batch.Batch{straddles}, HW: 30, LogStart: 21})
		if v := Describe(b.s); v.LogStart != 21 || v.LEO != 24 || v.HW != 24 {
			t.Fatalf("%s: %+v", name, v)
		}
		b.do(Replicate{From: 2, Epoch: 7, Term: 1, Batches: []batch.Batch{straddles}, HW: 30, LogStart: 21})
		if v := Describe(b.restarted().s); v.LogStart != 21 || v.LEO != 24 {
			t.Fatalf("%s, told twice: %+v", name, v)
		}
	}
}

// A leader of before has other batches where the new one deleted: one of them lies around the new log start, and cut there the
// log would end in the middle of a batch that is gone, with a hole behind its end.
func TestAFollowerThatDivergedBelowTheLogStartBeginsAnew(t *testing.T) { // F52
	one := leader(t).produce(9, 0, 0, 2).produce(9, 0, 2, 3).commit().do(DeleteRecords{Ref: 70, Before: 2})
	two := newBench(t)
	Apply(two.s, BatchAppended{Batch: record(0).Stamped(0, 4)})
	Apply(two.s, BatchAppended{Batch: client(9, 0, 1, 3).Stamped(1, 4)})
	sent := func(b *bench) Command {
		t.Helper()
		to, ok := effect[TellReplica](b)
		if !ok {
			t.Fatal("nothing was sent")
		}
		return to.Command
	}
	ask := sent(two.do(Follow{Epoch: 5, Leader: 1})).(JoinLeader)
	ask.From = 2
	cut := sent(one.do(ask)).(AlignTo)
	ask = sent(two.do(cut)).(JoinLeader)
	if v := Describe(two.s); v.LEO != 0 || v.LogStart != 0 {
		t.Fatalf("told %+v the follower has %+v", cut, v)
	}
	ask.From = 2
	two.do(sent(one.do(ask)))
	if v := Describe(two.s); v.LogStart != 2 || v.LEO != 2 || v.HW != 2 {
		t.Fatalf("%+v", v)
	}
}

// A mirror follows its source's log start as far as its own HW, which may come later; nothing states the start again.
func TestAMirrorDeletesWhatItsSourceDeleted(t *testing.T) { // F52
	b := mirrored(t, 5, 6, 7, 7)
	answer := AppendMirrored{Session: 1, SourceEpoch: 7, SourceHW: 4, SourceLogStart: 3}
	if b.do(answer); b.s.logStart != 0 {
		t.Fatalf("begins at %d with HW %d", b.s.logStart, b.s.hw)
	}
	if b.do(Advanced{Epoch: 100, HW: 2, Shown: true}); b.s.logStart != 2 {
		t.Fatalf("begins at %d with HW 2", b.s.logStart)
	}
	b.do(Advanced{Epoch: 100, HW: 4, Shown: true})
	if v, _ := effect[PublishView](b); v.View.LogStart != 3 || !slices.Equal(v.View.Epochs, []EpochStart{{7, 3}}) {
		t.Fatalf("view %+v", v.View)
	}
	answer.SourceLogStart = 2
	if b.do(answer); b.s.logStart != 3 {
		t.Fatal("a source that begins earlier gives nothing back")
	}
	// Of what was deleted, the source had committed all: R11 counts with it after a restart, too.
	b.restarted().do(Lead{Epoch: 101, Role: Mirroring, Session: 2, Replicas: []core.ReplicaID{1, 2}})
	b.do(AdoptSource{Session: 2, SourceEpoch: 9, EndEpoch: 5, EndOffset: 1, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorDiverged || b.s.leo != 4 {
		t.Fatalf("%+v, LEO %d", a, b.s.leo)
	}
}

func TestANewMirrorBeginsInsideABatch(t *testing.T) { // F52
	b := mirrored(t).do(AdoptSource{Session: 1, SourceEpoch: 7, EndEpoch: core.NoEpoch, SourceStart: 10, LastUnclean: core.NoEpoch, Stated: true})
	first, next := client(9, 0, 0, 5).Stamped(8, 6), client(9, 0, 5, 2).Stamped(13, 7)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{first, next}, SourceHW: 15, SourceLogStart: 10})
	if v := Describe(b.s); b.answer().Outcome != MirrorOK || v.LogStart != 10 || v.LEO != 15 || !slices.Equal(v.Epochs, []EpochStart{{6, 10}, {7, 13}}) {
		t.Fatalf("%+v, view %+v", b.answer(), v)
	}
	for _, wrong := range []batch.Batch{first, client(9, 0, 5, 2).Stamped(14, 7)} {
		b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{wrong}, SourceHW: 15, SourceLogStart: 10})
		if b.answer().Outcome != MirrorRejected || b.s.leo != 15 {
			t.Fatalf("a batch at %d: %+v", wrong.BaseOffset, b.answer())
		}
	}
}

// Everything of a log may be deleted, and its end is still known: a source that ends below it has lost records.
func TestAnEmptiedMirrorKnowsWhereItEnded(t *testing.T) { // R11, F52
	b := mirrored(t, 5, 7)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, SourceHW: 2, SourceLogStart: 2}).do(Advanced{Epoch: 100, HW: 2, Shown: true})
	if v := Describe(b.s); v.LogStart != 2 || v.LEO != 2 || !slices.Equal(v.Epochs, []EpochStart{{7, 2}}) {
		t.Fatalf("%+v", v)
	}
	b.do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 7, EndOffset: 1, SourceStart: 1, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorDiverged {
		t.Fatalf("the source ends at 1: %+v", a)
	}
	b.do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 7, EndOffset: 1, SourceStart: 1, LastUnclean: core.NoEpoch, Stated: true, Accept: true})
	if a := b.answer(); a.Outcome != MirrorOK || b.s.leo != 1 || b.s.logStart != 1 {
		t.Fatalf("accepted: %+v, LEO %d", a, b.s.leo)
	}
}

// Deleted batches are still what a retry repeats, and what a producer goes on from.
func TestProducersOutliveWhatTheyWrote(t *testing.T) { // T06
	b := leader(t).produce(9, 0, 0, 2).produce(9, 0, 2, 2).commit().do(DeleteRecords{Ref: 70, Before: core.Unknown})
	b.produce(9, 0, 2, 2).do(Advanced{Epoch: 5, HW: 4, Confirmed: []core.RequestID{b.ref}})
	if a, ok := effect[AckProduce](b); !ok || a.Base != 2 || b.s.leo != 4 {
		t.Fatalf("the retry of a deleted batch: %+v (%v), LEO %d", a, ok, b.s.leo)
	}
	if b.produce(9, 0, 7, 1); b.refusal() != perr.OutOfOrderSequenceNumber {
		t.Fatalf("a gap of sequences: %v", b.refusal())
	}
	if b.produce(9, 0, 4, 1); b.s.leo != 5 {
		t.Fatalf("the next batch: %v", b.refusal())
	}
}

// Half of a transaction may be deleted: readers wait for its end no longer than for the log start, and skip what is left of
// it when it aborts. Leader and follower come to the same, whichever happens first.
func TestTransactionsAcrossTheLogStart(t *testing.T) { // T09
	b := leader(t).begun(8, 0, 0).mark(8, 0, false).begun(9, 0, 0).produce(-1, -1, -1, 2).begun(9, 0, 1).commit()
	if b.lso() != 2 {
		t.Fatalf("LSO %d", b.lso())
	}
	b.do(ParkFetch{Ref: 71, Until: PositionLSO, Beyond: 2})
	b.do(DeleteRecords{Ref: 70, Before: 4})
	if _, woken := effect[WakeFetch](b); b.lso() != 4 || !woken || len(Describe(b.s).Txns.Aborted) != 0 {
		t.Fatalf("LSO %d, woken %v, aborted %+v", b.lso(), woken, Describe(b.s).Txns.Aborted)
	}
	b.mark(9, 0, false).commit()
	first := b.s.txns
	if b.lso() != 7 || !slices.Equal(first.AbortedIn(4, 7), []AbortedTxn{{ProducerID: 9, First: 4, Marker: 6, Stable: 7}}) {
		t.Fatalf("LSO %d, aborted %+v", b.lso(), first.Aborted)
	}
	b = leader(t).begun(8, 0, 0).mark(8, 0, false).begun(9, 0, 0).produce(-1, -1, -1, 2).begun(9, 0, 1).mark(9, 0, false).commit()
	b.do(DeleteRecords{Ref: 70, Before: 4})
	if !slices.Equal(b.s.txns.Aborted, first.Aborted) || !slices.Equal(b.s.txns.ended, first.ended) {
		t.Fatalf("%+v and %+v", b.s.txns, first)
	}
}

func TestEpochsBeginAtTheLogStart(t *testing.T) { // E01
	b := leader(t).produce(-1, -1, -1, 2).do(Lead{Epoch: 6, Replicas: []core.ReplicaID{1, 2}}).produce(-1, -1, -1, 2).commit()
	b.do(Lead{Epoch: 8, Replicas: []core.ReplicaID{1, 2}}).produce(-1, -1, -1, 1).commit()
	b.do(DeleteRecords{Ref: 70, Before: 3})
	v := Describe(b.s)
	if !slices.Equal(v.Epochs, []EpochStart{{6, 3}, {8, 4}}) {
		t.Fatalf("epochs %v", v.Epochs)
	}
	for asked, want := range map[core.LeaderEpoch]EpochStart{5: {5, 3}, 6: {6, 4}, 7: {6, 4}, 8: {8, 5}} {
		if epoch, end := EndOffsetForEpoch(v, asked); epoch != want.Epoch || end != want.Start {
			t.Errorf("epoch %d ends at %d in %d, want %+v", asked, end, epoch, want)
		}
	}
	if b.do(DeleteRecords{Ref: 70, Before: core.Unknown}); !slices.Equal(b.s.epochs, []EpochStart{{8, 5}}) {
		t.Fatalf("epochs of an emptied log %v", b.s.epochs)
	}
	if b.produce(-1, -1, -1, 1); !slices.Equal(b.s.epochs, []EpochStart{{8, 5}}) {
		t.Fatalf("epochs %v", b.s.epochs)
	}
}

// The tail of a leader that lost an election at the source was read past HW there, and what the source wrote in its place was
// deleted before we asked: nobody can tell that ours is another one, so it goes, too.
func TestWhatTheSourceDeletedBeforeItWasComparedIsNotCommitted(t *testing.T) { // R8
	b := mirrored(t, 7, 7, 7)
	b.do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 7, EndOffset: 3, SourceStart: 2, LastUnclean: core.NoEpoch, Stated: true})
	if b.answer().Outcome != MirrorOK || b.s.logStart != 2 || b.s.leo != 3 || b.s.hw != 2 {
		t.Fatalf("%+v; log from %d to %d, HW %d", b.answer(), b.s.logStart, b.s.leo, b.s.hw)
	}
}
