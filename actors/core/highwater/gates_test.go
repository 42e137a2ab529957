package highwater

import (
	"testing"
	"time"

	"lockstep/actors/core"
)

func TestAMirrorThatHasNotReportedBlocks(t *testing.T) { // R2, F01, V1
	b := source(t, 10, gateOf(mirrorA)).wantHW(0)
	b.floor(mirrorA, 10).wantHW(10)
}

func TestAnAcceptedFloorIsForgottenWith(t *testing.T) { // R2, F44, G8
	cases := map[string]func(*bench){
		"another registration": func(b *bench) {
			b.image(func(img *AppliedImage) { img.Gates = []Gate{{Key: mirrorA, Epoch: 2, MinISR: 2}} })
		},
		"another data incarnation": func(b *bench) {
			b.image(func(img *AppliedImage) {
				img.Gates = []Gate{{Key: mirrorA, Epoch: 1, MinISR: 2, Incarnation: core.Incarnation{1}}}
			})
		},
		"another leader epoch": func(b *bench) { // R3
			b.do(LeaderStarted{Epoch: epoch + 1, EpochStart: 10, LEO: 10, HW: 10, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
			b.image(func(img *AppliedImage) { img.Gates = []Gate{gateOf(mirrorA)} })
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			b := source(t, 10, gateOf(mirrorA)).floor(mirrorA, 10).wantHW(10)
			b.report(1, 12).report(2, 12).report(3, 12).floor(mirrorA, 12).wantHW(12)
			change(b)
			if p, _ := newest[PublishGates](b); len(p.Gates) != 1 || p.Gates[0].Floor != core.Unknown {
				t.Fatalf("gates %+v, want an unknown floor", p.Gates)
			}
			b.report(1, 15).report(2, 15).report(3, 15).wantHW(12)
		})
	}
}

func TestReportsThatCannotBeTrueChangeNothing(t *testing.T) { // R3, F03, F04, V2, I27
	cases := map[string]func(*ReportFloor){
		"older source epoch":  func(r *ReportFloor) { r.SourceEpoch = epoch - 1 },
		"future source epoch": func(r *ReportFloor) { r.SourceEpoch = epoch + 1 },
		"older registration":  func(r *ReportFloor) { r.Epoch = 0 },
		"another run of ours": func(r *ReportFloor) { r.SourceIncarnation = core.Incarnation{9} },
		"other incarnation":   func(r *ReportFloor) { r.Incarnation = core.Incarnation{9} },
		"other cluster":       func(r *ReportFloor) { r.Key.Cluster = "dc9" },
		"beyond our log":      func(r *ReportFloor) { r.Floor = 11 },
		"negative":            func(r *ReportFloor) { r.Floor = -2 },
		"empty ISR":           func(r *ReportFloor) { r.ISRSize = 0 },
		"no min ISR":          func(r *ReportFloor) { r.MinISR = 0 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			b := source(t, 10, gateOf(mirrorA))
			r := healthy(mirrorA, 10)
			change(&r)
			b.do(r).wantHW(0)
			b.floor(mirrorA, 10).wantHW(10)
		})
	}
}

func TestFloorsMayComeLateAndTwice(t *testing.T) { // R5, F07, V6
	b := source(t, 100, gateOf(mirrorA)).floor(mirrorA, 100).wantHW(100)
	b.report(1, 120).report(2, 120).report(3, 120)
	b.floor(mirrorA, 115).wantHW(115)
	b.floor(mirrorA, 95) // a late one
	b.report(1, 130)
	if p, _ := newest[PublishGates](b); p.Gates[0].Floor != 115 {
		t.Fatalf("floor %d, want the maximum 115", p.Gates[0].Floor)
	}
}

func TestGateStartIsTheLeadersEnd(t *testing.T) { // C2, G1
	b := source(t, 10, gateOf(mirrorA)) // HW 0, LEO 10
	b.image(func(img *AppliedImage) { img.Gates = []Gate{gateOf(mirrorA), gateOf(mirrorB)} })
	g, ok := in[GateApplied](b)
	if !ok || g.Key != mirrorB || g.GateStart != 10 {
		t.Fatalf("gate %+v (%v), want mirror b from 10", g, ok)
	}
	b.floor(mirrorB, 9)
	if p, _ := newest[PublishGates](b); p.Gates[1].Armed {
		t.Fatal("armed below the gate start")
	}
	b.floor(mirrorB, 10)
	if p, _ := newest[PublishGates](b); !p.Gates[1].Armed {
		t.Fatal("not armed at the gate start")
	}
}

func TestReleasingOneMirrorLeavesTheOtherGating(t *testing.T) { // I43
	b := source(t, 100, gateOf(mirrorA), gateOf(mirrorB)).await(1, 100).floor(mirrorB, 80).wantHW(0)
	b.image(func(img *AppliedImage) {
		img.Gates, img.Released = []Gate{gateOf(mirrorB)}, []core.MirrorKey{mirrorA}
	})
	b.wantHW(80)
	if b.confirmed()[1] {
		t.Fatal("acknowledged without the mirror that still gates")
	}
	b.floor(mirrorB, 100).wantHW(100)
	if !b.confirmed()[1] {
		t.Fatal("not acknowledged although both sides have it")
	}
}

// An election's registrations are known before anything is confirmed under it.
func TestNothingMovesBeforeTheElectionsImage(t *testing.T) { // C1, D9, G11
	b := newBench(t)
	b.do(LeaderStarted{Epoch: epoch, LEO: 0, Self: self, Replicas: []core.ReplicaID{1}})
	b.report(1, 10).await(1, 5).wantHW(0)
	b.do(AppliedImage{Epoch: epoch, ISR: []core.ReplicaID{1}, MinISR: 1, Version: 1}).wantHW(10)
}

// The image of an epoch that has not begun here waits; it is not looked at before (the refusal of a
// proposal made from it once cancelled the successor's own).
func TestAnImageAheadOfItsLeaderWaits(t *testing.T) {
	b := source(t, 10)
	b.do(AppliedImage{Epoch: epoch + 1, PartitionEpoch: 9, ISR: []core.ReplicaID{1}, MinISR: 1, Version: 99, Gates: []Gate{gateOf(mirrorA)}})
	if got := Describe(b.s).Maximal; len(got) != 3 {
		t.Fatalf("ISR %v taken from an epoch that has not begun", got)
	}
	b.do(LeaderStarted{Epoch: epoch + 1, EpochStart: 10, LEO: 10, HW: 10, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	if got := Describe(b.s); len(got.Maximal) != 1 || len(got.Gates.Gates) != 1 {
		t.Fatalf("the image that came first was lost: %+v", got)
	}
}

// A destination that died reports nothing, and HW does not move: neither is an occasion to say that its gate holds HW,
// and the alert on it stayed silent while producers timed out.
func TestAGateThatHoldsIsToldWithoutAReportOfIt(t *testing.T) {
	holds := func(b *bench) int64 {
		p, _ := newest[PublishGates](b)
		return p.Gates[0].HoldsSince
	}
	b := source(t, 10, gateOf(mirrorA)).floor(mirrorA, 10).wantHW(10)
	b.await(1, 11).report(1, 11).report(2, 11).report(3, 11)
	b.after(27 * time.Second)
	since := holds(b)
	if since == 0 {
		t.Fatal("the first producer has timed out, and no gate is said to hold HW")
	}
	told := len(b.all)
	if b.after(27 * time.Second); holds(b) != since || len(b.all) != told {
		t.Fatalf("told again, since %d and %d", since, holds(b))
	}
	if b.floor(mirrorA, 11).wantHW(11); holds(b) != 0 {
		t.Fatalf("holds since %d, and HW is at the local end", holds(b))
	}
}
