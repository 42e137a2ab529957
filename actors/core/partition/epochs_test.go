package partition

import (
	"testing"

	"lockstep/actors/core"
)

func TestOffsetForLeaderEpoch(t *testing.T) { // E01
	v := View{IsLeader: true, Epoch: 9, LEO: 50, Epochs: []EpochStart{{2, 10}, {3, 20}, {6, 40}}}
	follower := v
	follower.IsLeader = false
	cases := []struct {
		name  string
		v     View
		asked core.LeaderEpoch
		epoch core.LeaderEpoch
		end   core.Offset
	}{
		{"known", v, 2, 2, 20},
		{"known, before a gap in numbers", v, 3, 3, 40},
		{"in a gap", v, 5, 3, 40},
		{"newest of the log", v, 6, 6, 50},
		{"current, nothing appended yet", v, 9, 9, 50},
		{"above current", v, 10, core.NoEpoch, core.Unknown},
		{"below all known", v, 1, 1, 10},
		{"none", v, core.NoEpoch, core.NoEpoch, core.Unknown},
		{"a follower knows what its log says", follower, 7, core.NoEpoch, core.Unknown},
		{"an empty log", View{IsLeader: true, Epoch: 4}, 4, 4, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if epoch, end := EndOffsetForEpoch(c.v, c.asked); epoch != c.epoch || end != c.end {
				t.Fatalf("(%d, %d), want (%d, %d)", epoch, end, c.epoch, c.end)
			}
		})
	}
}
