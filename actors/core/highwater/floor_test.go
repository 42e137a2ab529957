package highwater

import (
	"testing"
	"time"

	"lockstep/actors/core"
)

func TestFollowersCountOnlyInTheCurrentMirrorTerm(t *testing.T) { // R4, F05, V5
	b := mirror(t, 105)
	b.do(SourceAdopted{Term: 2, SourceEpoch: 10, LEO: 100, Truncated: true})
	b.term(1, 2, 101)
	b.term(2, 1, 105) // old bytes
	if f, _ := newest[PublishFloor](b); f.Floor != core.Unknown {
		t.Fatalf("floor %d of epoch %d counts a follower that has not truncated", f.Floor, f.SourceEpoch)
	}
	b.term(2, 2, 100)
	if f, _ := newest[PublishFloor](b); f.SourceEpoch != 10 || f.Floor != 100 {
		t.Fatalf("floor %d of epoch %d, want 100 of 10", f.Floor, f.SourceEpoch)
	}
}

func TestNoNewFloorUnderMinISRButReportsGoOn(t *testing.T) { // R5, F32
	b := mirror(t, 100)
	b.image(func(img *AppliedImage) {
		img.ISR, img.Mode, img.MinISR, img.Fenced = []core.ReplicaID{1}, Mirroring, 1, []core.ReplicaID{2}
		img.MirrorOf = MirrorOf{Mirror: "a", PinnedISR: 2, Reporting: true, Epoch: 7}
	})
	f, ok := in[PublishFloor](b)
	if !ok || f.ISRSize != 1 || f.MinISR != 2 || f.Floor != 100 {
		t.Fatalf("report %+v (%v), want size 1 of 2 and the old floor", f, ok)
	}
	if b.term(1, 1, 120); Describe(b.s).Floor != 100 {
		t.Fatalf("floor %d with one of two replicas in sync", Describe(b.s).Floor)
	}
	b.after(4 * time.Second)
	if f, ok = in[PublishFloor](b); !ok || f.Floor != 100 {
		t.Fatalf("the report is not repeated: %+v", b.effects)
	}
}

func TestFloorsAreRepeated(t *testing.T) { // D19
	b := mirror(t, 100)
	if b.after(200 * time.Millisecond); len(b.effects) > 0 {
		if _, ok := in[PublishFloor](b); ok {
			t.Fatal("repeated although nobody waits")
		}
	}
	b.do(TrackSourceHW{SourceEpoch: 9, HW: 0, Waits: true})
	for range 3 {
		b.after(100 * time.Millisecond)
		if f, ok := in[PublishFloor](b); !ok || f.Floor != 100 {
			t.Fatal("not repeated while the source has waiters")
		}
	}
	b.do(TrackSourceHW{SourceEpoch: 9, HW: 0})
	b.after(time.Duration(floorIdleRepeat))
	if _, ok := in[PublishFloor](b); !ok {
		t.Fatal("not repeated within a third of the lease")
	}
}

// A source that answered the Register only now must not wait for the idle repeat to arm, nor one that is told of
// other data, another mirror's source, or of a registration that begins.
func TestANewRegistrationIsToldTheFloorAtOnce(t *testing.T) {
	old := MirrorOf{Mirror: "a", PinnedISR: 2, Reporting: true, Epoch: 7}
	change := func(f func(*MirrorOf)) MirrorOf { of := old; f(&of); return of }
	for what, c := range map[string]struct{ from, to MirrorOf }{
		"registration epoch": {old, change(func(of *MirrorOf) { of.Epoch = 8 })},
		"data incarnation":   {old, change(func(of *MirrorOf) { of.Incarnation = core.Incarnation{1} })},
		"mirror":             {old, change(func(of *MirrorOf) { of.Mirror = "b" })},
		"reporting":          {change(func(of *MirrorOf) { of.Reporting = false }), old},
		"nothing":            {old, old},
	} {
		b := mirror(t, 100)
		image := func(epoch int32, of MirrorOf) {
			b.image(func(img *AppliedImage) {
				img.ISR, img.Mode, img.MinISR, img.PartitionEpoch = []core.ReplicaID{1, 2}, Mirroring, 1, epoch
				img.MirrorOf = of
			})
		}
		image(1, c.from)
		image(1, c.to)
		f, ok := in[PublishFloor](b)
		if ok == (what == "nothing") || ok && (f.Epoch != c.to.Epoch || f.Floor != 100) {
			t.Errorf("%s changes: report %+v (%v)", what, f, ok)
		}
	}
}

func TestAMirrorsHW(t *testing.T) { // R8, F09, I18
	b := mirror(t, 100)
	b.do(TrackSourceHW{SourceEpoch: 8, HW: 60}).wantHW(0) // G10: an epoch we do not stand under
	b.do(TrackSourceHW{SourceEpoch: 9, HW: 60}).wantHW(60)
	b.do(TrackSourceHW{SourceEpoch: 9, HW: 140}).wantHW(100) // not beyond our own ISR
	b.term(1, 1, 150).wantHW(100)
	b.term(2, 1, 130).wantHW(130)
	b.do(SourceAdopted{Term: 2, SourceEpoch: 10, LEO: 130})
	b.term(1, 2, 150).term(2, 2, 150).wantHW(130) // nothing stated in epoch 10 yet
	b.do(TrackSourceHW{SourceEpoch: 10, HW: 90}).wantHW(130)
}

func TestStoppingShowsWhatTheSourceMayHaveAcknowledged(t *testing.T) { // R8
	b := mirror(t, 100)
	b.do(TrackSourceHW{SourceEpoch: 9, HW: 60}).wantHW(60)
	b.mirrorImage(1) // under its min ISR of 2
	b.image(func(img *AppliedImage) {
		img.ISR, img.Mode, img.MinISR, img.PartitionEpoch = []core.ReplicaID{1}, Stopping, 2, 9
	})
	b.wantHW(100)
	// The raised epoch, and then our own ISR.
	b.do(LeaderStarted{Epoch: 1024, EpochStart: 110, LEO: 110, HW: 60, Self: self, Mode: Stopping, Replicas: []core.ReplicaID{1, 2, 3}}).wantHW(100)
	b.image(func(img *AppliedImage) { img.ISR, img.Mode, img.PartitionEpoch = []core.ReplicaID{1, 2}, Stopping, 10 })
	b.report(1, 112).report(2, 111).wantHW(111)
}

// After a restart in the middle of STOPPING nobody knows the floors; what every electable replica holds
// of the mirrored log covers them.
func TestStoppingAfterARestartUnderMinISR(t *testing.T) { // R8
	b := newBench(t)
	b.do(LeaderStarted{Epoch: 1025, EpochStart: 110, LEO: 110, HW: 60, Self: self, Mode: Stopping, Replicas: []core.ReplicaID{1, 2}})
	b.image(func(img *AppliedImage) { img.ISR, img.Mode, img.MinISR = []core.ReplicaID{1}, Stopping, 2 })
	b.report(1, 115).wantHW(110)
}

// A mirror with a short claim lease would be shown as unconfirmed between two idle repeats (C4, D19).
func TestAnIdleFloorIsRepeatedThreeTimesInTheLease(t *testing.T) {
	b := mirror(t, 100)
	lease := 900 * time.Millisecond
	b.image(func(img *AppliedImage) {
		img.Mode, img.ISR = Mirroring, []core.ReplicaID{1, 2}
		img.MirrorOf = MirrorOf{Mirror: "a", PinnedISR: 2, Reporting: true, RepeatNs: int64(lease / 3)}
	})
	for range 3 {
		b.after(lease / 3)
		if _, ok := in[PublishFloor](b); !ok {
			t.Fatal("not repeated within a third of the lease")
		}
	}
}
