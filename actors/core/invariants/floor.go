package invariants

import (
	"fmt"

	"lockstep/actors/core"
)

// FloorStable is I24: once a mirror stated floor in the source epoch whose log is lineage, every replica
// that may lead there holds that log up to the floor, from then on.
func FloorStable(floor core.Offset, lineage []Digest, electable []Copy) *Violation {
	for _, c := range electable {
		for at := core.Offset(0); at < floor; at++ {
			if int(at) >= len(lineage) || !c.has(at, lineage[at]) {
				return &Violation{"I24", fmt.Sprintf("floor %d was stated, but %s does not hold the source's batch at offset %d", floor, c.Replica, at)}
			}
		}
	}
	return nil
}
