package mutants

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockstep/testkit/binaries"
	"lockstep/testkit/model"
	"lockstep/testkit/rules"
)

// first are the losing model runs that were to be shown against the shipped machines before all others.
var first = []string{"A1", "G2", "G4", "G5", "G7", "G11", "P4", "P7", "T2", "W7", "K1", "M1"}

func TestEveryFindingHasARow(t *testing.T) {
	for n := 1; n <= 58; n++ {
		name := fmt.Sprintf("F%02d", n)
		if at := slices.IndexFunc(Findings, func(e Entry) bool { return e.Name == name }); at != n-1 {
			t.Errorf("%s is row %d, want %d: each finding once, in order", name, at+1, n)
		}
	}
	if len(Findings) != 58 {
		t.Errorf("%d findings, want 58", len(Findings))
	}
	for i, name := range first {
		if Variants[i].Name != name {
			t.Errorf("model run %d is %s, want %s", i+1, Variants[i].Name, name)
		}
	}
}

func TestAMaskedRuleIsARule(t *testing.T) {
	switches, err := Switches(root(t))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range switches {
		known[r.Switch] = true
	}
	for name, why := range Masked {
		if !known[name] || why == "" || slices.Contains(bySeeds, name) {
			t.Errorf("%s: no switch, no reason, or the simulation notices it", name)
		}
	}
	for _, name := range bySeeds {
		if !known[name] {
			t.Errorf("no switch %s", name)
		}
	}
}

func TestEveryRowIsAnswered(t *testing.T) {
	switches, err := Switches(root(t))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range append(slices.Clone(Findings), Variants...) {
		if seen[e.Name] {
			t.Errorf("%s twice", e.Name)
		}
		seen[e.Name] = true
		if e.What == "" || !slices.Contains([]string{"S1", "S2", "S3"}, e.Severity) {
			t.Errorf("%s: severity %q, %q", e.Name, e.Severity, e.What)
		}
		for i, s := range e.Switches {
			if _, ok := switches[s]; !ok {
				t.Errorf("%s: no switch %s in the tree", e.Name, s)
			}
			if slices.Contains(e.Switches[:i], s) {
				t.Errorf("%s: %s twice", e.Name, s)
			}
		}
		if len(e.Switches) == 0 && e.Reason == "" {
			t.Errorf("%s (%s): neither a switch nor a reason", e.Name, e.Severity)
		}
	}
}

// Every rule that the model can miss stands in the table, or the model's counterexample would never be run.
func TestRulesOfTheModelAreInTheTable(t *testing.T) {
	listed := map[string]bool{}
	switches, err := Switches(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(slices.Clone(Findings), Variants...) {
		for _, s := range e.Switches {
			listed[switches[s].Switch] = true
		}
	}
	for _, name := range bySeeds {
		if !listed[name] {
			t.Errorf("%s is noticed by the simulation and has no row", name)
		}
	}
	for name := range model.Counterexamples {
		if !listed[name] && name != "refuseLowerSourceEpoch" { // a restored source (R3): no finding speaks of it
			t.Errorf("%s has a counterexample and no row", name)
		}
	}
}

// scripted is a tier whose verdicts are given.
type scripted struct {
	name  string
	kills map[string]string
	tried []string
}

func (s *scripted) Name() string          { return s.name }
func (s *scripted) Knows(rules.Rule) bool { return true }
func (s *scripted) Close()                {}
func (s *scripted) Kill(r rules.Rule) (string, time.Duration, error) {
	s.tried = append(s.tried, r.Switch)
	return s.kills[r.Switch], time.Second, nil
}

func TestASurvivorIsNamedAndTheCheapestTierIsEnough(t *testing.T) {
	cheap := &scripted{name: "cheap", kills: map[string]string{"a": "TestA"}}
	dear := &scripted{name: "dear", kills: map[string]string{"b": "schedule"}}
	switches := map[string]rules.Rule{"p.a": {Switch: "a"}, "p.b": {Switch: "b"}, "p.c": {Switch: "c"}}
	r := &run{switches: switches, tiers: []Tier{cheap, dear}, kills: map[string][]kill{}}
	e := Entry{Name: "F01", Severity: "S1", What: "w", Switches: []string{"p.a", "p.b", "p.c"}}
	survived, err := r.entry(e, false)
	if err != nil || !slices.Equal(survived, []string{"F01 p.c (cheap)"}) {
		t.Errorf("survived %v, %v", survived, err)
	}
	if !slices.Equal(dear.tried, []string{"b", "c"}) {
		t.Errorf("the dear tier tried %v", dear.tried)
	}
	if again, _ := r.entry(e, false); len(again) != 1 || len(cheap.tried) != 3 {
		t.Errorf("again: %v, tried %v: a switch is tried once", again, cheap.tried)
	}
	every := &run{switches: switches, tiers: []Tier{cheap, dear}, every: true, kills: map[string][]kill{}}
	if survived, _ := every.entry(e, false); len(survived) != 4 {
		t.Errorf("with every tier asked, survived %v", survived)
	}
	if _, err := r.entry(Entry{Switches: []string{"p.none"}}, false); err == nil {
		t.Error("a switch that is not in the tree was tried")
	}
}

func TestMedian(t *testing.T) {
	for want, times := range map[time.Duration][]time.Duration{0: nil, 2: {3, 1, 2}, 5: {9, 1, 4, 6}} {
		if got := median(times); got != want {
			t.Errorf("%v: %d, want %d", times, got, want)
		}
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
