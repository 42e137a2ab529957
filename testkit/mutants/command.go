// Package mutants shows, for every finding in the draft and every wording that loses in a model, which rule
// stands against it, and that something notices when that rule is off.
package mutants

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"lockstep/testkit/binaries"
	"lockstep/testkit/rules"
)

// Command is `testkit mutants`.
type Command struct {
	Only  []string `help:"Only these findings or model runs, as in F04,A1." placeholder:"NAME"`
	Tier  []string `help:"Only these tiers: unit, model, sim." placeholder:"TIER"`
	Every bool     `help:"Every tier that knows a rule must notice it, not only the cheapest that does."`
	List  bool     `help:"Print the table without running anything."`
}

// kill is what noticed a switch.
type kill struct {
	tier, by string
	took     time.Duration
}

// run is one invocation: a switch is tried once, however many findings name it.
type run struct {
	switches map[string]rules.Rule
	tiers    []Tier
	every    bool
	kills    map[string][]kill
	broken   []string // not tried: the tests around them fail as they are
	order    []string // switches in the order they were tried
}

// Run fails when a mutant survives: when a rule that answers a finding can be off unnoticed.
func (c *Command) Run() error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	switches, err := Switches(root)
	if err != nil {
		return err
	}
	list, err := c.chosen()
	if err != nil {
		return err
	}
	r := &run{switches: switches, every: c.Every, kills: map[string][]kill{}}
	for _, t := range Tiers(root) {
		if c.Tier == nil || slices.Contains(c.Tier, t.Name()) {
			r.tiers = append(r.tiers, t)
		}
		defer t.Close()
	}
	if len(r.tiers) == 0 {
		return fmt.Errorf("no tier %s: one of unit, model, sim", strings.Join(c.Tier, ", "))
	}
	fmt.Printf("%-5s %-4s %-62s %-41s %-6s %7s  %s\n", "NAME", "SEV", "WHAT GOES WRONG", "SWITCH", "TIER", "SECONDS", "NOTICED BY")
	var survived []string
	for _, e := range list {
		lost, err := r.entry(e, c.List)
		if err != nil {
			return err
		}
		survived = append(survived, lost...)
	}
	if c.List {
		return nil
	}
	r.summary(list)
	if r.broken != nil {
		return fmt.Errorf("tests fail with every rule on; not tried: %s", strings.Join(r.broken, ", "))
	}
	if survived != nil {
		return fmt.Errorf("%d mutants survive: %s", len(survived), strings.Join(survived, ", "))
	}
	return nil
}

// entry prints what is known of one finding, one line for each switch and tier, and returns the switches
// that nothing noticed.
func (r *run) entry(e Entry, listOnly bool) (survived []string, err error) {
	name, severity, what := e.Name, e.Severity, e.What
	line := func(name, tier, seconds, by string) {
		fmt.Printf("%-5s %-4s %-62s %-41s %-6s %7s  %s\n", e.Name, severity, what, name, tier, seconds, by)
		severity, what = "", ""
	}
	for _, s := range e.Switches {
		if listOnly {
			if _, name, _ := strings.Cut(s, "."); Masked[name] != "" {
				line(s, "", "", "not by the simulation: "+Masked[name])
			} else {
				line(s, "", "", "")
			}
			continue
		}
		kills, err := r.try(s)
		if err != nil {
			return nil, err
		}
		for _, k := range kills {
			by := k.by
			if by == "" {
				by = "NOBODY"
				survived = append(survived, name+" "+s+" ("+k.tier+")")
			}
			line(s, k.tier, fmt.Sprintf("%.2f", k.took.Seconds()), by)
		}
	}
	if e.Reason != "" {
		line("-", "", "", e.Reason)
	}
	if e.Waits != "" {
		line("-", "", "", "waits for: "+e.Waits)
	}
	return survived, nil
}

// try switches one rule off in tier after tier, until one notices, or in every one that knows it.
func (r *run) try(name string) ([]kill, error) {
	if known, done := r.kills[name]; done {
		return known, nil
	}
	rule, ok := r.switches[name]
	if !ok {
		return nil, fmt.Errorf("no switch %s", name)
	}
	var kills []kill
	for _, t := range r.tiers {
		if !t.Knows(rule) {
			continue
		}
		by, took, err := t.Kill(rule)
		var broken *rules.BrokenError
		switch {
		case errors.As(err, &broken): // its tests fail with every rule on: the others can still be tried
			r.broken = append(r.broken, name+" ("+t.Name()+")")
			fmt.Fprintf(os.Stderr, "%v\n%s\n", err, broken.Output)
			continue
		case err != nil:
			return nil, fmt.Errorf("%s, tier %s: %w", name, t.Name(), err)
		}
		k := kill{tier: t.Name(), by: by, took: took}
		switch {
		case r.every:
			kills = append(kills, k)
		case by != "":
			kills = []kill{k}
		case len(kills) == 0:
			kills = []kill{k}
		}
		if by != "" && !r.every {
			break
		}
	}
	r.kills[name], r.order = kills, append(r.order, name)
	return kills, nil
}

// summary says how many, by which tier, and how long the median one took.
func (r *run) summary(list []Entry) {
	var times []time.Duration
	byTier := map[string]int{}
	for _, name := range r.order {
		for _, k := range r.kills[name] {
			if k.by != "" {
				times = append(times, k.took)
				byTier[k.tier]++
			}
		}
	}
	waiting, reasoned := 0, 0
	for _, e := range list {
		if e.Waits != "" {
			waiting++
		} else if len(e.Switches) == 0 {
			reasoned++
		}
	}
	var tiers []string
	for _, t := range r.tiers {
		tiers = append(tiers, fmt.Sprintf("%s %d", t.Name(), byTier[t.Name()]))
	}
	fmt.Printf("%d entries, %d switches; noticed by %s; %d wait for a capability, %d more have a reason instead of a switch; median time to detect %.2f s\n",
		len(list), len(r.order), strings.Join(tiers, ", "), waiting, reasoned, median(times).Seconds())
}

func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	if mid := len(times) / 2; len(times)%2 == 0 {
		return (times[mid-1] + times[mid]) / 2
	}
	return times[len(times)/2]
}

// Switches are all rules of the tree below root, as package.switch.
func Switches(root string) (map[string]rules.Rule, error) {
	all, err := rules.Find(root)
	if err != nil {
		return nil, err
	}
	named := map[string]rules.Rule{}
	for _, r := range all {
		named[path.Base(r.Package)+"."+r.Switch] = r
	}
	return named, nil
}

func (c *Command) chosen() ([]Entry, error) {
	all := append(slices.Clone(Findings), Variants...)
	if c.Only == nil {
		return all, nil
	}
	var list []Entry
	for _, name := range c.Only {
		at := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("no finding or model run %q: F01 to F58, or a name as A1", name)
		}
		list = append(list, all[at])
	}
	return list, nil
}
