package invariants

import (
	"fmt"

	"lockstep/actors/core"
)

// HighWatermarkKept is I14: within one leader epoch HW never goes back.
func HighWatermarkKept(where string, before, after core.Offset) *Violation {
	if after < before {
		return &Violation{"I14", fmt.Sprintf("HW of %s went back from %d to %d", where, before, after)}
	}
	return nil
}

// HighWatermarkBounded is I15: HW is at or below the leader's end, and below what every electable replica
// of the cluster holds on disk.
func HighWatermarkBounded(where string, hw, leo core.Offset, electable []Copy) *Violation {
	if hw > leo {
		return &Violation{"I15", fmt.Sprintf("HW %d of %s is above its end %d", hw, where, leo)}
	}
	for _, c := range electable {
		if hw > core.Offset(len(c.Batches)) {
			return &Violation{"I15", fmt.Sprintf("HW %d of %s is above %s, which ends at %d", hw, where, c.Replica, len(c.Batches))}
		}
	}
	return nil
}
