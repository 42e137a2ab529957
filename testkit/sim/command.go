package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"crypto/rand"
)

// Command is `testkit sim`.
type Command struct {
	One   oneCommand   `cmd:"" default:"withargs" help:"One seed, or the run of a replay file."`
	Smoke smokeCommand `cmd:"" help:"Fixed seeds and one fresh one, for every change: about a minute on two cores."`
	Night nightCommand `cmd:"" help:"Fresh seeds on all cores for a while, and a table of what was done."`
}

type oneCommand struct {
	Seed   string `help:"Seed, decimal or 0x… A fresh one is drawn and printed if there is none."`
	Ticks  int64  `default:"60000" help:"Simulated ms with faults; healing comes after."`
	Replay string `help:"Play this file instead." type:"existingfile"`
	Whole  bool   `help:"Print the whole narrative of a violation, not its last 60 lines."`
	Quiet  bool   `help:"Do not print the narrative of a run without violation."`
	Off    string `help:"Switch this rule off first, as in requireMirrorTerm. Only in a build with -tags mutants."`
}

type smokeCommand struct {
	Off   string        `help:"Switch this rule off and look for a seed that notices, instead of the fixed ones. Only in a build with -tags mutants."`
	Seeds int           `default:"0" help:"How many seeds; 0: as many as are fixed, or 2000 with --off."`
	For   time.Duration `default:"5m" help:"With --off: look no longer than this."`
}

type nightCommand struct {
	Minutes int    `default:"60" help:"How long, in wall minutes."`
	Ticks   int64  `default:"60000" help:"Simulated ms with faults, per seed."`
	Workers int    `default:"0" help:"Runs at a time; 0: one a core."`
	From    uint64 `help:"What the seeds are drawn from, as an earlier night printed it; without it they are fresh."`
}

var errViolated = errors.New("an invariant does not hold")

// tune trades memory for time: a run keeps little, and throws away much.
func tune() {
	debug.SetGCPercent(1600)
	runtime.MemProfileRate = 0
}

func freshSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// Run plays one seed and tells what happened.
func (c *oneCommand) Run() error {
	tune()
	if again, err := withRuleOff(c.Off); again || err != nil {
		return err
	}
	r := Replay{Ticks: c.Ticks}
	switch {
	case c.Replay != "":
		var err error
		if r, err = readReplay(c.Replay); err != nil {
			return err
		}
	case c.Seed == "":
		r.Seed = freshSeed()
	default:
		if _, err := fmt.Sscan(c.Seed, &r.Seed); err != nil {
			return fmt.Errorf("--seed=%q is not a number", c.Seed)
		}
	}
	fmt.Printf("seed %#x, %d ticks, %s %s/%s\n", r.Seed, r.Ticks, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	result := play(r)
	fmt.Printf("%s\n", result.Options)
	if result.Violation != nil {
		if c.Replay == "" {
			result = shrink(result)
		}
		if err := explain(os.Stdout, result, c.Whole); err != nil {
			return err
		}
		return errViolated
	}
	if !c.Quiet {
		for _, line := range Run(r, true).Narrative {
			fmt.Println(line)
		}
	}
	fmt.Printf("no violation in %s simulated, %d acked batches, trace %016x\n", time.Duration(result.At), result.Counts.Acked, result.Trace)
	return nil
}
