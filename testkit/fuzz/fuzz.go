// Package fuzz gives every fuzz target of the tree its time, one after the other.
package fuzz

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"lockstep/testkit/binaries"
	"lockstep/testkit/outcome"
)

// Command is `testkit fuzz`.
type Command struct {
	For     time.Duration `default:"5s" help:"How long each target runs, after its known inputs."`
	Only    string        `help:"Only targets whose package and name, as in protocol/batch FuzzStored, contain this."`
	Workers int           `default:"1" help:"Processes that fuzz at a time."`
	List    bool          `help:"Print the targets and end."`
	JSON    string        `name:"json" type:"path" help:"Write what was run to this file; - is standard output."`
}

// Run runs every target to its end, and fails if one of them found something. What it found lies in testdata/fuzz of its
// package, where plain tests run it from then on: it is committed with the fix.
func (c *Command) Run() error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	all, err := Find(root)
	if err != nil {
		return err
	}
	var chosen []Target
	for _, t := range all {
		if strings.Contains(t.String(), c.Only) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no target of %d is called %q; --list prints them", len(all), c.Only)
	}
	if c.List {
		for _, t := range chosen {
			fmt.Println(t)
		}
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Printf("fuzz: %d targets, %s each\n", len(chosen), c.For)
	var results []result
	for i, t := range chosen {
		fmt.Printf("%2d of %d  %s\n", i+1, len(chosen), t)
		r := c.fuzz(ctx, root, t)
		results = append(results, r)
		fmt.Printf("          %s\n", r.line())
		if ctx.Err() != nil {
			break
		}
	}
	return c.tell(results)
}

// fuzz runs one target in a process of its own, as `go test` does.
func (c *Command) fuzz(ctx context.Context, root string, t Target) result {
	r := result{Target: t.String()}
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.Name+"$", "-fuzztime", c.For.String(), "-parallel", fmt.Sprint(c.Workers), "./"+t.Package)
	cmd.Dir = root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	ended := make(chan error, 1)
	go func() {
		err := cmd.Run()
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	said := began
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if r.take(lines.Text()) && time.Since(said) > 30*time.Second {
			said = time.Now()
			fmt.Printf("          %s\n", r.line())
		}
	}
	r.Seconds = time.Since(began).Seconds()
	if err := <-ended; err != nil && ctx.Err() == nil {
		r.failed(err)
	}
	return r
}

// tell prints the table, and writes the report.
func (c *Command) tell(results []result) error {
	found := 0
	fmt.Printf("%-44s %8s %12s %12s  %s\n", "target", "seconds", "executions", "interesting", "found")
	for _, r := range results {
		verdict := "nothing"
		if r.Found != "" {
			found++
			verdict = r.Found
		}
		fmt.Printf("%-44s %8.0f %12d %12d  %s\n", r.Target, r.Seconds, r.Executions, r.Interesting, verdict)
	}
	if err := outcome.Write(c.JSON, map[string]any{"each": c.For.String(), "targets": results}); err != nil {
		return err
	}
	if found > 0 {
		return fmt.Errorf("%d of %d targets found something; the inputs are in testdata/fuzz of their packages, commit them with the fix", found, len(results))
	}
	return nil
}
