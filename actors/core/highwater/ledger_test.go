package highwater

import (
	"slices"
	"testing"
	"time"

	"lockstep/actors/core"
)

func durable[T Event](b *bench) (found []T) {
	for _, ev := range b.events {
		if x, ok := ev.(T); ok {
			found = append(found, x)
		}
	}
	return found
}

// The entry that opens a stamp is on disk before the first ack under it; later acks do not wait (D3).
func TestTheFirstAckOfAStampIsLate(t *testing.T) {
	s := New("ledger/t/0")
	now := core.Now{Mono: 1}
	do := func(cmd Command) core.Outcome[Event, Effect] {
		out := Decide(s, now, cmd)
		for _, ev := range out.Events {
			Apply(s, ev)
		}
		return out
	}
	early := func(out core.Outcome[Event, Effect]) bool {
		return slices.ContainsFunc(out.Early, func(f Effect) bool { _, ok := f.(Advance); return ok })
	}
	late := func(out core.Outcome[Event, Effect]) bool {
		return slices.ContainsFunc(out.Late, func(f Effect) bool { _, ok := f.(Advance); return ok })
	}
	do(LeaderStarted{Epoch: 1, Self: 1, Replicas: []core.ReplicaID{1}})
	do(AppliedImage{Epoch: 1, ISR: []core.ReplicaID{1}, MinISR: 1, Version: 1})
	if out := do(ReportReplica{Replica: 1, Epoch: 1, LEO: 5}); !late(out) || early(out) {
		t.Fatalf("before the stamp is on disk: %+v", out)
	}
	do(StampDurable{Number: 1})
	out := do(ReportReplica{Replica: 1, Epoch: 1, LEO: 6})
	if !early(out) || late(out) {
		t.Fatalf("with the stamp on disk: %+v", out)
	}
	// Readers wait for what the ack does not wait for: a crash of everything may take the entry (I14).
	if slices.ContainsFunc(out.Early, func(f Effect) bool { a, ok := f.(Advance); return ok && a.Shown }) ||
		!slices.Contains(out.Late, Effect(Show{Epoch: 1, HW: 6})) {
		t.Fatalf("shown before its entry is on disk: %+v", out)
	}
	do(AppliedImage{Epoch: 1, ISR: []core.ReplicaID{1}, MinISR: 1, Version: 2, Released: []core.MirrorKey{mirrorA}})
	do(StampDurable{Number: 1}) // of the older stamp
	if out := do(ReportReplica{Replica: 1, Epoch: 1, LEO: 7}); !late(out) {
		t.Fatalf("a new stamp: %+v", out)
	}
}

func TestTheLedgerSaysWhoHadIt(t *testing.T) { // D3
	b := source(t, 0, gateOf(mirrorB), gateOf(mirrorA))
	b.report(1, 10).report(2, 11).report(3, 12).floor(mirrorA, 9)
	b.floor(mirrorB, 8)
	got := durable[HighWatermarkAdvanced](b)
	if len(got) != 1 {
		t.Fatalf("%d entries for one move", len(got))
	}
	e := got[0]
	if e.From != 0 || e.To != 8 || e.LeaderEpoch != epoch || e.Mode != ledgerSync || e.WallMs != b.now.Wall ||
		!slices.Equal(e.Replicas, []LedgerReplica{{1, 10}, {2, 11}, {3, 12}}) ||
		!slices.Equal(e.Gates, []LedgerGate{{"dc2", "a", 1, 9, classProven}, {"dc3", "b", 1, 8, classProven}}) {
		t.Fatalf("entry %+v", e)
	}
	modes := []int8{}
	for _, img := range []func(*AppliedImage){
		func(img *AppliedImage) { img.Released = []core.MirrorKey{mirrorA, mirrorB} },
		func(img *AppliedImage) {},
	} {
		b.image(img)
		for _, s := range durable[StampOpened](b) {
			modes = append(modes, s.Mode)
		}
	}
	if !slices.Equal(modes, []int8{ledgerReleased, ledgerLocal}) {
		t.Fatalf("stamps %v, want RELEASED then LOCAL", modes)
	}
}

func TestAHoleInTheLedgerIsOnRecord(t *testing.T) { // C4 end, D3
	b := source(t, 10).wantHW(10)
	b.do(LeaderStarted{Epoch: epoch + 1, EpochStart: 30, LEO: 30, HW: 25, Self: self, Replicas: []core.ReplicaID{1}})
	if got := durable[LedgerGap](b); len(got) != 1 || got[0].From != 10 || got[0].To != 25 {
		t.Fatalf("gaps %+v, want [10, 25)", got)
	}
}

func TestWeakAcksAreOnRecord(t *testing.T) { // R13, F26
	b := source(t, 10, gateOf(mirrorA))
	weak := func(from core.Offset) *bench {
		return b.do(WeakAcked{Epoch: epoch, From: from, To: from + 1, Acks: 1, Client: "billing"})
	}
	if got := durable[WeakAcksGranted](weak(10)); len(got) != 1 || got[0].Client != "billing" {
		t.Fatalf("the first weak ack left %+v", got)
	}
	if got := durable[WeakAcksGranted](weak(11)); got != nil {
		t.Fatalf("an entry per batch: %+v", got)
	}
	weak(12)
	if got := durable[WeakAcksGranted](b.after(time.Second)); len(got) != 1 || got[0].From != 11 || got[0].To != 13 || got[0].Batches != 2 {
		t.Fatalf("after a second: %+v", got)
	}
	if got := Describe(b.s).Weak; len(got) != 1 || got[0].Batches != 3 {
		t.Fatalf("describe shows %+v", got)
	}
}

// With lockstep.ledger=strict no ack leaves before the entry that releases it is on disk (D3).
func TestAStrictLedgerIsAheadOfItsAcks(t *testing.T) {
	b := source(t, 10)
	strict := func(on bool) {
		b.image(func(img *AppliedImage) { img.StrictLedger = on })
	}
	for _, on := range []bool{true, false} {
		strict(on)
		end := b.s.leo() + 1
		b.await(1, end)
		for r := core.ReplicaID(1); r <= 3; r++ {
			b.report(r, end)
		}
		early := slices.ContainsFunc(b.early, func(f Effect) bool { _, ok := f.(Advance); return ok })
		if !b.confirmed()[1] || early == on {
			t.Fatalf("strict %v: confirmed %v, before its entry is on disk: %v", on, b.confirmed(), early)
		}
	}
}

// R14: an acknowledgement that rests on a page cache, here or at the mirror, says so in the ledger.
func TestTheLedgerSaysWhatIsNotOnDisk(t *testing.T) {
	class := func(b *bench) int8 {
		t.Helper()
		moved := durable[HighWatermarkAdvanced](b)
		if len(moved) == 0 || len(moved[len(moved)-1].Gates) != 1 {
			t.Fatalf("HW did not move: %+v", b.events)
		}
		return moved[len(moved)-1].Gates[0].Class
	}
	b := source(t, 10, gateOf(mirrorA))
	f := healthy(mirrorA, 5)
	if b.do(f).wantHW(5); class(b) != classProven {
		t.Errorf("both on disk: class %d", class(b))
	}
	f = healthy(mirrorA, 7)
	f.Unsynced, f.Seq = true, f.Seq+1
	if b.do(f).wantHW(7); class(b) != classUnsynced {
		t.Errorf("the mirror is not: class %d", class(b))
	}
	b = source(t, 10, gateOf(mirrorA))
	b.image(func(img *AppliedImage) { img.Unsynced, img.Gates = true, []Gate{gateOf(mirrorA)} })
	if b.floor(mirrorA, 9); class(b) != classUnsynced {
		t.Errorf("we are not: class %d", class(b))
	}
}
