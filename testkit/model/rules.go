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

// carriers are the packages of the machines that the search drives.
var carriers = []string{"actors/core/highwater", "actors/core/partition"}

// outside lists rules about what the search leaves out, so that nobody waits for a counterexample.
var outside = map[string]string{
	"followSourceStart": "retention", "publishedFloorAtStopping": "stopping", "fenceOldSessions": "stopping",
	"lastMirrorEpochOnce": "stopping", "resetDropsProducers": "stopping", "resetKeepsIdempotent": "stopping",
	"producersFollowTheLog": "idempotent producers", "duplicateWaitsForOriginal": "idempotent producers",
	"nameSlowestMirror": "texts of answers", "refuseBeforeAppend": "refusals", "obeyAdmission": "refusals",
	"boundPurgatory": "refusals", "ledgerWeakAcks": "acks=1", "countWeakAcks": "acks=1",
	"mirrorsAreReadOnly": "clients of the destination", "gateStartIsLEO": "evidence and claims",
	"raiseEpochAboveSource": "destination epochs start far above", "joinerHoldsFloor": "liveness",
	"quarantineBeforeTruncation": "side files", "answerForgottenCuts": "side files",
}

// rules builds this program with switches and runs the scenarios with one rule off at a time. A rule that
// no scenario misses is reported as such: other tests notice it, this search does not.
func (c *Command) rules() error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	all, err := rules.Find(root)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r rules.Rule) bool {
		return !slices.Contains(carriers, r.Package) || (c.Rule != "all" && c.Rule != r.Ruling && c.Rule != r.Switch)
	})
	if len(all) == 0 {
		return fmt.Errorf("no rule %q in %s", c.Rule, strings.Join(carriers, " and "))
	}
	dir, err := os.MkdirTemp("", "lockstep-model-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "testkit")
	build := exec.Command("go", "build", "-tags", "mutants", "-o", binary, "./testkit")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build with switches: %w\n%s", err, out)
	}
	fmt.Printf("%-7s %-26s %7s  %s\n", "RULING", "SWITCH", "SECONDS", "COUNTEREXAMPLE")
	found, tried := 0, 0
	for _, r := range all {
		began := time.Now()
		var how, trace string
		var err error
		if why, out := outside[r.Switch]; out {
			fmt.Printf("%-7s %-26s %7s  outside the model: %s\n", r.Ruling, r.Switch, "", why)
			continue
		}
		if how, trace, err = c.without(binary, r); err != nil {
			return err
		}
		if tried++; how == "" {
			how = "not reachable within bounds"
		} else {
			found++
		}
		fmt.Printf("%-7s %-26s %7.1f  %s\n", r.Ruling, r.Switch, time.Since(began).Seconds(), how)
		if c.Traces {
			fmt.Print(trace)
		}
	}
	fmt.Printf("%d of %d rules have a counterexample within bounds; %d are outside the model\n", found, tried, len(all)-tried)
	return nil
}

// without tries the scenarios, or the one that was asked for, until one goes wrong.
func (c *Command) without(binary string, r rules.Rule) (how, trace string, err error) {
	list := Scenarios()
	if c.Scenario != "" {
		list = chosen(c.Scenario)
	}
	for _, s := range list {
		args := []string{"model", "--scenario", s.Name, "--for", c.For.String(), "--limit", fmt.Sprint(c.Limit)}
		if c.AcksOnly {
			args = append(args, "--acks-only")
		}
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "LOCKSTEP_RULE_OFF="+r.Switch)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err == nil {
			continue
		}
		if !errors.As(err, &exit) {
			return "", "", fmt.Errorf("run %s: %w", binary, err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		last := strings.TrimPrefix(lines[len(lines)-1], "testkit: error: ")
		return last, strings.Join(lines[:len(lines)-1], "\n") + "\n", nil
	}
	return "", "", nil
}
