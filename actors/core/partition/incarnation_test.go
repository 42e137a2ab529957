package partition

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
)

// A source that was restored from an older copy leads under the epoch that is adopted already. It is adopted anew, in a
// mirror term of its own, and only once: the floors that follow name the new run.
func TestTheSameEpochOfAnotherRunIsAdoptedAnew(t *testing.T) { // R3, R4
	again := AdoptSource{Session: 1, SourceEpoch: 7, SourceIncarnation: core.Incarnation{2}, EndEpoch: 7, EndOffset: 2, LastUnclean: core.NoEpoch, Stated: true}
	b := mirrored(t, 7, 7).do(again)
	if a := b.answer(); a.Outcome != MirrorOK || b.s.leo != 2 {
		t.Fatalf("%+v", a)
	}
	if c, ok := told[highwater.SourceAdopted](b); !ok || c.Term != 2 || c.SourceEpoch != 7 || c.SourceIncarnation != (core.Incarnation{2}) || c.Truncated {
		t.Fatalf("the HW actor was told %+v (%v)", c, ok)
	}
	if v := Describe(b.s); v.Adopted != 7 || v.AdoptedIncarnation != (core.Incarnation{2}) {
		t.Fatalf("the view shows epoch %d of run %s", v.Adopted, v.AdoptedIncarnation)
	}
	if kept, err := restore(b.s.ID, snapshot(b.s)); err != nil || kept.adopted != 7 || kept.adoptedOf != (core.Incarnation{2}) {
		t.Fatalf("a restart knows run %+v (%v)", kept.adoptedOf, err)
	}
	b.do(again)
	if _, twice := told[highwater.SourceAdopted](b); twice || b.answer().Outcome != MirrorOK {
		t.Fatal("the same answer began another term")
	}
	late := AppendMirrored{Session: 1, SourceEpoch: 7, SourceIncarnation: core.Incarnation{1}, Batches: []batch.Batch{record(9).Stamped(2, 7)}}
	if b.do(late); b.answer().Outcome != MirrorStale || b.s.leo != 2 {
		t.Fatalf("an answer of the run before was appended: %+v", b.answer())
	}
	late.SourceIncarnation = core.Incarnation{2}
	if b.do(late); b.answer().Outcome != MirrorOK || b.s.leo != 3 {
		t.Fatalf("an answer of the adopted run: %+v", b.answer())
	}
}

// A restored source that is shorter than what was mirrored from the run before keeps nobody's records from us.
func TestAShorterRunOfTheSameEpochDiverges(t *testing.T) { // R11
	b := mirrored(t, 7, 7).do(AdoptSource{Session: 1, SourceEpoch: 7, SourceIncarnation: core.Incarnation{2}, EndEpoch: 7, EndOffset: 1, LastUnclean: core.NoEpoch, Stated: true})
	if b.answer().Outcome != MirrorDiverged || b.s.leo != 2 || b.s.adoptedOf != (core.Incarnation{}) {
		t.Fatalf("%+v, LEO %d, run %s", b.answer(), b.s.leo, b.s.adoptedOf)
	}
}

// Whoever becomes the leader after this one knows which run its log stands under.
func TestAFollowerLearnsTheRunWithTheEpoch(t *testing.T) { // R11
	b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, Adopted: 7, Under: 7, AdoptedIncarnation: core.Incarnation{1}})
	if b.s.adopted != 7 || b.s.adoptedOf != (core.Incarnation{1}) {
		t.Fatalf("aligned under epoch %d of run %s", b.s.adopted, b.s.adoptedOf)
	}
	b.do(Replicate{From: 2, Epoch: 5, Term: 1, Adopted: core.NoEpoch, SourceHW: core.Unknown}) // read from the journal
	if b.s.adoptedOf != (core.Incarnation{1}) {
		t.Fatalf("a read of the journal changed the run to %s", b.s.adoptedOf)
	}
	b.do(Replicate{From: 2, Epoch: 5, Term: 1, Adopted: 7, AdoptedIncarnation: core.Incarnation{2}, SourceHW: core.Unknown})
	if b.s.adopted != 7 || b.s.adoptedOf != (core.Incarnation{2}) {
		t.Fatalf("followed to epoch %d of run %s", b.s.adopted, b.s.adoptedOf)
	}
}

// The cut of an adoption was durable at one replica only when the cluster crashed, and one that has the old log leads. What
// the other takes from it was not mirrored under the epoch it had adopted: when it leads next, the source has it cut again.
func TestAFollowerStandsUnderWhatItsLeaderStandsUnder(t *testing.T) { // R3, R11
	b := mirrored(t, 6)
	if b.s.adopted != 7 {
		t.Fatalf("adopted %d", b.s.adopted)
	}
	b.do(Follow{Epoch: 101, Leader: 2})
	b.do(Aligned{From: 2, Epoch: 101, Term: 1, LastEpoch: 6, LEO: 1, Behind: true, Tail: 2, Adopted: core.NoEpoch, Under: 6})
	b.do(Replicate{From: 2, Epoch: 101, Term: 1, Batches: []batch.Batch{record(2).Stamped(1, 6)}, Adopted: core.NoEpoch, SourceHW: core.Unknown})
	if b.s.leo != 2 {
		t.Fatalf("LEO %d", b.s.leo)
	}
	b.do(Lead{Epoch: 102, Role: Mirroring, Mirror: "dr", Session: 2, Replicas: []core.ReplicaID{1, 2}})
	b.do(AdoptSource{Session: 2, SourceEpoch: 7, EndEpoch: 6, EndOffset: 1, LastUnclean: core.NoEpoch, Stated: true})
	if q, ok := effect[QuarantineRange](b); !ok || q.From != 1 {
		t.Fatalf("the source's cut is not followed: %+v", b.late)
	}
}
