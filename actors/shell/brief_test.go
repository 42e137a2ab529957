package shell

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestALogLineStaysShort(t *testing.T) {
	type partition struct{ Name string }
	type started struct {
		Cluster    string
		Brokers    []int
		Partitions []partition
	}
	small := started{Cluster: "dc1", Brokers: []int{1, 2, 3}, Partitions: []partition{{"a"}}}
	if got, want := brief(small), fmt.Sprintf("%+v", small); got != want {
		t.Errorf("small event: %s, want %s", got, want)
	}
	big := small
	big.Partitions = make([]partition, 3000)
	if got, want := brief(big), "{Cluster:dc1 Brokers:[1 2 3] Partitions:[3000 items]}"; got != want {
		t.Errorf("big event: %s, want %s", got, want)
	}
	big.Cluster = strings.Repeat("x", 1<<16)
	if got := brief(big); len(got) > briefBytes+40 {
		t.Errorf("a long text makes a line of %d bytes", len(got))
	}
}

// A cut within a character would make the line no text: tools that read logs as UTF-8 drop it.
func TestALogLineIsCutBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		line := clip(strings.Repeat("x", shift) + strings.Repeat("\U0001f525", briefBytes))
		if !utf8.ValidString(line) || len(line) > briefBytes+40 || !strings.Contains(line, "bytes)") {
			t.Errorf("shifted by %d: %q", shift, line[briefBytes-8:])
		}
	}
}
