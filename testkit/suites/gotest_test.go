package suites

import (
	"slices"
	"strings"
	"testing"
)

func TestGoTestOutputBecomesItsInnermostTests(t *testing.T) {
	// A parent's end comes before those of its parts, as go test prints it.
	const text = `
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"output","Package":"p","Test":"TestA/one","Output":"[INFO] a log line\n"}
{"Action":"output","Package":"p","Test":"TestA/one","Output":"    a_test.go:12: wanted 3 records, got 2\n"}
{"Action":"run","Package":"p","Test":"TestA/two"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":2}
{"Action":"fail","Package":"p","Test":"TestA/one","Elapsed":1}
{"Action":"pass","Package":"p","Test":"TestA/two","Elapsed":1}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: no SCRAM\n"}
{"Action":"skip","Package":"p","Test":"TestB","Elapsed":0}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"run","Package":"p","Test":"TestC/fine"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:9: cleaning up\n"}
{"Action":"fail","Package":"p","Test":"TestC","Elapsed":2}
{"Action":"pass","Package":"p","Test":"TestC/fine","Elapsed":1}
{"Action":"run","Package":"p","Test":"TestD"}
{"Action":"output","Package":"p","Test":"TestD","Output":"panic: test timed out\n"}
not JSON at all
{"Action":"fail","Package":"p","Elapsed":9}`
	var o goOutput
	got := map[string]Case{}
	report := func(c Case) { got[c.Name] = c }
	for line := range strings.SplitSeq(text, "\n") {
		o.add(line, report)
	}
	o.end(report)
	want := map[string]Case{
		"TestA/one":  {Name: "TestA/one", Outcome: Failed, Text: "wanted 3 records, got 2", Seconds: 1},
		"TestA/two":  {Name: "TestA/two", Outcome: Passed, Seconds: 1},
		"TestB":      {Name: "TestB", Outcome: Skipped, Text: "no SCRAM"},
		"TestC":      {Name: "TestC", Outcome: Failed, Text: "cleaning up"},
		"TestC/fine": {Name: "TestC/fine", Outcome: Passed, Seconds: 1},
		"TestD":      {Name: "TestD", Outcome: Failed, Text: "did not end: panic: test timed out"},
	}
	for name, c := range want {
		if got[name] != c {
			t.Errorf("%s: got %+v, want %+v", name, got[name], c)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d cases, want %d", len(got), len(want))
	}
}

func TestATestifyComplaintIsFound(t *testing.T) {
	said := []string{"    x_test.go:31: \n", "        \tError Trace:\tx_test.go:31\n", "        \tError:      \tReceived unexpected error:\n", "        \tTest: TestX\n"}
	if got := goComplaint(said); got != "Received unexpected error:" {
		t.Errorf("got %q", got)
	}
}

func TestReasonsNameTheirSuitesAndSayWhy(t *testing.T) {
	for _, r := range reasons {
		if r.Why == "" || r.Test == "" {
			t.Errorf("%+v is incomplete", r)
		}
		if !slices.ContainsFunc(All(), func(s Suite) bool { return s.Name == r.Suite }) {
			t.Errorf("no suite %q", r.Suite)
		}
	}
}
