package shell

import (
	"fmt"
	"strings"
	"testing"
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
