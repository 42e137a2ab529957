package checker

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"lockstep/testkit/outcome"
)

// report is what --json writes.
type report struct {
	Seed     uint64         `json:"seed"`
	Seconds  float64        `json:"seconds"`
	Acked    int            `json:"acked"`
	Sent     int            `json:"sent"`
	Txns     map[Fate]int   `json:"transactions"`
	Polled   int            `json:"polled"`
	Commits  int            `json:"groupCommits"`
	Looks    int            `json:"groupReads"`
	Register int            `json:"register"`
	Ends     int            `json:"ends"`
	Faults   map[string]int `json:"faults"`
	Verdict  Verdict        `json:"verdict"`
	Failure  string         `json:"failure,omitempty"`
}

func summary(h *History, v Verdict) report {
	out := report{Seed: h.Seed, Sent: len(h.Sends), Txns: map[Fate]int{}, Commits: len(h.Commits), Looks: len(h.Committed), Register: len(h.Register),
		Ends: len(h.Ends), Faults: map[string]int{}, Verdict: v}
	last := int64(0)
	for _, s := range h.Sends {
		if last = max(last, s.Began); s.Outcome == Done {
			out.Acked++
		}
	}
	out.Seconds = float64(last) / 1e9
	for _, t := range h.Txns {
		out.Txns[t.Fate]++
	}
	for i := range h.Polls {
		out.Polled += len(h.Polls[i].Offsets)
	}
	for _, f := range h.Faults {
		out.Faults[f.What]++
	}
	return out
}

// tell prints the table, keeps the history if it must be kept, and writes the report. failed is why the run failed, or nil.
func (c *Command) tell(h *History, v Verdict, failed error) error {
	out := summary(h, v)
	row := func(n int, what string, args ...any) { fmt.Printf("%9d  %s\n", n, fmt.Sprintf(what, args...)) }
	row(out.Acked, "records acknowledged, of %d sent in %.0f seconds", out.Sent, out.Seconds)
	row(len(h.Txns), "transactions: %v; %d of them in cycles of writes, which Kafka allows (G0)", out.Txns, v.WriteCycles)
	row(out.Polled, "records read, %d commits of group members, %d readings of their offsets", out.Commits, out.Looks)
	row(out.Register, "operations of the register, %d readings of end offsets", out.Ends)
	for _, what := range slices.Sorted(maps.Keys(out.Faults)) {
		row(out.Faults[what], "%s", what)
	}
	fmt.Printf("%9s  broken promises\n", "")
	broken := 0
	for _, r := range Rules {
		broken += v.Counts[r.Name]
		row(v.Counts[r.Name], "%-10s %s", r.Name, r.Promise)
	}
	for _, one := range v.Violations {
		fmt.Printf("  %s: %s\n", one.Rule, one.Text)
	}
	if c.Judge == "" && (broken > 0 || c.History != "") {
		path, err := c.file()
		if err == nil {
			err = h.Save(path)
		}
		if err != nil {
			return errors.Join(failed, err)
		}
		fmt.Printf("the history is in %s; --judge reads it again\n", path)
	}
	if failed == nil && broken > 0 {
		failed = fmt.Errorf("%d times a promise was broken", broken)
	}
	if failed != nil {
		out.Failure = failed.Error()
	}
	fmt.Printf("checker: seed %d: %d broken promises\n", h.Seed, broken)
	return errors.Join(failed, outcome.Write(c.JSON, out))
}
