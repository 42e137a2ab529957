package highwater

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// A partition added to a gated topic refuses every write until the mirror reports of it; then it opens at once, and
// the ledger hears of it so that the next leader opens, too (C11, F36).
func TestAnAddedPartitionIsClosedUntilTheMirrorHasIt(t *testing.T) {
	added := gateOf(mirrorA)
	added.Missing = true
	b := source(t, 0, added)
	if a, ok := newest[ChangeAdmission](b); !ok || !a.Closed || a.Code != perr.LeaderNotAvailable || !a.Gated {
		t.Fatalf("admission %+v", a)
	}
	b.floor(mirrorA, 0)
	if a, _ := newest[ChangeAdmission](b); a.Closed || a.Code != 0 {
		t.Fatalf("with the mirror's report: %+v", a)
	}
	if c, ok := in[ConfirmAddition](b); !ok || c.Key != mirrorA || c.Epoch != 1 {
		t.Fatalf("the ledger hears %+v, %v", c, ok)
	}
	if b.floor(mirrorA, 0); len(b.effects) > 0 {
		if _, again := in[ConfirmAddition](b); again {
			t.Fatal("the ledger hears of it again")
		}
	}
	b.do(LeaderStarted{Epoch: epoch + 1, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	b.image(func(img *AppliedImage) { img.Gates = []Gate{added} })
	if a, _ := newest[ChangeAdmission](b); !a.Closed {
		t.Fatalf("a new leader has heard nobody: %+v", a)
	}
	added.Missing = false
	b.image(func(img *AppliedImage) { img.Gates = []Gate{added} })
	if a, _ := newest[ChangeAdmission](b); a.Closed || a.Code != 0 {
		t.Fatalf("the ledger knows that the mirror has it: %+v", a)
	}
}
