package suites

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// goTests runs the tests of the package in folder with what go test is told further.
func goTests(ctx context.Context, site Site, folder string, env []string, report func(Case), args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-timeout=0"}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	// The module that holds the suite is the main one then, and is not to be read as a part of anything else.
	cmd.Env = append(cmd.Env, "GOWORK=off", "GOFLAGS=")
	var tests goOutput
	err := lines(cmd, site, func(line string) { tests.add(line, report) })
	tests.end(report)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) && tests.seen > 0 {
		return nil // it is how go test says that a test failed
	}
	return err
}

// goOutput reads what `go test -json` prints. A parent's end comes before those of its parts, so whether it failed by
// itself is known only at the end.
type goOutput struct {
	seen    int
	running map[string]*goTest
	parents map[string]*goTest // that have ended as failed and have parts
	failed  []string
}

type goTest struct {
	parts bool
	said  []string
}

func (o *goOutput) add(line string, report func(Case)) {
	var e struct {
		Action, Test, Output string
		Elapsed              float64
	}
	if json.Unmarshal([]byte(line), &e) != nil || e.Test == "" {
		return
	}
	if o.running == nil {
		o.running, o.parents = map[string]*goTest{}, map[string]*goTest{}
	}
	switch e.Action {
	case "run":
		o.running[e.Test] = &goTest{}
		for i, r := range e.Test {
			if p := o.running[e.Test[:i]]; r == '/' && p != nil {
				p.parts = true
			}
		}
	case "output":
		if t := o.running[e.Test]; t != nil {
			t.said = append(t.said, e.Output)
			t.said = t.said[max(0, len(t.said)-400):]
		}
	case "pass", "fail", "skip":
		t := o.running[e.Test]
		if t == nil {
			return
		}
		delete(o.running, e.Test)
		c := Case{Name: e.Test, Outcome: Passed, Seconds: e.Elapsed}
		switch {
		case e.Action == "fail":
			c.Outcome, c.Text = Failed, goComplaint(t.said)
			o.failed = append(o.failed, e.Test)
		case e.Action == "skip":
			c.Outcome, c.Text = Skipped, goComplaint(t.said)
		}
		o.seen++
		if !t.parts {
			report(c)
		} else if e.Action == "fail" {
			o.parents[e.Test] = t
		}
	}
}

// end reports what never ended, and parents that failed though no part of them did.
func (o *goOutput) end(report func(Case)) {
	for name, t := range o.parents {
		if !anyBelow(o.failed, name) {
			report(Case{Name: name, Outcome: Failed, Text: goComplaint(t.said)})
		}
	}
	for name, t := range o.running {
		if !t.parts {
			report(Case{Name: name, Outcome: Failed, Text: "did not end: " + goComplaint(t.said)})
		}
	}
}

func anyBelow(names []string, parent string) bool {
	for _, n := range names {
		if strings.HasPrefix(n, parent+"/") {
			return true
		}
	}
	return false
}

// spoken matches what a test says itself, by file and line; what else is printed is its client's log.
var spoken = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

func goComplaint(said []string) string {
	var own, other []string
	for i, line := range said {
		if m := spoken.FindStringSubmatch(line); m != nil {
			text := m[1]
			// testify puts the message below the line that it names.
			for j := i + 1; j < len(said) && j < i+12 && strings.TrimSpace(text) == ""; j++ {
				if _, after, ok := strings.Cut(said[j], "Error:"); ok {
					text = after
				}
			}
			if text = strings.TrimSpace(text); len(own) == 0 || own[len(own)-1] != text {
				own = append(own, text)
			}
		} else if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "=== ") && !strings.HasPrefix(s, "--- ") {
			other = append(other, s)
		}
	}
	if len(own) == 0 {
		own = other[max(0, len(other)-3):]
	}
	return short(strings.Join(own, "; "))
}

// short is what fits into a table.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:200], "") + " … " + strings.ToValidUTF8(text[len(text)-200:], "")
	}
	return text
}

// modFile copies the go.mod of dir to where go may complete it, and returns the flags that have go test use the copy.
func modFile(dir, to string) ([]string, error) {
	for _, ext := range []string{".mod", ".sum"} {
		text, err := os.ReadFile(filepath.Join(dir, "go"+ext))
		if err == nil {
			err = os.WriteFile(to+ext, text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return []string{"-modfile=" + to + ".mod", "-mod=mod"}, nil
}
