package tidy

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep/testkit/binaries"
)

const longest = 400 // lines; past this a file holds a second noun

var (
	vague      = regexp.MustCompile(`^(util|utils|common|helper|helpers|types|misc|base)(_test)?(\.go)?$`)
	unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	sleeping   = regexp.MustCompile(`\btime\.Sleep\(`)
)

func walk(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "data") {
				return filepath.SkipDir
			}
			if vague.MatchString(d.Name()) {
				t.Errorf("%s: name a folder for what it holds", rel)
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		visit(rel, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreShortNamedAndFinished(t *testing.T) {
	walk(t, func(path string, text []byte) {
		if vague.MatchString(filepath.Base(path)) {
			t.Errorf("%s: name a file for its noun", path)
		}
		if strings.HasSuffix(path, "_gen.go") || strings.HasPrefix(path, "testkit/tidy/") {
			return
		}
		if n := bytes.Count(text, []byte("\n")); n > longest {
			t.Errorf("%s: %d lines, more than %d; what is the second noun?", path, n, longest)
		}
		if m := unfinished.Find(text); m != nil {
			t.Errorf("%s: %s: finish it or leave it out", path, m)
		}
	})
}

// clock matches what reads or waits for a real clock; durations as constants are fine.
var clock = regexp.MustCompile(`\btime\.(Now|Since|Until|After|AfterFunc|Tick|NewTimer|NewTicker|Sleep)\(`)

func TestCoresReadNoClock(t *testing.T) {
	walk(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "actors/core/") && !strings.HasSuffix(path, "_test.go") {
			if m := clock.Find(text); m != nil {
				t.Errorf("%s: %s: time arrives as core.Now beside a command", path, m)
			}
		}
	})
}

func TestNoTestWaitsByTheClock(t *testing.T) {
	walk(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") && sleeping.Match(text) && !strings.HasPrefix(path, "testkit/tidy/") {
			t.Errorf("%s: time.Sleep in a test; wait for the event itself", path)
		}
	})
}

func TestEveryPackageHasATest(t *testing.T) {
	code, tested := map[string]bool{}, map[string]bool{}
	walk(t, func(path string, text []byte) {
		dir := filepath.Dir(path)
		if strings.HasSuffix(path, "_test.go") {
			tested[dir] = true
		} else if !strings.HasSuffix(path, "_gen.go") {
			code[dir] = true
		}
	})
	for dir := range code {
		if !tested[dir] && !testedElsewhere[dir] {
			t.Errorf("%s has no test: a room enters the tree when it has one", dir)
		}
	}
}

// testedElsewhere lists packages whose whole content another package's tests or long runs exercise.
var testedElsewhere = map[string]bool{
	"actors/core":       true, // vocabulary only
	"actors/core/rules": true, // compiled only with the switches on
	"testkit":           true, // flags only
	"testkit/binaries":  true, // every real-process test builds through it
	"testkit/clients":   true, // is itself a test
	"testkit/crash":     true, // is itself a test
	"testkit/jvm":       true, // clients and frameworks run through it
}

func TestReadmeMapAndFoldersAgree(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	mentioned := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z/]+)/` \\|").FindAllStringSubmatch(string(readme), -1) {
		mentioned[m[1]] = true
		if st, err := os.Stat(filepath.Join(root, m[1])); err != nil || !st.IsDir() {
			t.Errorf("README maps %s/, which is not a folder", m[1])
		}
	}
	for _, top := range []string{"actors", "journal", "protocol", "cli", "clusterd", "testkit"} {
		entries, err := os.ReadDir(filepath.Join(root, top))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			room := top + "/" + e.Name()
			if e.IsDir() && e.Name() != "testdata" && !mentioned[room] && !mentioned[top] {
				t.Errorf("README's map leaves out %s/", room)
			}
		}
	}
}
