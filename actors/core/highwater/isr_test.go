package highwater

import (
	"slices"
	"testing"
	"time"

	"lockstep/actors/core"
)

func proposed(b *bench) []core.ReplicaID {
	p, _ := in[ProposeISR](b)
	return p.ISR
}

// Kafka's clause at a source: at HW and at the epoch's start.
func TestASourceAdmitsAtHWAndEpochStart(t *testing.T) { // R5
	b := newBench(t)
	b.do(LeaderStarted{Epoch: epoch, EpochStart: 50, LEO: 50, HW: 40, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	b.image(func(img *AppliedImage) { img.ISR, img.MinISR = []core.ReplicaID{1, 2}, 1 })
	b.report(1, 60).report(2, 60).wantHW(60)
	if b.report(3, 55); proposed(b) != nil {
		t.Fatal("admitted below HW")
	}
	if b.report(3, 60); !slices.Equal(proposed(b), []core.ReplicaID{1, 2, 3}) {
		t.Fatalf("proposed %v, want 3 to join", proposed(b))
	}
}

// At a mirror HW is behind what the source has acknowledged because of our floors, so only R counts.
func TestAMirrorAdmitsOnlyAboveItsFloors(t *testing.T) { // R5, F06, V4, Z3
	b := mirror(t, 90) // ISR 1, 2; HW 0
	b.term(1, 1, 95).term(3, 1, 88)
	b.term(1, 1, 100).term(2, 1, 100)
	if f, _ := newest[PublishFloor](b); f.Floor != 100 {
		t.Fatalf("floor %d, want 100", f.Floor)
	}
	// It has what the leader had at its last report, so it is caught up, and it is far above HW.
	if b.term(3, 1, 95); proposed(b) != nil {
		t.Fatalf("proposed %v: replica 3 lacks what we told the source we have", proposed(b))
	}
	if b.term(3, 1, 100); !slices.Equal(proposed(b), []core.ReplicaID{1, 2, 3}) {
		t.Fatalf("proposed %v, want 3 to join at the floor", proposed(b))
	}
}

func TestFloorMarkSurvivesANewSourceEpoch(t *testing.T) { // R5, P4
	b := mirror(t, 100)
	b.do(SourceAdopted{Term: 2, SourceEpoch: 10, LEO: 100})
	b.term(1, 2, 100).term(2, 2, 100)
	if b.term(3, 2, 95); proposed(b) != nil {
		t.Fatalf("proposed %v: floor 100 of the older epoch is still what the source acknowledged by", proposed(b))
	}
	b.do(SourceAdopted{Term: 3, SourceEpoch: 11, LEO: 90, Truncated: true})
	if got := Describe(b.s).R; got != 90 {
		t.Fatalf("R is %d after a recorded truncation to 90", got)
	}
}

func TestFloorMarkOfANewLeaderIsItsEnd(t *testing.T) { // R5, P5, Z4
	b := newBench(t)
	b.do(LeaderStarted{Epoch: epoch, EpochStart: 0, LEO: 100, Self: self, Mode: Mirroring, Replicas: []core.ReplicaID{1, 2}})
	b.mirrorImage(1)
	if b.do(ReportReplica{Replica: 2, Epoch: epoch, LEO: 95}); proposed(b) != nil {
		t.Fatalf("proposed %v below the new leader's own end", proposed(b))
	}
	if c, _ := newest[ChangeAdmission](b); c.R != 100 {
		t.Fatalf("the partition was told R %d, want 100", c.R)
	}
}

func TestAReplicaOnItsWayInHoldsTheFloor(t *testing.T) { // R5
	b := mirror(t, 100)
	b.term(3, 1, 60) // had nothing when the leader had 0, so it counts as caught up then
	b.after(11 * time.Second)
	b.term(1, 1, 110).term(2, 1, 110)
	if got := Describe(b.s).Floor; got != 110 {
		t.Fatalf("floor %d: a replica far behind holds it", got)
	}
	b.term(3, 1, 102)
	b.term(1, 1, 115).term(2, 1, 115)
	b.term(3, 1, 112) // has what the leader had at its last report: caught up, 3 short of the floor
	if got := Describe(b.s).Floor; got != 115 {
		t.Fatalf("floor %d, want 115", got)
	}
	if b.term(1, 1, 120).term(2, 1, 120); Describe(b.s).Floor != 115 {
		t.Fatalf("floor %d ran away from a replica on its way in", Describe(b.s).Floor)
	}
}

// Under load a joiner is always a little behind a moving floor: it holds the floor until it is in.
func TestAJoinerUnderLoadGetsIn(t *testing.T) { // R5
	b := mirror(t, 100)
	b.term(3, 1, 40)
	leo, behind := core.Offset(100), core.Offset(40)
	for range 200 {
		if behind = min(behind+15, leo); proposed(b.term(3, 1, behind)) != nil {
			return
		}
		leo += 10
		b.after(100 * time.Millisecond)
		b.term(1, 1, leo).term(2, 1, leo)
	}
	t.Fatalf("replica 3 at %d never joined behind floor %d", behind, Describe(b.s).Floor)
}

func TestAdditionsCountBeforeTheyAreCommitted(t *testing.T) { // R5, F58, Z2
	b := mirror(t, 100)
	b.term(3, 1, 100).term(1, 1, 120)
	b.after(11 * time.Second) // replica 3 is not caught up any more, but proposed
	b.term(2, 1, 120)
	if got := Describe(b.s).Floor; got != 100 {
		t.Fatalf("floor %d, but replica 3 may have been made electable at 100", got)
	}
}

func TestRemovalsCountOnlyWhenCommitted(t *testing.T) { // R5, F58, Z1
	b := mirror(t, 100)
	b.term(1, 1, 120)
	b.after(11 * time.Second)
	if got := proposed(b); !slices.Equal(got, []core.ReplicaID{1}) {
		t.Fatalf("proposed %v, want to remove the late replica 2", got)
	}
	if b.term(1, 1, 130); Describe(b.s).Floor != 100 {
		t.Fatalf("floor %d, but replica 2 may still be elected", Describe(b.s).Floor)
	}
	b.image(func(img *AppliedImage) {
		img.ISR, img.Mode, img.PartitionEpoch, img.MinISR = []core.ReplicaID{1}, Mirroring, 50, 1
		img.MirrorOf = MirrorOf{Mirror: "a", PinnedISR: 1, Reporting: true, Epoch: 7}
	})
	if got := Describe(b.s).Floor; got != 130 {
		t.Fatalf("floor %d after the removal was committed, want 130", got)
	}
}

func TestShrinkFollowsKafkasCaughtUpRule(t *testing.T) {
	t.Run("an idle follower is not late when the first record comes", func(t *testing.T) {
		b := source(t, 10).after(time.Hour)
		if b.report(1, 11); proposed(b) != nil {
			t.Fatalf("proposed %v at once", proposed(b))
		}
		if b.after(9 * time.Second); proposed(b) != nil {
			t.Fatalf("proposed %v within the lag time", proposed(b))
		}
		if b.after(2 * time.Second); !slices.Equal(proposed(b), []core.ReplicaID{1}) {
			t.Fatalf("proposed %v, want both late followers out", proposed(b))
		}
	})
	t.Run("a follower that always has what the leader had at its last report stays", func(t *testing.T) {
		b := source(t, 0)
		for leo := core.Offset(10); leo < 500; leo += 10 {
			b.now.Mono += int64(time.Second)
			b.report(1, leo).report(2, leo-10).report(3, leo-10)
			if proposed(b) != nil {
				t.Fatalf("proposed %v under steady load", proposed(b))
			}
		}
	})
}

func TestAJoinerThatIsRefusedDoesNotHoldEverybody(t *testing.T) {
	b := source(t, 10)
	b.image(func(img *AppliedImage) { img.ISR, img.PartitionEpoch, img.MinISR = []core.ReplicaID{1, 2}, 3, 2 })
	if got := proposed(b); !slices.Equal(got, []core.ReplicaID{1, 2, 3}) {
		t.Fatalf("proposed %v", got)
	}
	b.do(ISRRefused{PartitionEpoch: 3})
	b.report(1, 20).report(2, 20).wantHW(20)
}
