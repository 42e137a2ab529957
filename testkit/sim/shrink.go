package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// shrinkRuns bounds how often a failing run is tried again.
const shrinkRuns = 120

// shrink leaves out what a violation does not need: kinds of faults first, then single ones, then time. What
// is left violates the same invariant.
func shrink(failed Result) Result {
	runs := 0
	best := failed
	try := func(r Replay) bool {
		if runs >= shrinkRuns {
			return false
		}
		runs++
		again := play(r)
		if again.Violation == nil || again.Violation.ID != failed.Violation.ID {
			return false
		}
		best = again
		return true
	}
	without := func(name string) Replay {
		r := best.Replay
		r.Dropped = append(slices.Clone(r.Dropped), name)
		return r
	}
	for _, kind := range Kinds {
		if slices.ContainsFunc(best.Plan, func(p planned) bool { return p.Kind == kind }) {
			try(without(kind))
		}
	}
	shorten := func() {
		for _, part := range []int64{2, 4} {
			r := best.Replay
			if r.Ticks = best.At / ms; r.Ticks < best.Replay.Ticks {
				try(r)
			}
			r = best.Replay
			r.Ticks -= r.Ticks / part
			try(r)
		}
	}
	shorten()
	for _, p := range slices.Backward(best.Plan) {
		if p.At <= best.At {
			try(without(p.Name))
		}
	}
	shorten()
	return best
}

// play is Run with a panic of a machine as a violation.
func play(r Replay) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			result = Run(r, true) // the narrative run turns it into one
		}
	}()
	return Run(r, false)
}

// explain prints a failing run and writes the file that replays it.
func explain(out io.Writer, r Result, whole bool) error {
	told := Run(r.Replay, true)
	fmt.Fprintf(out, "seed %#x, %d ticks: %s\n", r.Seed, r.Ticks, r.Violation)
	fmt.Fprintf(out, "  %s\n", r.Options)
	lines := told.Narrative
	if n := len(lines); n > 60 && !whole {
		fmt.Fprintf(out, "  … %d lines before\n", n-60)
		lines = lines[n-60:]
	}
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	name := fmt.Sprintf("sim-%x.json", r.Seed)
	data, err := json.MarshalIndent(r.Replay, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	fmt.Fprintf(out, "replay with: go run ./testkit sim --replay %s\n", name)
	return nil
}

func readReplay(name string) (r Replay, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s is no replay file: %w", name, err)
	}
	return r, nil
}
