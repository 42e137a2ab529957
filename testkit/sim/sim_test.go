package sim

import "testing"

// TestASeedIsOneRun: the same seed gives the same run, and another one another.
func TestASeedIsOneRun(t *testing.T) {
	traces := map[uint64]bool{}
	for seed := uint64(1); seed <= 3; seed++ {
		r := Replay{Seed: seed, Ticks: 15_000}
		first, again, told := Run(r, false), Run(r, false), Run(r, true)
		if first.Trace != again.Trace || first.Trace != told.Trace || first.At != again.At {
			t.Errorf("seed %d: traces %016x, %016x and, with its narrative, %016x", seed, first.Trace, again.Trace, told.Trace)
		}
		if len(told.Narrative) == 0 {
			t.Errorf("seed %d has nothing to tell", seed)
		}
		traces[first.Trace] = true
	}
	if len(traces) != 3 {
		t.Errorf("three seeds gave %d runs", len(traces))
	}
}

// TestSeedsAreClean plays a handful of runs. Together they must have done something: acknowledged under a gate,
// elected, failed over.
func TestSeedsAreClean(t *testing.T) {
	var all Counts
	injected := 0
	for seed := uint64(1); seed <= 12; seed++ {
		r := Run(Replay{Seed: seed, Ticks: 20_000}, false)
		if r.Violation != nil {
			t.Errorf("seed %d: %s", seed, r.Violation)
		}
		all.add(r.Counts)
		for _, n := range r.Faults {
			injected += n
		}
	}
	if all.AckedSync == 0 || all.Elections == 0 || all.Failovers == 0 || all.ClaimsChecked == 0 || all.Consumed == 0 || injected == 0 {
		t.Errorf("the seeds did too little to prove anything: %+v, %d faults", all, injected)
	}
}

// TestADroppedFaultLeavesTheOthersAlone, which is what shrinking rests on.
func TestADroppedFaultLeavesTheOthersAlone(t *testing.T) {
	whole := Run(Replay{Seed: 4, Ticks: 15_000}, false)
	if len(whole.Plan) < 3 {
		t.Fatalf("seed 4 plans %d faults", len(whole.Plan))
	}
	dropped := whole.Plan[0].Name
	rest := Run(Replay{Seed: 4, Ticks: 15_000, Dropped: []string{dropped}}, false)
	if len(rest.Plan) != len(whole.Plan)-1 {
		t.Fatalf("%d faults are planned without %s, of %d", len(rest.Plan), dropped, len(whole.Plan))
	}
	at := map[string]int64{}
	for _, p := range whole.Plan {
		at[p.Name] = p.At
	}
	for _, p := range rest.Plan {
		if at[p.Name] != p.At {
			t.Errorf("%s moved from %d to %d", p.Name, at[p.Name], p.At)
		}
	}
}
