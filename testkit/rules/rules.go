// Package rules switches the protocol's rules off, one at a time, and shows that a test notices.
package rules

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"lockstep/testkit/binaries"
)

// Command is `testkit rules`.
type Command struct {
	Package string `help:"Only rules of this core, as in highwater."`
	Rule    string `help:"Only this ruling or constant, as in R5 or requireMirrorTerm."`
}

// Rule is one switch, as its core declares it.
type Rule struct{ Ruling, Constant, Package string }

var kept = regexp.MustCompile(`rules\.Kept\("(\S+) (\w+)"\)`)

// Find lists the switches of every core, sorted by ruling.
func Find(root string) ([]Rule, error) {
	files, err := filepath.Glob(filepath.Join(root, "actors/core/*/rules_mutants.go"))
	if err != nil {
		return nil, fmt.Errorf("list cores: %w", err)
	}
	var out []Rule
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		for _, m := range kept.FindAllStringSubmatch(string(text), -1) {
			out = append(out, Rule{m[1], m[2], filepath.Base(filepath.Dir(f))})
		}
	}
	sort.Slice(out, func(i, j int) bool { return key(out[i]) < key(out[j]) })
	return out, nil
}

// key sorts R2 before R10.
func key(r Rule) string {
	letter, number := r.Ruling[:1], strings.TrimLeft(r.Ruling, "RCDG")
	return fmt.Sprintf("%s%4s%s%s", letter, number, r.Package, r.Constant)
}

// Run fails when a rule can be removed without any test of its core noticing.
func (c *Command) Run() error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	all, err := Find(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lockstep-rules-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%-7s %-34s %-13s %-8s %s\n", "RULING", "SWITCH", "CORE", "SECONDS", "NOTICED BY")
	var survived []string
	shown := 0
	for _, r := range all {
		if c.Package != "" && c.Package != r.Package || c.Rule != "" && c.Rule != r.Ruling && c.Rule != r.Constant {
			continue
		}
		shown++
		test, took, err := try(root, dir, r)
		if err != nil {
			return err
		}
		if test == "" {
			survived = append(survived, r.Package+"."+r.Constant)
			test = "NOBODY"
		}
		fmt.Printf("%-7s %-34s %-13s %-8.1f %s\n", r.Ruling, r.Constant, r.Package, took.Seconds(), test)
	}
	if shown == 0 {
		return fmt.Errorf("no rule matches --package=%q --rule=%q", c.Package, c.Rule)
	}
	if len(survived) > 0 {
		return fmt.Errorf("%d of %d rules can be removed unnoticed: %s", len(survived), shown, strings.Join(survived, ", "))
	}
	fmt.Printf("%d rules, each noticed when it is off\n", shown)
	return nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the core's tests with the rule off and names the first test that fails.
func try(root, dir string, r Rule) (string, time.Duration, error) {
	binary := filepath.Join(dir, r.Package+".test")
	pkg := filepath.Join(root, "actors/core", r.Package)
	if _, err := os.Stat(binary); err != nil {
		if out, err := command(pkg, "go", "test", "-tags", "mutants", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
			return "", 0, fmt.Errorf("build tests of %s with switches: %w\n%s", r.Package, err, out)
		}
		if out, err := command(pkg, binary).CombinedOutput(); err != nil {
			return "", 0, fmt.Errorf("tests of %s fail with every rule on: %w\n%s", r.Package, err, out)
		}
	}
	cmd := command(pkg, binary, "-test.failfast", "-test.timeout=120s")
	cmd.Env = append(os.Environ(), "LOCKSTEP_RULE_OFF="+r.Constant)
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
	if m := failed.FindAllSubmatch(out, -1); m != nil {
		// A subtest says more than its parent; both are printed, the deepest last.
		best := m[0][1]
		for _, each := range m {
			if bytes.HasPrefix(each[1], best) {
				best = each[1]
			}
		}
		return string(best), took, nil
	}
	if i := bytes.Index(out, []byte("panic:")); i >= 0 {
		return "panic: " + firstLine(out[i+7:]), took, nil
	}
	return firstLine(out), took, nil
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
