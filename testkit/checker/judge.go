package checker

import (
	"fmt"
	"slices"
)

// Rule is one promise, and how a history is held against it.
type Rule struct {
	Name    string
	Promise string
	check   func(*judging)
}

// Rules are all promises, in the order of the table.
var Rules = []Rule{
	{"lost", "an acknowledged record, and each of a committed transaction, is in the log", lost},
	{"duplicate", "a record of an idempotent or transactional producer is there once", duplicate},
	{"misplaced", "an acknowledged offset holds that record", misplaced},
	{"reordered", "records of one producer stand in a partition in its order", reordered},
	{"inversion", "what was acknowledged before another record was sent stands before it", inversion},
	{"vanished", "what a consumer saw is in the log, at that offset", vanished},
	{"skipped", "a consumer sees offsets that rise, and every record between two that it sees", skipped},
	{"unseen", "whoever reads to the end, and a group together, has seen every record", unseen},
	{"above", "no record is seen at or above the HW, nor committed data at or above the LSO", above},
	{"G1a", "no record of a transaction that was not committed is read committed", abortedRead},
	{"G1b", "a transaction is read committed as a whole or not at all", torn},
	{"G1c", "no two transactions have read each other", circular},
	{"ends", "end offsets never go back, nor below what was acknowledged (porcupine)", endsLinearize},
	{"commits", "a group's committed offsets never go back", commitsGoBack},
	{"register", "commits and fetches of an offset are linearizable (porcupine)", registerLinearizes},
}

// Violation is one promise that was not kept.
type Violation struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Verdict is what all rules say of a history.
type Verdict struct {
	Violations []Violation    `json:"violations,omitempty"` // at most shown of each rule
	Counts     map[string]int `json:"counts"`               // by rule, all of them
	// WriteCycles is how many transactions are in cycles of writes alone. Kafka isolates no writes, so this is none of
	// the promises (G0).
	WriteCycles int `json:"writeCycles"`
}

const shown = 10

// Judge holds a history against every rule.
func Judge(h *History) Verdict {
	j := newJudging(h)
	for _, r := range Rules {
		j.rule = r.Name
		j.verdict.Counts[r.Name] += 0
		r.check(j)
	}
	j.verdict.WriteCycles = j.writeCycles()
	return j.verdict
}

// place is where a value stands in the log.
type place struct {
	partition int
	offset    int64
}

// judging is a history with what rules look up in it.
type judging struct {
	*History
	rule    string
	verdict Verdict
	places  map[Value][]place  // of Final
	stable  map[Value]bool     // is in Stable
	sends   map[Value]*Send    // by value
	txns    map[Value]int      // the transaction that wrote a value
	at      []map[int64]Value  // Final, by partition and offset
	polls   map[[3]int][]*Poll // by reader, session and partition, in order
	acked   map[int][]*Send    // by partition
}

func newJudging(h *History) *judging {
	j := &judging{History: h, verdict: Verdict{Counts: map[string]int{}}, places: map[Value][]place{}, stable: map[Value]bool{},
		sends: make(map[Value]*Send, len(h.Sends)), txns: map[Value]int{}, polls: map[[3]int][]*Poll{}, acked: map[int][]*Send{}}
	for p, log := range h.Final {
		at := make(map[int64]Value, len(log))
		for _, e := range log {
			at[e.Offset] = e.Value
			j.places[e.Value] = append(j.places[e.Value], place{p, e.Offset})
		}
		j.at = append(j.at, at)
	}
	for _, log := range h.Stable {
		for _, e := range log {
			j.stable[e.Value] = true
		}
	}
	for i := range h.Sends {
		s := &h.Sends[i]
		j.sends[s.Value] = s
		if s.Outcome == Done {
			j.acked[s.Partition] = append(j.acked[s.Partition], s)
		}
	}
	for i, t := range h.Txns {
		for _, v := range t.Wrote {
			j.txns[v] = i
		}
	}
	for i := range h.Polls {
		p := &h.Polls[i]
		k := [3]int{p.Reader, p.Session, p.Partition}
		j.polls[k] = append(j.polls[k], p)
	}
	for _, list := range j.polls {
		slices.SortStableFunc(list, func(a, b *Poll) int { return int(min(max(a.At-b.At, -1), 1)) })
	}
	return j
}

func (j *judging) wrong(format string, args ...any) {
	j.verdict.Counts[j.rule]++
	if j.verdict.Counts[j.rule] <= shown {
		j.verdict.Violations = append(j.verdict.Violations, Violation{j.rule, fmt.Sprintf(format, args...)})
	}
}

// name says what a value is, for people.
func (j *judging) name(v Value) string {
	kind := WriterKind("unknown")
	if w := v.writer(); w < len(j.Writers) {
		kind = j.Writers[w]
	}
	text := fmt.Sprintf("record %s (%s)", v, kind)
	if s := j.sends[v]; s != nil {
		text += fmt.Sprintf(" sent to %s at %s", j.Partitions[s.Partition], instant(s.Began))
	}
	return text
}

func instant(ns int64) string { return fmt.Sprintf("%.3fs", float64(ns)/1e9) }
