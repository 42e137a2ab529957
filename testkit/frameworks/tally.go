package frameworks

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tally follows the counts of words as a read_committed reader sees them.
type tally struct {
	*reader
	last  map[string]int
	steps int
	wrong []string // counts that did not follow the one before
	twice int      // of those, counts that had been there
}

func (t *tally) follow(r *run) {
	t.last = map[string]int{}
	t.reader = follow(r, countsOut, t.take)
}

func (t *tally) take(r *kgo.Record) {
	t.steps++
	word := string(r.Key)
	n, err := strconv.Atoi(string(r.Value))
	if err != nil || n != t.last[word]+1 {
		if err == nil && n <= t.last[word] {
			t.twice++
		}
		t.wrong = append(t.wrong, fmt.Sprintf("%s: %q after %d, at %d of partition %d", word, r.Value, t.last[word], r.Offset, r.Partition))
	}
	t.last[word] = max(t.last[word], n)
}

func (t *tally) records() int { t.mu.Lock(); defer t.mu.Unlock(); return t.steps }

// judge holds what was counted against what was fed.
func (t *tally) judge(fed map[string]int) result {
	made := result{Records: t.steps, Wrong: len(t.wrong), Twice: t.twice, Notes: slices.Clone(t.wrong[:min(5, len(t.wrong))])}
	for word, n := range fed {
		if got := t.last[word]; got != n {
			if got < n {
				made.Missing += n - got
			} else {
				made.Wrong += got - n
			}
			made.Notes = append(made.Notes, fmt.Sprintf("%s was fed %d times and counted %d", word, n, got))
		}
	}
	for word := range t.last {
		if fed[word] == 0 {
			made.Wrong++
			made.Notes = append(made.Notes, fmt.Sprintf("%s was never fed", word))
		}
	}
	slices.Sort(made.Notes)
	made.Notes = made.Notes[:min(10, len(made.Notes))]
	return made
}
