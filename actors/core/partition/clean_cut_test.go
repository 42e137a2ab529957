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

// Whoever is in sync may be cut where its new leader ends, in the middle of what it has copied and HW has not passed. What is
// committed below stays: others count on it, and it may have to lead.
func TestACutGoesAroundAnEmptyBatchAboveHW(t *testing.T) { // R5
	ahead := func() *bench {
		b := copies(t) // 0 to 8, committed
		return b.do(Replicate{From: 2, Epoch: 5, Term: 1, HW: 9, Batches: []batch.Batch{
			batch.Nothing(9, 19, 4), client(9, 0, 9, 3).Stamped(20, 4), batch.Nothing(23, 29, 4), client(9, 0, 12, 1).Stamped(30, 4),
		}})
	}
	for to, want := range map[core.Offset]core.Offset{31: 31, 30: 30, 27: 23, 23: 23, 20: 20, 19: 9, 10: 9, 9: 9} {
		for name, back := range map[string]func(*bench) *bench{
			"at once":            func(b *bench) *bench { return b },
			"replayed":           (*bench).restarted,
			"as a snapshot says": func(b *bench) *bench { r := newBench(t); r.s = restored(t, b.s); return r },
		} {
			b := back(ahead())
			b.do(Follow{Epoch: 6, Leader: 3})
			b.do(AlignTo{From: 3, Epoch: 6, Term: 1, EndEpoch: 4, EndOffset: to})
			if b.s.leo != want || b.s.hw != 9 {
				t.Errorf("%s: a cut at %d goes to %d, want %d; HW %d", name, to, b.s.leo, want, b.s.hw)
			}
		}
	}
	b := ahead().do(Replicate{From: 2, Epoch: 5, Term: 1, HW: 31}).do(Replicate{From: 2, Epoch: 5, Term: 1, HW: 31, Batches: []batch.Batch{client(9, 0, 13, 1).Stamped(31, 4)}})
	b.do(Follow{Epoch: 6, Leader: 3})
	if b.do(AlignTo{From: 3, Epoch: 6, Term: 1, EndEpoch: 4, EndOffset: 27}); b.s.leo != 0 {
		t.Errorf("who loses what is committed begins anew: cut to %d", b.s.leo)
	}
}

func TestEmptyBatchesAboveHWAreBounded(t *testing.T) { // I61
	b := copies(t)
	for at := int64(9); at < 9+3*mostEmpties; at += 2 {
		b.do(Replicate{From: 2, Epoch: 5, Term: 1, HW: 9, Batches: []batch.Batch{batch.Nothing(at, at, 4), client(-1, -1, -1, 1).Stamped(at+1, 4)}})
	}
	if n := len(b.s.empties); n != mostEmpties || b.s.emptied == 0 || b.s.emptied > b.s.empties[0].Base {
		t.Fatalf("%d are listed, above %d", n, b.s.emptied)
	}
}
