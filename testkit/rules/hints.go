package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// hints are the tests that noticed a rule's absence when it was last looked for. A hint that no longer holds costs
// its run and nothing else.
type hints map[Rule]string

// hintFile is below the tree's root: a line for each rule, `ruling switch package test`.
const hintFile = "testkit/rules/noticed.txt"

func readHints(root string) (hints, error) {
	text, err := os.ReadFile(filepath.Join(root, hintFile))
	if errors.Is(err, fs.ErrNotExist) {
		return hints{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read hints: %w", err)
	}
	return parseHints(string(text))
}

func parseHints(text string) (hints, error) {
	h := hints{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("%s:%d: %q is not `ruling switch package test`; `go run ./testkit rules --write` writes the file anew", hintFile, i+1, line)
		}
		h[Rule{f[0], f[1], f[2]}] = f[3]
	}
	return h, nil
}

func (h hints) write(root string) error {
	var all []Rule
	for r := range h {
		all = append(all, r)
	}
	slices.SortFunc(all, before)
	var b bytes.Buffer
	for _, r := range all {
		fmt.Fprintln(&b, r.Ruling, r.Switch, r.Package, h[r])
	}
	return os.WriteFile(filepath.Join(root, hintFile), b.Bytes(), 0o644)
}

// of lists the hinted tests of a package, each once.
func (h hints) of(pkg string) []string {
	var tests []string
	for r, test := range h {
		if r.Package == pkg {
			tests = append(tests, test)
		}
	}
	slices.Sort(tests)
	return slices.Compact(tests)
}

var testName = regexp.MustCompile(`^Test\w*`)

// top is the test that can be asked for by name: of a subtest its parent, of a panic none.
func top(by string) string { return testName.FindString(by) }
