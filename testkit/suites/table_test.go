package suites

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTableCountsAndExplains(t *testing.T) {
	kept := reasons
	defer func() { reasons = kept }()
	reasons = []Reason{
		{Suite: "s", Test: "TestDocker", Why: "wants docker", NotApplicable: true},
		{Suite: "s", Test: "TestScram*", Why: "waits for SCRAM"},
	}
	here := Result{Suite: "s", Release: "s v1", Against: clusterd, Commit: "abc", Date: "2026-11-30", Command: "go run ./testkit suites s", Seconds: 61}
	for _, c := range []Case{
		{Name: "TestFine", Outcome: Passed},
		{Name: "TestDocker/stop", Outcome: Failed, Text: "exit 1"},
		{Name: "TestScram256", Outcome: Failed, Text: "EOF"},
		{Name: "TestBoth", Outcome: Failed, Text: "a | b"},
		{Name: "TestOurs", Outcome: Failed, Text: "wrong"},
		{Name: "TestLeftOut", Outcome: Skipped, Text: "no TLS"},
	} {
		here.add(c)
	}
	kafka := Result{Suite: "s", Against: apacheKafka, Passed: 5}
	kafka.add(Case{Name: "TestBoth", Outcome: Failed})
	rs := Results{}.with(here).with(kafka).with(kafka)
	if len(rs) != 2 {
		t.Fatalf("%d results, want the newest of each", len(rs))
	}
	if got := rs.unexplained(here); len(got) != 1 || got[0] != "TestOurs" {
		t.Errorf("unexplained: %v", got)
	}
	got := markdown([]Suite{{Name: "s"}, {Name: "js", NotRun: "the package holds no tests"}}, rs)
	for _, want := range []string{
		"| s | s v1 | 1 / 3 / 2 | 5 / 1 / 0 | 61 | abc | 2026-11-30 | `go run ./testkit suites s` |",
		"| js |  | not run | not run |",
		"| TestScram256 | failed | passed | waits for SCRAM |",
		"| TestBoth | failed | failed | a \\| b |",
		"| TestDocker/stop | n/a | passed | wants docker |",
		"| TestLeftOut | n/a | passed | no TLS |",
		"Not run: the package holds no tests",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

func TestResultsAreWhatTheTableSays(t *testing.T) {
	rs, err := readResults("results.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != markdown(All(), rs) {
		t.Error("RESULTS.md is not made from results.json and the reasons: go run ./testkit suites --list --write")
	}
	for _, r := range rs {
		if u := rs.unexplained(r); r.Against == clusterd && len(u) > 0 {
			t.Errorf("%s: failed without a reason: %v", r.Suite, u)
		}
	}
	again := filepath.Join(t.TempDir(), "results.json")
	if err := rs.write(again); err != nil {
		t.Fatal(err)
	}
	if back, err := readResults(again); err != nil || len(back) != len(rs) {
		t.Errorf("read back %d of %d results: %v", len(back), len(rs), err)
	}
}
