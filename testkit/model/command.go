package model

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Command is `testkit model`.
type Command struct {
	Bounds
	Scenario string        `default:"all" help:"One scenario, \"all\", or \"flags\": the bounds of the flags."`
	Quick    bool          `help:"Only the scenarios that end within seconds: under a minute together."`
	Budget   time.Duration `default:"10m" help:"Give up after this long in all. A scenario that was not finished is an error: it proves nothing."`
	Limit    int           `help:"Give up a scenario after this many states; 0: never. About 1 kB of memory each while they wait."`
	Workers  int           `help:"Processors to use; 0: all."`
	Rule     string        `help:"Switch rules off, one at a time, and show the schedule that goes wrong: a ruling (R5), a switch (admitAboveFloor) or \"all\". Each is tried in the scenario that is about it, or in --scenario."`
	Traces   bool          `help:"With --rule: print every schedule that goes wrong."`
}

const (
	allScenarios = "all"
	ofFlags      = "flags"
)

// Run explores, and fails if something is violated or was not explored to the end.
func (c *Command) Run() error {
	debug.SetGCPercent(300) // most of what waits lives until its level is done
	until := time.Now().Add(c.Budget)
	if c.Rule != "" {
		return c.rules(until)
	}
	list, err := c.chosen()
	if err != nil {
		return err
	}
	fmt.Printf("%-21s %9s %9s %5s %9s %8s  %-12s %s\n", "SCENARIO", "STATES", "STEPS", "DEPTH", "WITH ACK", "SECONDS", "VIOLATIONS", "BOUNDS")
	states := 0
	var unfinished []string
	for _, s := range list {
		s.Bounds.AcksOnly = s.Bounds.AcksOnly || c.AcksOnly
		r := s.Search(Limits{States: c.Limit, Deadline: until, Workers: c.Workers})
		states += r.States
		end := "0"
		switch {
		case r.Violation != nil:
			end = "1"
		case !r.Exhaustive:
			end = "not finished"
			unfinished = append(unfinished, s.Name)
		}
		fmt.Printf("%-21s %9d %9d %5d %9d %8.1f  %-12s %s\n", s.Name, r.States, r.Steps, r.Depth, r.Acks, r.Took.Seconds(), end, s.bounds())
		if r.Violation != nil {
			for _, l := range r.Trace {
				fmt.Println(l)
			}
			return fmt.Errorf("%s, %d steps from the quiet start, scenario %s", r.Violation, r.Depth, s.Name)
		}
	}
	if unfinished != nil {
		return fmt.Errorf("not explored to the end within --budget=%s --limit=%d: %s", c.Budget, c.Limit, strings.Join(unfinished, ", "))
	}
	fmt.Printf("%d states in %d scenarios, every one to the end of its bounds, 0 violations\n", states, len(list))
	return nil
}

func (c *Command) chosen() ([]Scenario, error) {
	switch {
	case c.Scenario == ofFlags:
		return []Scenario{{Name: ofFlags, Bounds: c.Bounds}}, nil
	case c.Scenario == allScenarios:
		var list []Scenario
		for _, s := range Scenarios() {
			if !c.Quick || s.Quick {
				list = append(list, s)
			}
		}
		return list, nil
	}
	for _, s := range Scenarios() {
		if s.Name == c.Scenario {
			return []Scenario{s}, nil
		}
	}
	var names []string
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return nil, errors.New("no scenario " + c.Scenario + ": one of " + strings.Join(names, ", ") + ", all or flags")
}
