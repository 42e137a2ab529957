package model

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockstep/testkit/binaries"
	"lockstep/testkit/rules"
)

// Hunt switches single rules off in this very program and looks for a schedule that goes wrong.
type Hunt struct {
	binary string
	dir    string
}

// NewHunt builds this program with switches. Close removes it.
func NewHunt(root string) (*Hunt, error) {
	dir, err := os.MkdirTemp("", "lockstep-model-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	h := &Hunt{binary: filepath.Join(dir, "testkit"), dir: dir}
	build := exec.Command("go", "build", "-tags", "mutants", "-o", h.binary, "./testkit")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		h.Close()
		return nil, fmt.Errorf("build with switches: %w\n%s", err, out)
	}
	return h, nil
}

func (h *Hunt) Close() { _ = os.RemoveAll(h.dir) }

// Run runs this program, with switches, and returns what it printed.
func (h *Hunt) Run(args ...string) ([]byte, error) {
	return exec.Command(h.binary, args...).CombinedOutput()
}

// Without explores a scenario with one rule off. violation is empty if every schedule keeps its promises.
func (h *Hunt) Without(name, scenario string, flags ...string) (violation, trace string, err error) {
	cmd := exec.Command(h.binary, append([]string{"model", "--scenario", scenario}, flags...)...)
	cmd.Env = append(os.Environ(), "LOCKSTEP_RULE_OFF="+name)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", "", nil
	case !errors.As(err, &exit):
		return "", "", fmt.Errorf("run %s: %w", h.binary, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last, said := strings.CutPrefix(lines[len(lines)-1], "testkit: error: ")
	if !said || !strings.Contains(last, "steps from the quiet start") {
		return "", "", fmt.Errorf("scenario %s without %s: %s", scenario, name, out)
	}
	return last, strings.Join(lines[:len(lines)-1], "\n") + "\n", nil
}

// rules is the table: every rule of the models, the schedule that goes wrong without it, or why none
// can be found here.
func (c *Command) rules(until time.Time) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	all, err := rules.Find(root)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r rules.Rule) bool {
		return !ofModel(r) || (c.Rule != "all" && c.Rule != r.Ruling && c.Rule != r.Switch)
	})
	if len(all) == 0 {
		return fmt.Errorf("no rule %q in the models", c.Rule)
	}
	h, err := NewHunt(root)
	if err != nil {
		return err
	}
	defer h.Close()
	fmt.Printf("%-7s %-26s %-12s %7s  %-20s %s\n", "RULING", "SWITCH", "PACKAGE", "SECONDS", "SCENARIO", "COUNTEREXAMPLE")
	found := 0
	var survived, unknown []string
	for _, r := range all {
		row := func(seconds, scenario, text string) {
			fmt.Printf("%-7s %-26s %-12s %7s  %-20s %s\n", r.Ruling, r.Switch, filepath.Base(r.Package), seconds, scenario, text)
		}
		scenario, inside := Counterexamples[r.Switch]
		if c.Scenario != allScenarios {
			scenario, inside = c.Scenario, true
		}
		if !inside && Outside(r) == "" {
			unknown = append(unknown, r.Switch)
			row("", "-", "not looked at: give it a scenario or a reason in testkit/model/outside.go")
			continue
		}
		if !inside {
			row("", "-", "outside: "+Outside(r))
			continue
		}
		began := time.Now()
		flags := []string{"--budget", time.Until(until).Round(time.Second).String(), "--limit", fmt.Sprint(c.Limit)}
		if c.AcksOnly {
			flags = append(flags, "--acks-only")
		}
		violation, trace, err := h.Without(r.Switch, scenario, flags...)
		switch {
		case err != nil:
			return err
		case violation == "":
			survived = append(survived, r.Switch)
			violation = "NONE"
		default:
			found++
		}
		row(fmt.Sprintf("%.1f", time.Since(began).Seconds()), scenario, violation)
		if c.Traces {
			fmt.Print(trace)
		}
	}
	fmt.Printf("%d rules: %d with a counterexample, %d outside the model\n", len(all), found, len(all)-found-len(survived)-len(unknown))
	if unknown != nil {
		return fmt.Errorf("neither a scenario nor a reason for %s", strings.Join(unknown, ", "))
	}
	if survived != nil {
		return fmt.Errorf("no counterexample without %s", strings.Join(survived, ", "))
	}
	return nil
}
