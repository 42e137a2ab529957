// Package invariants holds predicates that must be true of any run, one per file. Audit, simulation and
// tests read the same ones. They look at plain facts, never at the state of a machine.
package invariants

import "lockstep/actors/core"

// Digest identifies the bytes of one batch.
type Digest uint64

// Copy is what one replica holds on disk: the batch that covers each offset, from offset 0.
type Copy struct {
	Replica string // as an operator would name it: dc2/broker-1
	Batches []Digest
}

// has reports whether the copy holds exactly this batch at an offset.
func (c Copy) has(at core.Offset, want Digest) bool {
	return at >= 0 && int(at) < len(c.Batches) && c.Batches[at] == want
}

// Violation names the invariant that does not hold and the facts that show it.
type Violation struct {
	ID   string
	Text string
}

func (v *Violation) String() string { return v.ID + ": " + v.Text }
