package rules

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"lockstep/testkit/binaries"
)

// Command is `testkit rules`.
type Command struct {
	Package string `help:"Only rules of this package, as in highwater or actors/core/highwater."`
	Rule    string `help:"Only this ruling or switch, as in R5 or requireMirrorTerm."`
	Write   bool   `help:"Note which tests noticed, so that the next run asks them first."`
}

func (c *Command) wants(r Rule) bool {
	return (c.Package == "" || c.Package == r.Package || c.Package == path.Base(r.Package)) &&
		(c.Rule == "" || c.Rule == r.Ruling || c.Rule == r.Switch)
}

// Run fails when a ruling has no switch, or when a rule can be removed without any test of its package
// noticing.
func (c *Command) Run() error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	all, err := Find(root)
	if err != nil {
		return err
	}
	if missing := Without(all); missing != nil {
		return fmt.Errorf("no switch for %s: add one to the rules.go and rules_mutants.go of the package that carries the rule", strings.Join(missing, ", "))
	}
	tree := slices.Clone(all)
	all = slices.DeleteFunc(all, func(r Rule) bool { return !c.wants(r) })
	if len(all) == 0 {
		return fmt.Errorf("no rule matches --package=%q --rule=%q", c.Package, c.Rule)
	}
	trial, err := NewTrial(root)
	if err != nil {
		return err
	}
	defer trial.Close()
	fmt.Printf("%-7s %-26s %-25s %7s  %s\n", "RULING", "SWITCH", "PACKAGE", "SECONDS", "NOTICED BY")
	var survived, broken []string
	for _, r := range all {
		test, took, err := trial.Try(r)
		var b *BrokenError
		switch {
		case errors.As(err, &b):
			if !slices.Contains(broken, r.Package) {
				broken = append(broken, r.Package)
				fmt.Fprintf(os.Stderr, "%v\n%s\n", err, b.Output)
			}
			test = "not tried: " + b.Error()
		case err != nil:
			return err
		case test == "":
			survived = append(survived, r.Package+"."+r.Switch)
			test = "NOBODY"
		}
		fmt.Printf("%-7s %-26s %-25s %7.1f  %s\n", r.Ruling, r.Switch, r.Package, took.Seconds(), test)
	}
	switch {
	case broken != nil:
		return fmt.Errorf("tests fail with every rule on: %s", strings.Join(broken, ", "))
	case survived != nil:
		return fmt.Errorf("%d of %d rules can be removed unnoticed: %s", len(survived), len(all), strings.Join(survived, ", "))
	}
	if c.Write {
		if err := trial.note(tree); err != nil {
			return err
		}
	}
	fmt.Printf("%d rules, each noticed when it is off\n", len(all))
	return nil
}
