package highwater

import (
	"math/rand"
	"testing"

	"lockstep/actors/core"
)

// dumb says for each offset, one after the other, whether everybody has it.
func dumb(hw core.Offset, p participants) core.Offset {
	if p.underMin || len(p.local) == 0 {
		return hw
	}
	everybody := append(append([]core.Offset(nil), p.local...), p.floors...)
	for next := hw; ; next++ {
		for _, position := range everybody {
			if position == core.Unknown || position <= next {
				return next
			}
		}
	}
}

func TestFormulaEqualsItsDumbTwin(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	position := func() core.Offset { return core.Offset(rng.Intn(12) - 1) }
	for range 50_000 {
		p := participants{underMin: rng.Intn(8) == 0}
		for range rng.Intn(4) {
			p.local = append(p.local, position())
		}
		for range rng.Intn(3) {
			p.floors = append(p.floors, position())
		}
		hw := core.Offset(rng.Intn(8))
		if got, want := committed(hw, p), dumb(hw, p); got != want {
			t.Fatalf("HW %d, %+v: %d, the dumb twin says %d", hw, p, got, want)
		}
	}
}

// The draft's numbers, read with exclusive offsets (F02): records up to 87 are committed, 88 is not.
func TestWorkedExampleCommitsUpToRecord87(t *testing.T) {
	b := source(t, 0, gateOf(mirrorA), gateOf(mirrorB))
	b.report(1, 100).report(2, 100).report(3, 99)
	b.await(1, 88).await(2, 89) // records 87 and 88
	b.floor(mirrorA, 95)        // the smallest of (95, 97, 96)
	b.wantHW(0)
	b.floor(mirrorB, 88) // the smallest of (90, 88)
	b.wantHW(88)
	if got := b.confirmed(); !got[1] || got[2] {
		t.Fatalf("confirmed %v, want only the record at 87", got)
	}
}
