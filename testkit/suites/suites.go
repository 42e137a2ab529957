// Package suites runs test suites that other people wrote for Kafka, unchanged, against clusterd and against Kafka.
package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockstep/testkit/binaries"
	"lockstep/testkit/fetched"
)

const clusterd = "clusterd"

// Command is `testkit suites`.
type Command struct {
	Suites  []string      `arg:"" optional:"" help:"Only these, by name."`
	List    bool          `help:"Name the suites and end."`
	Against string        `enum:"clusterd,kafka" default:"clusterd" help:"What the suites test: clusterd, or Apache Kafka, to prove that what fails here fails there."`
	Timeout time.Duration `help:"Ends each suite after this; default: by suite."`
	JSON    bool          `name:"json" help:"Print the results as JSON at the end."`
	Write   bool          `help:"Keep the results in testkit/suites: results.json, and RESULTS.md made from it. With --list: the latter only."`
}

// Run runs the suites one after the other, each against a cluster of its own. It fails if a suite could not be run, or a
// test failed here that neither has a reason nor fails on Kafka.
func (c *Command) Run() error {
	suites, err := c.chosen()
	if err != nil {
		return err
	}
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	home := filepath.Join(root, "testkit", "suites")
	known, err := readResults(filepath.Join(home, "results.json"))
	if err != nil {
		return err
	}
	if c.List {
		for _, s := range suites {
			fmt.Printf("%-24s %-60s %s\n", s.Name, s.Release, s.NotRun)
		}
		return c.keep(home, known)
	}
	var results Results
	var wrong []error
	// What a suite started ends with it, however this ends.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	for _, s := range suites {
		if ctx.Err() != nil {
			return errors.Join(append(wrong, ctx.Err())...)
		}
		if s.NotRun != "" {
			fmt.Printf("%-16s not run: %s\n", s.Name, s.NotRun)
			continue
		}
		r := c.one(ctx, root, s)
		if known = known.with(r); r.Broken != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s", s.Name, r.Broken))
		}
		if u := known.unexplained(r); c.Against == clusterd && len(u) > 0 {
			wrong = append(wrong, fmt.Errorf("%s: failed without a reason: %s", s.Name, strings.Join(u, ", ")))
		}
		results = append(results, r)
		if err := c.keep(home, known); err != nil {
			return err
		}
	}
	if c.JSON {
		text, err := json.MarshalIndent(results, "", " ")
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	} else {
		fmt.Printf("\n%-16s %-10s %7s %7s %5s %8s\n", "SUITE", "AGAINST", "PASSED", "FAILED", "N/A", "SECONDS")
		for _, r := range results {
			p, f, n := r.count()
			fmt.Printf("%-16s %-10s %7d %7d %5d %8.0f  %s\n", r.Suite, r.Against, p, f, n, r.Seconds, r.Broken)
		}
	}
	return errors.Join(wrong...)
}

func (c *Command) chosen() ([]Suite, error) {
	all := All()
	for _, name := range c.Suites {
		if !slices.ContainsFunc(all, func(s Suite) bool { return s.Name == name }) {
			return nil, fmt.Errorf("no suite %q: `testkit suites --list` names them", name)
		}
	}
	return slices.DeleteFunc(all, func(s Suite) bool { return len(c.Suites) > 0 && !slices.Contains(c.Suites, s.Name) }), nil
}

// one installs and runs a suite.
func (c *Command) one(ctx context.Context, root string, s Suite) Result {
	r := Result{
		Suite: s.Name, Release: s.Release, Against: c.Against, Commit: commit(root), Date: time.Now().UTC().Format(time.DateOnly),
		Command: "go run ./testkit suites " + s.Name,
	}
	if c.Against != clusterd {
		r.Command += " --against " + c.Against
	}
	began := time.Now()
	if err := c.play(ctx, s, &r); err != nil {
		r.Broken = err.Error()
		fmt.Printf("%-16s %s\n", s.Name, r.Broken)
	}
	r.Seconds = float64(int(time.Since(began).Seconds()))
	return r
}

func (c *Command) play(ctx context.Context, s Suite, r *Result) error {
	patience := c.Timeout
	if patience == 0 {
		patience = time.Duration(s.Minutes) * time.Minute
	}
	folder := s.Folder
	if folder == "" {
		folder = s.Name
	}
	dir, err := fetched.Dir(filepath.Join("suites", folder))
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.Install(ctx, dir); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	fmt.Printf("%-16s installed %.0f s\n", s.Name, time.Since(began).Seconds())
	log := filepath.Join(filepath.Dir(dir), s.Name+"-"+c.Against+".log")
	_ = os.Remove(log)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	site, stop, err := startSite(ctx, s, c.Against, dir, log)
	if err != nil {
		return err
	}
	fmt.Printf("%-16s runs against %s, its output is in %s\n", s.Name, c.Against, log)
	say := newProgress(s.Name)
	err = s.Run(ctx, site, func(one Case) { r.add(one); say.ended(one) })
	say.stop()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("ended after %s", patience)
	}
	return errors.Join(err, stop())
}

// keep writes what is known, if that was asked for.
func (c *Command) keep(home string, known Results) error {
	if !c.Write {
		return nil
	}
	if err := known.write(filepath.Join(home, "results.json")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "RESULTS.md"), []byte(markdown(All(), known)), 0o644)
}

// commit is what the tree is at, with + if it was changed since.
func commit(root string) string {
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		text, err := cmd.Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(text))
	}
	at := git("rev-parse", "--short", "HEAD")
	if git("status", "--porcelain", "--untracked-files=no", "--", "*.go") != "" {
		at += "+"
	}
	return at
}
