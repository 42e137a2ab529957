// Package rules switches the protocol's rules off, one at a time, and shows that a test notices.
package rules

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule is one switch, as its package declares it. Package is the folder below the tree's root.
type Rule struct{ Ruling, Switch, Package string }

// Required lists the rulings of the protocol that must have a switch somewhere in the tree.
var Required = []string{"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14",
	"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C12", "C13"}

var kept = regexp.MustCompile(`(\w+)\s*=\s*rules\.Kept\("([A-Z]+)(\d+) (\w+)"\)`)

// Find lists the switches of every rules_mutants.go below root, sorted by ruling.
func Find(root string) ([]Rule, error) {
	var out []Rule
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || d.Name() != "rules_mutants.go":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		found, err := Parse(filepath.ToSlash(folder), string(text))
		out = append(out, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list switches: %w", err)
	}
	slices.SortFunc(out, before)
	return out, nil
}

// Parse reads the switches of one rules_mutants.go. A variable and the name it asks for must agree, or
// switching the name off would leave the rule on and every test would pass.
func Parse(folder, text string) ([]Rule, error) {
	found := kept.FindAllStringSubmatch(text, -1)
	if calls := strings.Count(text, "rules.Kept("); calls != len(found) {
		return nil, fmt.Errorf("%s/rules_mutants.go: %d of %d switches do not read `name = rules.Kept(\"R5 name\")`", folder, calls-len(found), calls)
	}
	var out []Rule
	for _, m := range found {
		if m[1] != m[4] {
			return nil, fmt.Errorf("%s/rules_mutants.go: switch %s asks for %s; name it as the variable", folder, m[1], m[4])
		}
		out = append(out, Rule{m[2] + m[3], m[4], folder})
	}
	return out, nil
}

// before puts R2 before R10, the rulings of both planes (R, C) before decisions and findings.
func before(a, b Rule) int {
	rank := func(r Rule) int {
		if i := strings.Index("RC", r.Ruling[:1]); i >= 0 {
			return i
		}
		return int(r.Ruling[0])
	}
	number := func(r Rule) int {
		n, _ := strconv.Atoi(r.Ruling[1:]) // Parse let only digits through
		return n
	}
	return cmp.Or(rank(a)-rank(b), number(a)-number(b), strings.Compare(a.Package, b.Package), strings.Compare(a.Switch, b.Switch))
}

// Without lists the required rulings that have no switch.
func Without(all []Rule) []string {
	var out []string
	for _, ruling := range Required {
		if !slices.ContainsFunc(all, func(r Rule) bool { return r.Ruling == ruling }) {
			out = append(out, ruling)
		}
	}
	return out
}
