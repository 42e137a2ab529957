package highwater

import (
	"testing"

	"lockstep/actors/core"
)

// A source is restored from an older copy and leads under the very epoch that its mirror had adopted. It writes past the
// floor that was stated to the run before; that floor, repeated by the mirror or by the bus, must not acknowledge records
// of which nobody has a copy.
func TestAFloorStatedToAnotherRunOfTheSourceDoesNotCount(t *testing.T) { // R3
	for name, of := range map[string]core.Incarnation{"the run before": {1}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.do(LeaderStarted{Epoch: epoch, EpochStart: 40, LEO: 40, HW: 40, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
			b.image(func(img *AppliedImage) { img.Gates, img.Incarnation = []Gate{gateOf(mirrorA)}, core.Incarnation{2} })
			b.report(1, 120).report(2, 120).report(3, 120).await(1, 60)
			late := healthy(mirrorA, 100)
			late.SourceIncarnation = of
			b.do(late).wantHW(40)
			if b.confirmed()[1] {
				t.Fatal("acknowledged by a floor over other records")
			}
			if p, ok := newest[PublishGates](b); ok && len(p.Gates) == 1 && p.Gates[0].Floor != core.Unknown {
				t.Fatalf("evidence shows floor %d", p.Gates[0].Floor)
			}
			checked := healthy(mirrorA, 60) // after the divergence check, under this run
			checked.SourceIncarnation = core.Incarnation{2}
			b.do(checked).wantHW(60)
			if !b.confirmed()[1] {
				t.Fatal("not acknowledged although both sides have it")
			}
		})
	}
}

// The same epoch of another run is another lineage: what was stated of the one is not said of the other before every
// replica has reported in the new term, and a source HW of the one shows nothing of the other.
func TestAMirrorStatesItsFloorToTheRunItAdopted(t *testing.T) { // R3, R4
	b := mirror(t, 100)
	b.do(TrackSourceHW{SourceEpoch: 9, HW: 60}).wantHW(60)
	b.do(SourceAdopted{Term: 2, SourceEpoch: 9, SourceIncarnation: core.Incarnation{2}, LEO: 100})
	if f, ok := in[PublishFloor](b); ok && f.Floor != core.Unknown {
		t.Fatalf("floor %d before anybody reported in the term", f.Floor)
	}
	b.term(1, 2, 100).term(2, 2, 100)
	if f, ok := newest[PublishFloor](b); !ok || f.Floor != 100 || f.SourceEpoch != 9 || f.SourceIncarnation != (core.Incarnation{2}) {
		t.Fatalf("floor %+v (%v), want 100 under the adopted run", f, ok)
	}
	b.wantHW(60)
}
