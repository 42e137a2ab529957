package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep/testkit/binaries"
)

// bullets are how many each part of the draft's Test Plan has; a nested list counts as its bullet.
var bullets = map[Part]int{Unit: 14, Integration: 21, System: 6}

func TestEveryBulletOfTheTestPlanIsCovered(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Part]int{}
	for _, b := range Plan {
		seen[b.Part]++
		if len(b.By) == 0 && b.Waiting == "" {
			t.Errorf("nothing covers: %s", b.Text)
		}
		if b.Waiting != "" {
			t.Logf("waiting for %s: %s", b.Waiting, b.Text)
		}
		for _, s := range b.By {
			if !exists(t, root, s) {
				t.Errorf("%s is covered by %s.%s%s, which does not exist", b.Text, s.Package, s.Test, s.Command)
			}
		}
	}
	for part, n := range bullets {
		if seen[part] != n {
			t.Errorf("%s: %d bullets of %d", part, seen[part], n)
		}
	}
}

// exists looks a script up in the source, so that a renamed test is noticed.
func exists(t *testing.T, root string, s Script) bool {
	t.Helper()
	pattern, files := regexp.MustCompile(`(?m)^func `+regexp.QuoteMeta(s.Test)+`\(t \*testing\.T\)`), "*_test.go"
	if s.Command != "" {
		words := strings.Fields(s.Command)
		pattern, files = regexp.MustCompile(`(?m)^\s+`+regexp.QuoteMeta(words[1])+`\s+\w+\s+`+"`cmd:"), "*.go"
		pattern = regexp.MustCompile("(?mi)" + strings.TrimPrefix(pattern.String(), "(?m)"))
	}
	names, err := filepath.Glob(filepath.Join(root, s.Package, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if pattern.Match(text) {
			return true
		}
	}
	return false
}

func TestEveryScriptOfThisPackageIsNamedByTheBulletItCovers(t *testing.T) {
	named := map[string]bool{"TestMain": true}
	for _, b := range Plan {
		for _, s := range b.By {
			if s.Package == "testkit/scenario" {
				named[s.Test] = true
			}
		}
	}
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "testkit/scenario", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, name := range names {
		if filepath.Base(name) == "plan_test.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range test.FindAllStringSubmatch(string(text), -1) {
			if !named[m[1]] {
				t.Errorf("%s covers no bullet", m[1])
			}
		}
	}
}
