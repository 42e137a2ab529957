//go:build mutants

package sim

import (
	"os"
	"testing"
)

// TestARuleThatIsOffIsNoticed: under -tags mutants, with LOCKSTEP_RULE_OFF set, some seed must notice.
func TestARuleThatIsOffIsNoticed(t *testing.T) {
	off := os.Getenv("LOCKSTEP_RULE_OFF")
	if off == "" {
		t.Skip("no rule is off: set LOCKSTEP_RULE_OFF")
	}
	for seed := uint64(1); seed <= 300; seed++ {
		if r := play(Replay{Seed: seed, Ticks: smokeTicks}); r.Violation != nil {
			t.Logf("%s: seed %d, %s", off, seed, r.Violation)
			return
		}
	}
	t.Errorf("%s is off and 300 seeds noticed nothing", off)
}
