package suites

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Result is what one run of a suite against one kind of cluster gave.
type Result struct {
	Suite   string  `json:"suite"`
	Release string  `json:"release"`
	Against string  `json:"against"`
	Commit  string  `json:"commit"`
	Date    string  `json:"date"`
	Command string  `json:"command"`
	Seconds float64 `json:"seconds"`
	Passed  int     `json:"passed"`
	Others  []Case  `json:"others"`           // that did not pass, by name
	Broken  string  `json:"broken,omitempty"` // the suite did not come to its end
}

// add counts a case.
func (r *Result) add(c Case) {
	if c.Outcome == Passed {
		r.Passed++
		return
	}
	r.Others = append(r.Others, c)
	slices.SortStableFunc(r.Others, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
}

// count is the three numbers of the table. What fails for a reason that is not the cluster's is not applicable, and so
// is what the suite itself skipped.
func (r Result) count() (passed, failed, notApplicable int) {
	for _, c := range r.Others {
		if c.Outcome == Failed && !reasonOf(r.Suite, c.Name).NotApplicable {
			failed++
		} else {
			notApplicable++
		}
	}
	return r.Passed, failed, notApplicable
}

// Results of the newest run of each suite against each kind of cluster.
type Results []Result

func (rs Results) of(suite, against string) (Result, bool) {
	for _, r := range rs {
		if r.Suite == suite && r.Against == against {
			return r, true
		}
	}
	return Result{}, false
}

// with replaces the result of the same suite and kind.
func (rs Results) with(r Result) Results {
	rs = slices.DeleteFunc(slices.Clone(rs), func(o Result) bool { return o.Suite == r.Suite && o.Against == r.Against })
	rs = append(rs, r)
	slices.SortFunc(rs, func(a, b Result) int {
		return strings.Compare(a.Suite+" "+a.Against, b.Suite+" "+b.Against)
	})
	return rs
}

// onKafka is what became of a test there: "passed", "failed", "skipped", or "not run".
func (rs Results) onKafka(suite, test string) string {
	r, ok := rs.of(suite, apacheKafka)
	if !ok {
		return "not run"
	}
	for _, c := range r.Others {
		if c.Name == test {
			return string(c.Outcome)
		}
	}
	if r.Broken != "" {
		return "not run"
	}
	return string(Passed)
}

// unexplained are the failures against clusterd that have no reason, and did not fail on Kafka too.
func (rs Results) unexplained(r Result) (names []string) {
	for _, c := range r.Others {
		if c.Outcome == Failed && reasonOf(r.Suite, c.Name).Why == "" && rs.onKafka(r.Suite, c.Name) != string(Failed) {
			names = append(names, c.Name)
		}
	}
	return names
}

func readResults(path string) (Results, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rs Results
	if err := json.Unmarshal(text, &rs); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return rs, nil
}

func (rs Results) write(path string) error {
	text, err := json.MarshalIndent(rs, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
