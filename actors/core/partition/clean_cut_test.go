package partition

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// copies is a follower that has copied three batches, all of them committed.
func copies(t *testing.T) *bench {
	b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, LEO: 0, Tail: 40})
	return b.do(Replicate{From: 2, Epoch: 5, Term: 1, HW: 9, Batches: []batch.Batch{
		client(9, 0, 0, 3).Stamped(0, 4), client(9, 0, 3, 3).Stamped(3, 4), client(9, 0, 6, 3).Stamped(6, 4),
	}})
}

// A record goes because a newer one of its key is there. Where that one is cut, as after an unclean election, the older one is
// the newest, and whoever copied the log before it was compacted has it.
func TestACutBelowWhatWasCompactedTakesTheWholeLog(t *testing.T) { // F52
	for name, c := range map[string]struct {
		of   CleanBatches
		back func(*bench) *bench
	}{
		"in a pass":          {CleanBatches{}, func(b *bench) *bench { return b }},
		"after it":           {CleanBatches{Done: true, To: 9, Horizon: -1}, func(b *bench) *bench { return b }},
		"of before a crash":  {CleanBatches{}, (*bench).restarted},
		"after it, replayed": {CleanBatches{Done: true, To: 9, Horizon: -1}, (*bench).restarted},
		"as a snapshot says": {CleanBatches{}, func(b *bench) *bench { r := newBench(t); r.s = restored(t, b.s); return r }},
	} {
		b := copies(t)
		b.pass()
		some, err := client(9, 0, 0, 3).Stamped(0, 4).Keeping(func(r batch.Record) bool { return r.Offset > 0 }, -1)
		if err != nil || some.IsNothing() {
			t.Fatal(err)
		}
		if c.of.Batches = []batch.Batch{some}; !b.clean(c.of) {
			t.Fatal("refused")
		}
		b = c.back(b)
		b.do(Follow{Epoch: 6, Leader: 3})
		b.do(AlignTo{From: 3, Epoch: 6, Term: 1, EndEpoch: 4, EndOffset: 6})
		if b.s.leo != 0 || b.s.cleaned != 0 {
			t.Errorf("%s: cut to %d", name, b.s.leo)
		}
	}
	b := copies(t)
	b.pass()
	if !b.clean(CleanBatches{Done: true, To: 9, Horizon: -1}) {
		t.Fatal("refused")
	}
	b.do(Follow{Epoch: 6, Leader: 3})
	if b.do(AlignTo{From: 3, Epoch: 6, Term: 1, EndEpoch: 4, EndOffset: 6}); b.s.leo != 6 {
		t.Errorf("a pass that took nothing away: cut to %d", b.s.leo)
	}
}

// The end of a log that was never committed may go with a cut: what was the newest batch of a producer then is again.
func TestTheNewestCommittedBatchOfAProducerStays(t *testing.T) { // T06
	b := leader(t).produce(9, 0, 0, 2).begun(8, 0, 0).mark(8, 0, true).commit().produce(9, 0, 2, 3).begun(8, 0, 1)
	p := b.pass()
	if p.Limit != 4 || p.Newest[9].Data != 1 || p.Newest[8].Data != 2 || p.Newest[8].Marker != 3 {
		t.Fatalf("%+v", p)
	}
	b.commit()
	if p := b.pass(); p.Limit != 7 || p.Newest[9].Data != 6 || p.Newest[8].Data != 7 || p.Newest[8].Marker != core.Unknown {
		t.Fatalf("%+v", p)
	}
}

// Readers who are told of fewer aborted transactions must not be given the records of before from the cache.
func TestTheCacheForgetsBeforeTheViewDoes(t *testing.T) { // R02
	b := leader(t).begun(9, 0, 0).mark(9, 0, false).produce(8, 0, 0, 3).commit()
	b.pass()
	if !b.clean(CleanBatches{Batches: []batch.Batch{batch.Nothing(0, 1, 5)}}) {
		t.Fatal("refused")
	}
	dropped := core.Offset(0)
	for _, e := range b.late {
		switch e := e.(type) {
		case DropCacheHead:
			dropped = e.Below
		case PublishView:
			if dropped != 2 {
				t.Fatalf("the cache is kept from %d on, and the view says %+v", dropped, e.View.Txns)
			}
			return
		}
	}
	t.Fatalf("%+v", b.late)
}
