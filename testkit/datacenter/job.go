package datacenter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Job is a T outside of tests: a long proof that is typed. Log goes to standard output.
type Job struct {
	ctx   context.Context
	dir   string
	began time.Time

	mu       sync.Mutex
	cleanups []func()
	failures []string
	dirs     int
}

type fatal struct{}

// Do runs body as a test would be run: to its end or its first Fatal, then its cleanups. The error has every failure.
// The data is removed unless there was one.
func Do(name string, body func(*Job)) error {
	dir, err := os.MkdirTemp("", "lockstep-"+name+"-")
	if err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j := &Job{ctx: ctx, dir: dir, began: time.Now()}
	j.run(func() { body(j) })
	cancel()
	for len(j.cleanups) > 0 {
		last := j.cleanups[len(j.cleanups)-1]
		j.cleanups = j.cleanups[:len(j.cleanups)-1]
		j.run(last)
	}
	if len(j.failures) == 0 {
		return os.RemoveAll(dir)
	}
	return errors.New(strings.Join(j.failures, "\n") + "\ndata kept in " + dir)
}

func (j *Job) run(f func()) {
	defer func() {
		if p := recover(); p != nil {
			if _, ours := p.(fatal); !ours {
				panic(p)
			}
		}
	}()
	f()
}

// Helper does nothing.
func (j *Job) Helper() {}

// Context ends before the cleanups.
func (j *Job) Context() context.Context { return j.ctx }

// Cleanup runs f after the job, last one first.
func (j *Job) Cleanup(f func()) { j.mu.Lock(); defer j.mu.Unlock(); j.cleanups = append(j.cleanups, f) }

// TempDir is a directory of its own.
func (j *Job) TempDir() string {
	j.mu.Lock()
	j.dirs++
	dir := filepath.Join(j.dir, fmt.Sprint(j.dirs))
	j.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		j.Fatal(err)
	}
	return dir
}

// Failed reports whether there was an Error.
func (j *Job) Failed() bool { j.mu.Lock(); defer j.mu.Unlock(); return len(j.failures) > 0 }

// Failures are all of them so far.
func (j *Job) Failures() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.failures)
}

// Log prints a line with the time since the job began.
func (j *Job) Log(args ...any) {
	fmt.Printf("%8.2fs  %s", time.Since(j.began).Seconds(), fmt.Sprintln(args...))
}

// Logf is Log with a format.
func (j *Job) Logf(format string, args ...any) { j.Log(fmt.Sprintf(format, args...)) }

// Error records a failure and goes on.
func (j *Job) Error(args ...any) {
	text := strings.TrimSuffix(fmt.Sprintln(args...), "\n")
	j.mu.Lock()
	j.failures = append(j.failures, text)
	j.mu.Unlock()
	j.Log("FAIL", text)
}

// Errorf is Error with a format.
func (j *Job) Errorf(format string, args ...any) { j.Error(fmt.Sprintf(format, args...)) }

// Fatal records a failure and ends the job; only from its own goroutine.
func (j *Job) Fatal(args ...any) { j.Error(args...); panic(fatal{}) }

// Fatalf is Fatal with a format.
func (j *Job) Fatalf(format string, args ...any) { j.Fatal(fmt.Sprintf(format, args...)) }
