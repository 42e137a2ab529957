// Package rules switches the protocol's rules off, one at a time, and shows that a test notices.
package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/testkit/binaries"
)

// Command is `testkit rules`.
type Command struct {
	Package string `help:"Only rules of this package, as in highwater or actors/core/highwater."`
	Rule    string `help:"Only this ruling or switch, as in R5 or requireMirrorTerm."`
}

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
	all = slices.DeleteFunc(all, func(r Rule) bool { return !c.wants(r) })
	if len(all) == 0 {
		return fmt.Errorf("no rule matches --package=%q --rule=%q", c.Package, c.Rule)
	}
	dir, err := os.MkdirTemp("", "lockstep-rules-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%-7s %-26s %-25s %7s  %s\n", "RULING", "SWITCH", "PACKAGE", "SECONDS", "NOTICED BY")
	var survived, broken []string
	for _, r := range all {
		test, took, err := Try(root, dir, r)
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
	fmt.Printf("%d rules, each noticed when it is off\n", len(all))
	return nil
}

// BrokenError is a package whose tests cannot say anything about its rules.
type BrokenError struct {
	what, folder string
	Output       []byte // of the build or of the tests; nil after the first rule of the package
}

func (e *BrokenError) Error() string { return fmt.Sprintf("%s of %s", e.what, e.folder) }

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// Try runs the tests of the rule's package with the rule off and names the first test that fails, "" if
// none does. Test binaries are kept in dir for the package's next rule. took is the run of the tests alone.
// The error is a *BrokenError if the tests fail with every rule on, or do not build.
func Try(root, dir string, r Rule) (string, time.Duration, error) {
	binary := filepath.Join(dir, strings.ReplaceAll(r.Package, "/", "-")+".test")
	folder := filepath.Join(root, filepath.FromSlash(r.Package))
	if st, err := os.Stat(binary); err != nil {
		// An empty file in the binary's place keeps a broken package from being tried again per rule.
		if out, err := command(folder, "go", "test", "-tags", "mutants", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
			_ = os.WriteFile(binary, nil, 0o600)
			return "", 0, &BrokenError{"tests that do not build", r.Package, out}
		}
		if out, err := command(folder, binary, "-test.failfast").CombinedOutput(); err != nil {
			_ = os.Truncate(binary, 0)
			return "", 0, &BrokenError{"failing test " + Noticed(out), r.Package, out}
		}
	} else if st.Size() == 0 {
		return "", 0, &BrokenError{"failing tests", r.Package, nil}
	}
	cmd := command(folder, binary, "-test.failfast", "-test.timeout=120s")
	cmd.Env = append(os.Environ(), "LOCKSTEP_RULE_OFF="+r.Switch)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", took, nil
	case !errors.As(err, &exit):
		return "", took, fmt.Errorf("run tests of %s: %w", r.Package, err)
	}
	return Noticed(out), took, nil
}

// Noticed names the failed test in the output of a test binary: a subtest rather than its parent, which
// is printed first. A goroutine's panic fails the binary without naming a test; then the panic is named.
func Noticed(out []byte) string {
	if m := failed.FindAllSubmatch(out, -1); m != nil {
		best := m[0][1]
		for _, each := range m {
			if bytes.HasPrefix(each[1], best) {
				best = each[1]
			}
		}
		return string(best)
	}
	if i := bytes.Index(out, []byte("panic:")); i >= 0 {
		return "panic: " + firstLine(out[i+len("panic:"):])
	}
	return firstLine(out)
}

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return string(line)
}
