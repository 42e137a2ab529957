package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/testkit/binaries"
)

// compatIDs are the rows that protocol/COMPAT.md must have.
func compatIDs() (ids []string) {
	for family, last := range map[string]int{"1.3.": 12, "F": 20, "L": 11, "E": 8, "H": 12, "P": 15, "T": 24, "R": 10, "G": 16, "A": 15, "S": 9, "J": 4, "K": 8} {
		for n := 1; n <= last; n++ {
			id := fmt.Sprintf("%s%02d", family, n)
			if family == "K" || family == "1.3." {
				id = fmt.Sprint(family, n)
			}
			ids = append(ids, id)
		}
	}
	for _, n := range []int{1, 2, 3, 4, 8, 9, 10, 11, 12, 14, 15, 17, 20, 21, 22, 23, 24, 26, 28, 29, 30, 32, 33, 34, 35, 36, 37, 39, 40, 41, 44, 48, 49, 51, 52, 53, 54, 55, 57, 58} {
		ids = append(ids, fmt.Sprintf("M%02d", n))
	}
	return ids
}

var (
	compatRow = regexp.MustCompile(`(?m)^\| ([A-Z0-9][0-9.]+) \| (.+) \| (.+) \|$`)
	aTest     = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	testFunc  = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	cited     = regexp.MustCompile(`compat-([A-Z][0-9]{1,2})\b`)
)

// Each row of the list names tests that exist, or a reason; no row is missing, or there twice; and what code cites is a row.
func TestTheListOfWhatOthersGotWrongIsWhole(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	want := compatIDs()
	walk(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				tests[string(m[1])] = true
			}
		}
		for _, m := range cited.FindAllSubmatch(text, -1) {
			if !slices.Contains(want, string(m[1])) && !strings.HasPrefix(path, "testkit/tidy/") {
				t.Errorf("%s cites compat-%s, which is no row", path, m[1])
			}
		}
	})
	list, err := os.ReadFile(filepath.Join(root, "protocol", "COMPAT.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range compatRow.FindAllStringSubmatch(string(list), -1) {
		id, by := m[1], m[3]
		seen[id]++
		named := aTest.FindAllStringSubmatch(by, -1)
		for _, n := range named {
			if !tests[n[1]] {
				t.Errorf("%s names %s, which is no test", id, n[1])
			}
		}
		reason := strings.HasPrefix(by, "not here: ") || strings.HasPrefix(by, "not yet: ")
		if rest := strings.TrimSpace(aTest.ReplaceAllString(by, "")); !reason && (len(named) == 0 || rest != "") {
			t.Errorf("%s is shown by %q: name tests only, or say \"not here: \" or \"not yet: \" and why", id, by)
		}
	}
	for _, id := range want {
		if seen[id] != 1 {
			t.Errorf("%s is there %d times", id, seen[id])
		}
		delete(seen, id)
	}
	for id := range seen {
		t.Errorf("%s is a row that nobody asked for", id)
	}
}
