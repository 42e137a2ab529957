package partition

import (
	"testing"

	"lockstep/actors/core"
)

func woken(b *bench) (refs []core.RequestID) {
	for _, f := range b.late {
		if w, ok := f.(WakeFetch); ok {
			refs = append(refs, w.Ref)
		}
	}
	return refs
}

func TestWhatWakesALongPoll(t *testing.T) { // F05 of the field reports
	hw, leo := ParkFetch{Ref: 91, Until: PositionHW, Beyond: 0}, ParkFetch{Ref: 92, Until: PositionLEO, Beyond: 0}
	cases := []struct {
		name string
		cmd  Command
		want []core.RequestID
	}{
		{"an append wakes mirrors", AppendBatch{Ref: 1, Batch: client(-1, -1, -1, 1), Acks: -1}, []core.RequestID{92}},
		{"HW wakes consumers", Advanced{Epoch: 5, HW: 1, Shown: true}, []core.RequestID{91, 92}},
		{"a new leader wakes all", Follow{Epoch: 6, Leader: 2}, []core.RequestID{91, 92}},
		{"a new role wakes all", Lead{Epoch: 5, Role: Mirroring, Replicas: []core.ReplicaID{1, 2}}, []core.RequestID{91, 92}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := leader(t).do(hw).do(leo)
			if got := woken(b); got != nil {
				t.Fatalf("woken at once: %v", got)
			}
			if _, ok := c.cmd.(Advanced); ok {
				b.produce(-1, -1, -1, 1)
				b.do(leo) // asked again
				if got := woken(b); len(got) != 1 {
					t.Fatalf("not answered although the position is passed: %v", got)
				}
				c.want = []core.RequestID{91}
			}
			b.do(c.cmd)
			if got := woken(b); len(got) != len(c.want) || got[0] != c.want[0] {
				t.Fatalf("woke %v, want %v", got, c.want)
			}
			if b.do(UnparkFetch{Ref: 91}).do(c.cmd); len(woken(b)) > 1 {
				t.Fatalf("woken twice: %v", woken(b))
			}
		})
	}
}

func TestATruncationWakesWhoWaitsBeyondTheEnd(t *testing.T) {
	b := mirrored(t, 6, 7).do(ParkFetch{Ref: 91, Until: PositionLEO, Beyond: 2})
	b.do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 6, EndOffset: 1, LastUnclean: core.NoEpoch, Stated: true})
	b.do(Quarantined{Session: 1, From: 1, To: 2})
	if got := woken(b); len(got) != 1 {
		t.Fatalf("woke %v", got)
	}
}

func TestAViewShowsReleasedFactsOnly(t *testing.T) { // KIP-207, L09
	b := leader(t).produce(-1, -1, -1, 2)
	v, _ := effect[PublishView](b)
	if got := v.View; got.LEO != 2 || got.HW != 0 || got.LSO != 0 || !got.IsLeader || !got.Confirms || got.Epoch != 5 {
		t.Fatalf("%+v", got)
	}
	b.do(Lead{Epoch: 6, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
	if v, _ = effect[PublishView](b); v.View.Confirms {
		t.Fatal("a new leader confirms offsets before its HW has passed its epoch's start")
	}
	b.do(Advanced{Epoch: 6, HW: 2})
	if v, _ = effect[PublishView](b); v.View.Confirms {
		t.Fatal("confirms an HW that nobody may see yet")
	}
	b.do(Shown{Epoch: 6, HW: 2})
	if v, _ = effect[PublishView](b); !v.View.Confirms || v.View.HW != 2 {
		t.Fatalf("%+v", v.View)
	}
}

func TestHWAfterARestartIsWhatTheLogNoted(t *testing.T) {
	b := leader(t).produce(-1, -1, -1, 1).do(Advanced{Epoch: 5, HW: 1}).produce(-1, -1, -1, 1)
	if got := Describe(b.restarted().s).HW; got != 1 {
		t.Fatalf("HW %d, want 1", got)
	}
}

func TestProducerIDsAreFoundByPrefix(t *testing.T) { // C13
	b := leader(t)
	for _, id := range []int64{3<<32 | 7, 3<<32 | 9, 4<<32 | 1} {
		b.produce(id, 0, 0, 1)
	}
	if got := HighestProducerIDs(b.s); len(got) != 2 || got[3] != 3<<32|9 || got[4] != 4<<32|1 {
		t.Fatalf("%v", got)
	}
}
