package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// BrokenError is a package whose tests cannot say anything about its rules.
type BrokenError struct {
	what, folder string
	Output       []byte // of the build or of the tests; nil after the first rule of the package
}

func (e *BrokenError) Error() string { return fmt.Sprintf("%s of %s", e.what, e.folder) }

// Trial tries rules, one at a time. Its test binaries are kept for the next rule of their package.
type Trial struct {
	root, dir string
	suites    map[string]*suite
	noticed   hints
}

// suite is the tests of a package, built so that a switch can be off.
type suite struct {
	pkg, folder, binary string
	broken              *BrokenError
	whole               bool // all tests have been run with every rule on, not only the hinted ones
}

// NewTrial begins with what is known about the tree at root. Close it.
func NewTrial(root string) (*Trial, error) {
	noticed, err := readHints(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockstep-rules-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	return &Trial{root: root, dir: dir, suites: map[string]*suite{}, noticed: noticed}, nil
}

// Close removes the test binaries.
func (t *Trial) Close() { _ = os.RemoveAll(t.dir) }

// note keeps what is known of the tree's rules for the next run.
func (t *Trial) note(tree []Rule) error {
	maps.DeleteFunc(t.noticed, func(r Rule, _ string) bool { return !slices.Contains(tree, r) })
	return t.noticed.write(t.root)
}

// Try runs the tests of the rule's package with the rule off and names the first test that fails, "" if
// none does. The test that noticed before is asked first, the others only if it does not notice. took is the run of
// the tests alone. The error is a *BrokenError if the tests fail with every rule on, or do not build.
func (t *Trial) Try(r Rule) (by string, took time.Duration, err error) {
	s := t.suite(r.Package)
	if s.broken != nil {
		once := *s.broken
		s.broken.Output = nil
		return "", 0, &once
	}
	began := time.Now()
	if hint := t.noticed[r]; hint != "" {
		if by, err = s.run(r.Switch, hint); by != "" || err != nil {
			return by, time.Since(began), err
		}
	}
	if s.check(""); s.broken != nil {
		return "", 0, s.broken
	}
	began = time.Now()
	by, err = s.run(r.Switch, "")
	if test := top(by); test != "" {
		t.noticed[r] = test
	}
	return by, time.Since(began), err
}

// suite builds the tests of a package and shows that those that will be asked first pass with every rule on.
func (t *Trial) suite(pkg string) *suite {
	if s := t.suites[pkg]; s != nil {
		return s
	}
	s := &suite{pkg: pkg, folder: filepath.Join(t.root, filepath.FromSlash(pkg)), binary: filepath.Join(t.dir, strings.ReplaceAll(pkg, "/", "-")+".test")}
	t.suites[pkg] = s
	if out, err := command(s.folder, "go", "test", "-tags", "mutants", "-c", "-o", s.binary, ".").CombinedOutput(); err != nil {
		s.broken = &BrokenError{"tests that do not build", pkg, out}
	} else if hinted := t.noticed.of(pkg); hinted != nil {
		s.check(strings.Join(hinted, "|"))
	}
	return s
}

// check runs tests with every rule on: one that fails anyway would seem to notice. "" is all of them.
func (s *suite) check(tests string) {
	if s.whole {
		return
	}
	s.whole = tests == ""
	if by, out := s.play("", tests); out != nil {
		s.broken = &BrokenError{"failing test " + by, s.pkg, out}
	}
}

// run returns the first test that fails with a switch off.
func (s *suite) run(off, tests string) (by string, err error) {
	by, out := s.play(off, tests)
	if out != nil && by == "" {
		err = fmt.Errorf("run tests of %s: %s", s.pkg, firstLine(out))
	}
	return by, err
}

// play runs tests; out is nil if they pass.
func (s *suite) play(off, tests string) (by string, out []byte) {
	cmd := command(s.folder, s.binary, "-test.failfast", "-test.timeout=120s", "-test.run=^("+cmp.Or(tests, ".*")+")$")
	cmd.Env = append(os.Environ(), "LOCKSTEP_RULE_OFF="+off)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", []byte(err.Error())
	}
	return Noticed(out), append(out, '\n')
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

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
