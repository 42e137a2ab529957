package frameworks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What is read of counts must be noticed where it is wrong; `testkit frameworks` reads real ones.
func TestTheTallyNoticesWhatWasLostOrCountedTwice(t *testing.T) {
	fed := map[string]int{"a": 3, "b": 1}
	for _, c := range []struct {
		name                  string
		seen                  string // word and count, in the order read
		missing, wrong, twice int
	}{
		{"everything", "a1 b1 a2 a3", 0, 0, 0},
		{"a word that never came", "a1 a2 a3", 1, 0, 0},
		{"one too few", "a1 b1 a2", 1, 0, 0},
		{"one too many", "a1 b1 a2 a3 a4", 0, 1, 0},
		{"a count that came twice", "a1 b1 a2 a2 a3", 0, 1, 1},
		{"a count that was skipped", "a1 b1 a3", 0, 1, 0},
		{"a word that nobody fed", "a1 b1 a2 a3 c1", 0, 1, 0},
		{"no number", "a1 b1 a2 a3 bx", 0, 1, 0},
	} {
		counts := tally{last: map[string]int{}}
		for _, s := range strings.Fields(c.seen) {
			counts.take(&kgo.Record{Key: []byte(s[:1]), Value: []byte(s[1:])})
		}
		if got := counts.judge(fed); got.Missing != c.missing || got.Wrong != c.wrong || got.Twice != c.twice {
			t.Errorf("%s: %d missing, %d wrong, %d twice; want %d %d %d", c.name, got.Missing, got.Wrong, got.Twice, c.missing, c.wrong, c.twice)
		}
	}
}

// A worker that is killed leaves a torn line, and its successor writes behind it.
func TestLinesAreFoundBehindTornOnes(t *testing.T) {
	sink := filepath.Join(t.TempDir(), "sink.txt")
	text := fmt.Sprintf("%s\n%s%s\n%s\n%s\n", line(0), line(1)[:9], line(1), line(1), line(7))
	if err := os.WriteFile(sink, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := judgeFile(sink, 3)
	if err != nil || got.Records != 3 || got.Missing != 1 || got.Twice != 1 || got.Wrong != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
