package suites

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"lockstep/testkit/fetched"
)

// Suite is the test suite of a public client or tool as its authors published it. Nothing of it is changed: it is told
// by its own variables and flags where the cluster is.
type Suite struct {
	Name    string
	Release string // what is run, with its version
	From    string // where it comes from
	Folder  string // of its installation, where it shares another suite's
	Needs   Needs
	Minutes int    // after which it is ended, unless --timeout says otherwise
	NotRun  string // why it cannot be run here; "" for those that can

	Install func(ctx context.Context, dir string) error // dir is kept between runs
	// Run reports each case as it ends. An error means that the suite itself could not be run to its end.
	Run func(ctx context.Context, site Site, report func(Case)) error
}

// Outcome of one test of a suite.
type Outcome string

const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped" // by the suite itself
)

// Case is one test of a suite: the innermost, where tests have parts.
type Case struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text,omitempty"` // what it said, when it did not pass
	Seconds float64 `json:"seconds"`
}

// All suites, in the order of the table.
func All() []Suite {
	return append([]Suite{
		kgoSuite(), kadmSuite(), kafkaGoSuite(), saramaSuite(), javaSuite(), librdkafkaSuite("default"), librdkafkaSuite("noautocreate"),
	}, notRun()...)
}

// lines runs cmd and calls each with every line of its output, both streams, which is kept in the site's log as well.
// How the program ended is its error.
func lines(cmd *exec.Cmd, site Site, each func(line string)) error {
	log, err := os.OpenFile(site.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	fetched.Group(cmd)
	fmt.Fprintln(log, "+", strings.Join(cmd.Args, " "))
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		w.Close()
		ended <- err
	}()
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			_, _ = log.WriteString(line)
			each(strings.TrimRight(line, "\r\n"))
		}
		if err != nil {
			return <-ended
		}
	}
}
