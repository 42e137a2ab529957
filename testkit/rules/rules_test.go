package rules

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/testkit/binaries"
)

func TestParseReadsSwitches(t *testing.T) {
	text := "var (\n\trequireMirrorTerm = rules.Kept(\"R4 requireMirrorTerm\")\n\tkeepIt   = rules.Kept(\"C13 keepIt\")\n)\n"
	got, err := Parse("actors/core/highwater", text)
	want := []Rule{{"R4", "requireMirrorTerm", "actors/core/highwater"}, {"C13", "keepIt", "actors/core/highwater"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	for text, complaint := range map[string]string{
		`a = rules.Kept("R4 b")`:                           "switch a asks for b",
		`a = rules.Kept("requireMirrorTerm")`:              "1 of 1 switches do not read",
		"a = rules.Kept(\"R1 a\")\nb = rules.Kept(name())": "1 of 2 switches do not read",
	} {
		if _, err := Parse("p", text); err == nil || !strings.Contains(err.Error(), complaint) || !strings.Contains(err.Error(), "p/rules_mutants.go") {
			t.Errorf("%s: %v, want %q and the file", text, err, complaint)
		}
	}
}

func TestRulesComeInTheOrderOfTheirRulings(t *testing.T) {
	want := []Rule{{"R2", "z", "b"}, {"R10", "a", "a"}, {"R10", "b", "a"}, {"R10", "a", "b"}, {"C1", "a", "a"}, {"C13", "a", "a"}, {"A26", "a", "a"}, {"D9", "a", "a"}, {"F5", "a", "a"}}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, before); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestSelection(t *testing.T) {
	r := Rule{"R4", "requireMirrorTerm", "actors/core/highwater"}
	for _, c := range []struct {
		Command
		want bool
	}{
		{Command{}, true}, {Command{Package: "highwater"}, true}, {Command{Package: "actors/core/highwater"}, true}, {Command{Package: "water"}, false},
		{Command{Rule: "R4"}, true}, {Command{Rule: "requireMirrorTerm"}, true}, {Command{Rule: "R"}, false}, {Command{Package: "mirror", Rule: "R4"}, false},
	} {
		if got := c.wants(r); got != c.want {
			t.Errorf("--package=%q --rule=%q wants it: %v", c.Package, c.Rule, got)
		}
	}
}

func TestTheNoticingTestIsNamed(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestTable (0.00s)\n    --- FAIL: TestTable/second_row (0.00s)\n        x_test.go:3: no\nFAIL\n": "TestTable/second_row",
		"--- FAIL: TestOne (0.00s)\n--- FAIL: TestTwo (0.00s)\n":                                                   "TestOne",
		"panic: in a goroutine\n\ngoroutine 7 [running]:\n":                                                        "panic: in a goroutine",
		"killed\nmore\n": "killed",
	} {
		if got := Noticed([]byte(out)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEveryRulingHasASwitch(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	if missing := Without(all); missing != nil {
		t.Errorf("no switch for %v", missing)
	}
	if missing := Without(slices.DeleteFunc(slices.Clone(all), func(r Rule) bool { return r.Ruling == "C13" })); !slices.Equal(missing, []string{"C13"}) {
		t.Errorf("without the switches of C13, missing are %v", missing)
	}
	// A switch without its constant breaks only the mutant build, a constant without its switch is tried by nobody.
	for _, folder := range folders(all) {
		text, err := os.ReadFile(filepath.Join(root, folder, "rules.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\s*(?:const )?(\w+)\s*= true`).FindAllStringSubmatch(string(text), -1) {
			if !slices.ContainsFunc(all, func(r Rule) bool { return r.Package == folder && r.Switch == m[1] }) {
				t.Errorf("%s/rules.go: %s cannot be switched off; add it to rules_mutants.go", folder, m[1])
			}
		}
	}
}

func folders(all []Rule) []string {
	var out []string
	for _, r := range all {
		if !slices.Contains(out, r.Package) {
			out = append(out, r.Package)
		}
	}
	return out
}

func TestHintsAreReadAsTheyWereWritten(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(hintFile)), 0o755); err != nil {
		t.Fatal(err)
	}
	r5, c1 := Rule{"R5", "a", "actors/x"}, Rule{"C1", "b", "actors/x"}
	trial := &Trial{root: root, noticed: hints{r5: "TestA", c1: "TestA", {"R6", "gone", "actors/x"}: "TestOfNothing"}}
	if err := trial.note([]Rule{r5, c1}); err != nil {
		t.Fatal(err)
	}
	got, err := readHints(root)
	if want := (hints{r5: "TestA", c1: "TestA"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, %v; want %v", got, err, want)
	}
	if tests := got.of("actors/x"); !slices.Equal(tests, []string{"TestA"}) {
		t.Errorf("asks %v first", tests)
	}
	if _, err := parseHints("R5 a actors/x TestA\nR6 b\n"); err == nil || !strings.Contains(err.Error(), hintFile+":2") {
		t.Errorf("a torn line: %v", err)
	}
	for by, want := range map[string]string{"TestTable/second_row": "TestTable", "TestOne": "TestOne", "panic: in a goroutine": ""} {
		if top(by) != want {
			t.Errorf("%q is asked for as %q", by, top(by))
		}
	}
}

// TestAHintSavesTimeAndNoMore: a hint is asked first; one that is wrong changes no verdict, and a test that fails with
// every rule on notices nothing.
func TestAHintSavesTimeAndNoMore(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"p/p_test.go": `package p

import (
	"os"
	"testing"
)

func TestOther(t *testing.T) {}
func TestNotices(t *testing.T) {
	if os.Getenv("LOCKSTEP_RULE_OFF") == "kept" {
		t.Error("off")
	}
}
`,
		"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Error(1) }\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trial, err := NewTrial(root)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	kept, unseen, failing := Rule{"R1", "kept", "p"}, Rule{"R1", "unseen", "p"}, Rule{"R1", "any", "q"}
	for _, hint := range []string{"TestNotices", "TestOther", "TestOfNothing", ""} {
		trial.noticed = hints{kept: hint, unseen: hint, failing: "TestFails"}
		if by, _, err := trial.Try(kept); by != "TestNotices" || err != nil || trial.noticed[kept] != "TestNotices" {
			t.Errorf("hint %q: noticed by %q (%v), the next hint is %q", hint, by, err, trial.noticed[kept])
		}
		if by, _, err := trial.Try(unseen); by != "" || err != nil {
			t.Errorf("hint %q: a rule that nobody sees is noticed by %q, %v", hint, by, err)
		}
		var broken *BrokenError
		if by, _, err := trial.Try(failing); !errors.As(err, &broken) {
			t.Errorf("a test that always fails noticed: %q, %v", by, err)
		}
	}
}
