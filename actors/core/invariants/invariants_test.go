package invariants

import (
	"testing"

	"lockstep/actors/core"
)

func copyOf(replica string, batches ...Digest) Copy { return Copy{replica, batches} }

func TestInvariantsNoticeWhatBreaksThem(t *testing.T) {
	whole, short, other := copyOf("dc1/broker-1", 1, 2, 3), copyOf("dc2/broker-1", 1, 2), copyOf("dc2/broker-2", 1, 9, 3)
	for name, c := range map[string]struct {
		got  *Violation
		want string // "" = holds
	}{
		"acked on every replica":                       {AckedEverywhere(map[core.Offset]Digest{0: 1, 2: 3}, []Copy{whole, whole}), ""},
		"acked beyond the end of a replica":            {AckedEverywhere(map[core.Offset]Digest{2: 3}, []Copy{whole, short}), "I01: the acked record at offset 2 is not on dc2/broker-1, which may be elected and ends at 2"},
		"acked with other bytes on a replica":          {AckedEverywhere(map[core.Offset]Digest{1: 2}, []Copy{whole, other}), "I01: the acked record at offset 1 is not on dc2/broker-2, which may be elected and ends at 3"},
		"floor held by all":                            {FloorStable(2, []Digest{1, 2, 3}, []Copy{whole, short}), ""},
		"floor above a replica that was elected":       {FloorStable(3, []Digest{1, 2, 3}, []Copy{whole, short}), "I24: floor 3 was stated, but dc2/broker-1 does not hold the source's batch at offset 2"},
		"floor over bytes the source never had":        {FloorStable(2, []Digest{1, 2, 3}, []Copy{other}), "I24: floor 2 was stated, but dc2/broker-2 does not hold the source's batch at offset 1"},
		"floor above the source's own end":             {FloorStable(3, []Digest{1, 2}, []Copy{whole}), "I24: floor 3 was stated, but dc1/broker-1 does not hold the source's batch at offset 2"},
		"HW moves on":                                  {HighWatermarkKept("orders/0", 4, 4), ""},
		"HW goes back":                                 {HighWatermarkKept("orders/0", 4, 3), "I14: HW of orders/0 went back from 4 to 3"},
		"HW at the end of the shortest":                {HighWatermarkBounded("orders/0", 2, 3, []Copy{whole, short}), ""},
		"HW above the leader's end":                    {HighWatermarkBounded("orders/0", 3, 2, nil), "I15: HW 3 of orders/0 is above its end 2"},
		"HW above what an electable replica has":       {HighWatermarkBounded("orders/0", 3, 3, []Copy{whole, short}), "I15: HW 3 of orders/0 is above dc2/broker-1, which ends at 2"},
		"acked below the log start is nobody's offset": {AckedEverywhere(map[core.Offset]Digest{-1: 1}, []Copy{whole}), "I01: the acked record at offset -1 is not on dc1/broker-1, which may be elected and ends at 3"},
	} {
		got := ""
		if c.got != nil {
			got = c.got.String()
		}
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}
