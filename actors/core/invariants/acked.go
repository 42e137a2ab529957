package invariants

import (
	"fmt"

	"lockstep/actors/core"
)

// AckedEverywhere is I01: whatever was acknowledged is byte-identical on every electable replica of every
// cluster that was in the ack's stamp. It returns nil if that holds.
func AckedEverywhere(acked map[core.Offset]Digest, electable []Copy) *Violation {
	for at, want := range acked {
		for _, c := range electable {
			if !c.has(at, want) {
				return &Violation{"I01", fmt.Sprintf("the acked record at offset %d is not on %s, which may be elected and ends at %d", at, c.Replica, len(c.Batches))}
			}
		}
	}
	return nil
}
