package pair

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

// A destination that comes back with empty disks under its old id has none of what it once stated: nothing is
// acknowledged on the strength of its old floors (F44), and it takes its place again by numbers above its old ones.
func TestADestinationThatLostItsDisksStartsAnew(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	for range 3 {
		source.mustProduce(t, "orders", 0, "on both sides")
	}

	destination.Kill()
	if err := os.RemoveAll(destination.Dir); err != nil {
		t.Fatal(err)
	}
	destination.restart(t)
	waiting := source.producing(t, "orders", 0, acksAll(2*patience, "waits for the new disks"))
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "probe")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("with the destination empty: %s", a)
	}
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	if a := await(t, "the waiting produce is answered", waiting); a.code != perr.None {
		t.Errorf("with the destination back in SYNC: %s", a)
	}
	source.mustProduce(t, "orders", 0, "on both sides again")
	source.sameLogAs(t, destination, "orders", 1)
}

// A source that comes back from an old copy of its disks must not take the only copy of what it lost with it.
func TestASourceRestoredFromAnOldCopyDoesNotCutItsMirror(t *testing.T) { // R11, P8
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	source.mustProduce(t, "orders", 0, "in the backup")
	backup := source.backUp(t)
	last := source.mustProduce(t, "orders", 0, "after the backup")
	destination.awaitTopic(t, "dr", "orders", "in possession of it", func(now described) bool { return now.Partitions[0].DestinationOffset == last+1 })

	source.Kill()
	swap(t, source.Dir, backup)
	source.restart(t)
	destination.awaitTopic(t, "dr", "orders", "DIVERGED", func(now described) bool { return now.Phase == "DIVERGED" && now.EffectiveMirrorType == admin.Async })
	destination.logged(t, "level=WARN", "DIVERGED", "mirror=dr", "topic=orders", "--stop")
	source.mustProduce(t, "orders", 0, "of the restored source")
	if seen := destination.consume(t, "orders", 0); seen.has("restored source") {
		t.Errorf("mirrored behind a log that parts from it: %q", seen.bytes)
	}
	source.Kill()
	destination.stopTopic(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	destination.mustProduce(t, "orders", 0, "opened")
	if seen := destination.consume(t, "orders", 0); !seen.has("after the backup") {
		t.Errorf("what only the mirror had is gone: %q", seen.bytes)
	}
}

// Addresses are reused. Another cluster at the source's address gets no command, gives no data and ends no
// registration: the source finds its mirror as it left it.
func TestAnotherClusterAtTheSourcesAddressIsNotTheSource(t *testing.T) { // F34
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	source.mustProduce(t, "orders", 0, "of the source")

	source.Kill()
	stranger := source.Spec
	stranger.Cluster, stranger.Dir = "dc9", filepath.Join(t.TempDir(), "dc9")
	other := start(t, stranger)
	other.createTopic(t, "orders", 1)
	other.mustProduce(t, "orders", 0, "of a stranger")
	destination.alter(t, "dr", "orders", admin.Async)
	destination.logged(t, "dc9", "dc1") // somebody tried, and was told who answers there
	destination.awaitTopic(t, "dr", "orders", "demoting", func(now described) bool { return now.Phase == "DEMOTING" })
	if seen := destination.consume(t, "orders", 0); seen.has("stranger") {
		t.Errorf("mirrored from a stranger: %q", seen.bytes)
	}
	other.Kill()

	source.restart(t)
	destination.awaitTopic(t, "dr", "orders", "ASYNC", func(now described) bool { return now.Phase == "ASYNC" })
	destination.pause(t)
	source.mustProduce(t, "orders", 0, "nobody is waited for")
}
