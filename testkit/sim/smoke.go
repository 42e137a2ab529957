package sim

import (
	"fmt"
	"os"
	"time"
)

// The fixed seeds of a smoke run are 1 … fixedSeeds; a fresh one follows.
const (
	fixedSeeds = 240
	smokeTicks = 45_000
)

// Run plays the fixed seeds; with a rule off it looks for the first seed that notices.
func (c *smokeCommand) Run() error {
	tune()
	if again, err := withRuleOff(c.Off); again || err != nil {
		return err
	}
	n := c.Seeds
	limit := 24 * time.Hour
	fresh := freshSeed()
	if c.Off != "" {
		limit = c.For
		if n == 0 {
			n = 2000
		}
	} else if n == 0 {
		n = fixedSeeds
	}
	seed := func(i int) (uint64, bool) {
		switch {
		case i < n:
			return uint64(i + 1), true
		case i == n && c.Off == "":
			return fresh, true
		default:
			return 0, false
		}
	}
	t := newTally(limit)
	failed := t.play(workers(0), smokeTicks, seed)
	if c.Off != "" {
		if failed == nil {
			return fmt.Errorf("%s is off and no one of %d seeds noticed in %.0f s", c.Off, t.runs, time.Since(t.began).Seconds())
		}
		fmt.Printf("%s: noticed by seed %#x after %d seeds, %.1f s: %s\n", c.Off, failed.Seed, t.runs, time.Since(t.began).Seconds(), failed.Violation)
		return nil
	}
	if failed != nil {
		if err := explain(os.Stdout, shrink(*failed), false); err != nil {
			return err
		}
		return errViolated
	}
	t.print(os.Stdout)
	fmt.Printf("seeds 1 to %d and %#x\n", n, fresh)
	return t.verdict()
}
