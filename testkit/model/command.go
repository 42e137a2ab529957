package model

import (
	"fmt"
	"time"
)

// Command is `testkit model`.
type Command struct {
	Bounds
	Scenario string        `help:"Bounds of this name instead of the flags; \"all\" runs every one."`
	Limit    int           `help:"Stop after this many states; 0: never. About 3 kB of memory each while they wait."`
	For      time.Duration `default:"10m" help:"Stop after this long, per scenario."`
	Rule     string        `help:"Switch rules of the data plane off, one at a time, and look for a counterexample: a ruling (R5), a switch (admitAboveFloor) or \"all\"."`
	Traces   bool          `help:"With --rule: print every counterexample."`
}

// Run explores, and fails if something is violated.
func (c *Command) Run() error {
	if c.Rule != "" {
		return c.rules()
	}
	list := []Scenario{{"flags", c.Bounds}}
	if c.Scenario != "" {
		if list = chosen(c.Scenario); list == nil {
			return fmt.Errorf("no scenario %q: one of %s, or all", c.Scenario, names())
		}
	}
	states := 0
	for _, s := range list {
		s.Bounds.AcksOnly = s.Bounds.AcksOnly || c.AcksOnly
		r := Search(s.Bounds, c.Limit, time.Now().Add(c.For))
		states += r.States
		fmt.Println(line(s.Name, r))
		fmt.Printf("  bounds: %s\n", s.Bounds)
		if r.Violation != nil {
			for _, l := range r.Trace {
				fmt.Println(l)
			}
			return fmt.Errorf("%s, %d steps from the quiet start, bounds %s", r.Violation, r.Depth, s.Name)
		}
	}
	fmt.Printf("%d states, 0 violations\n", states)
	return nil
}

func line(name string, r Result) string {
	end := "exhaustive"
	if !r.Exhaustive {
		end = "not finished"
	}
	found := "0 violations"
	if r.Violation != nil {
		end, found = "stopped", "VIOLATION "+r.Violation.String()
	}
	return fmt.Sprintf("%-21s %9d states %9d steps, depth %3d, %8d with an ack, %6.1f s, %s, %s",
		name, r.States, r.Steps, r.Depth, r.Acks, r.Took.Seconds(), end, found)
}

func chosen(name string) []Scenario {
	if name == "all" {
		return Scenarios()
	}
	for _, s := range Scenarios() {
		if s.Name == name {
			return []Scenario{s}
		}
	}
	return nil
}

func names() (all string) {
	for i, s := range Scenarios() {
		if i > 0 {
			all += ", "
		}
		all += s.Name
	}
	return all
}
