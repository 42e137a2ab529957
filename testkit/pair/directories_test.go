package pair

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/clusterd/process"
)

// A data directory in the wrong place is refused before anything is written to it, in words that say
// which one it is, whose it is, and what to do.
func TestAWrongDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	ours := start(t, process.Spec{Cluster: "dc1"})
	theirs := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	ours.createTopic(t, "orders", 1)
	last := ours.mustProduce(t, "orders", 0, "before")
	dir := func(d *datacenter, broker string) string { return filepath.Join(d.Dir, broker) }

	again := ours.Spec
	again.KafkaPort = 0
	refused(t, "started twice", again, dir(ours, "broker-1"), "another process", "stop it")
	ours.mustProduce(t, "orders", 0, "the first process lives on")

	mustStop(t, ours)
	mustStop(t, theirs)
	swap(t, dir(ours, "broker-1"), dir(ours, "broker-2"))
	refused(t, "two brokers swapped", ours.Spec, dir(ours, "broker-1"), "broker 1", "broker 2", "order of the brokers")
	swap(t, dir(ours, "broker-1"), dir(ours, "broker-2"))

	swap(t, dir(ours, "broker-3"), dir(theirs, "broker-1"))
	refused(t, "directory of another cluster", ours.Spec, dir(ours, "broker-3"), "dc1", "dc2", "--cluster-id")
	swap(t, dir(ours, "broker-3"), dir(theirs, "broker-1"))

	// One wrong directory is no lost volume, which a cluster would survive.
	swap(t, dir(ours, "broker-3"), dir(ours, "kept-aside"))
	if err := os.CopyFS(dir(ours, "broker-3"), os.DirFS(dir(ours, "broker-2"))); err != nil {
		t.Fatal(err)
	}
	refused(t, "a copy of broker 2 as broker 3", ours.Spec, dir(ours, "broker-3"), "broker 2", "broker 3", "order of the brokers")
	if err := os.RemoveAll(dir(ours, "broker-3")); err != nil {
		t.Fatal(err)
	}
	swap(t, dir(ours, "broker-3"), dir(ours, "kept-aside"))

	ours.restart(t)
	if next := ours.mustProduce(t, "orders", 0, "after"); next != last+2 {
		t.Errorf("offset %d after %d and one more", next, last)
	}
}

// refused starts what must not start and looks for words in the reason.
func refused(t *testing.T, what string, s process.Spec, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := process.Start(ctx, s)
	if err == nil {
		p.Kill()
		t.Errorf("%s: it started", what)
		return
	}
	t.Logf("%s: %v", what, err)
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the reason does not say %q: %v", what, word, err)
		}
	}
}

// swap exchanges two directories; one of them may be absent.
func swap(t *testing.T, a, b string) {
	t.Helper()
	aside := a + ".aside"
	for _, move := range [][2]string{{a, aside}, {b, a}, {aside, b}} {
		if _, err := os.Stat(move[0]); os.IsNotExist(err) {
			continue
		}
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
}
