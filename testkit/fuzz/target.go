package fuzz

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Target is one fuzz function. Package is its folder below the tree's root, with slashes.
type Target struct{ Package, Name string }

func (t Target) String() string { return t.Package + " " + t.Name }

var declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// Find lists the targets of every test below root, by package and name.
func Find(root string) (out []Target, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			out = append(out, Target{filepath.ToSlash(folder), string(m[1])})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list fuzz targets: %w", err)
	}
	slices.SortFunc(out, func(a, b Target) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

// result is what one target did.
type result struct {
	Target      string  `json:"target"`
	Seconds     float64 `json:"seconds"`
	Executions  int     `json:"executions"`
	Interesting int     `json:"interesting"` // inputs that reached something new, known ones included
	Found       string  `json:"found,omitempty"`

	other []string // lines that are no progress
}

var progress = regexp.MustCompile(`^fuzz: elapsed: .*execs: (\d+) .*\(total: (\d+)\)`)

// take reads a line of `go test`; true if it is progress.
func (r *result) take(line string) bool {
	if m := progress.FindStringSubmatch(line); m != nil {
		r.Executions, _ = strconv.Atoi(m[1])
		r.Interesting, _ = strconv.Atoi(m[2])
		return true
	}
	if strings.HasPrefix(line, "fuzz: elapsed") {
		return true
	}
	const kept = 40
	if r.other = append(r.other, line); len(r.other) > kept {
		r.other = r.other[1:]
	}
	return false
}

// failed tells what a target found from the lines that are no progress. A run whose time ends while an input is on its way
// is failed by `go test` without one: it found nothing.
func (r *result) failed(err error) {
	text := strings.TrimSpace(strings.Join(r.other, "\n"))
	switch {
	case text == "":
		r.Found = err.Error()
	case strings.Contains(text, "context deadline exceeded") && !strings.Contains(text, "Failing input") && !strings.Contains(text, "_test.go:"):
	default:
		r.Found = text
	}
}

func (r *result) line() string {
	if r.Found != "" {
		return "FOUND: " + r.Found
	}
	return fmt.Sprintf("%d executions, %d interesting inputs", r.Executions, r.Interesting)
}
