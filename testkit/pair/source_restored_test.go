package pair

import (
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// A source that was restored from an older copy leads under the epoch that its mirror has adopted, with the registration
// that gates, and grows past the floor that the mirror stated to the run before, while the mirror hears nothing. That floor
// must not acknowledge what was written below it: the mirror holds other records there. It finds out, and stays as it is.
func TestAFloorOfBeforeTheRestoreAcksNothing(t *testing.T) { // R3, R11
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	source.mustProduce(t, "orders", 0, "in the backup")
	backup := source.backUp(t)
	var last int64
	for range 3 {
		last = source.mustProduce(t, "orders", 0, "only the mirror has it")
	}
	before := destination.awaitTopic(t, "dr", "orders", "in possession of it, and SYNC", func(now described) bool {
		return inSync(now) && now.Partitions[0].DestinationOffset == last+1
	})

	destination.pause(t)
	source.Kill()
	swap(t, source.Dir, backup)
	source.restart(t)
	if led := source.partition(t, "orders", 0); led.epoch != before.Partitions[0].SourceEpoch {
		t.Fatalf("the restored source leads in epoch %d, the mirror stands under %d: nothing is counted again", led.epoch, before.Partitions[0].SourceEpoch)
	}
	waiting := source.producing(t, "orders", 0, acksAll(3*patience, "of the restored source"))
	if a := source.produce(t, "orders", 0, acksAll(1500*time.Millisecond, "of the restored source")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Fatalf("with the mirror paused: %s", a)
	}
	for {
		a := source.produce(t, "orders", 0, send{14, 1, patience, "of the restored source"})
		if a.code != perr.None {
			t.Fatalf("acks=1 at the restored source: %s", a)
		}
		if a.base > last+1 {
			break
		}
	}

	destination.resume(t)
	a := await(t, "the waiting produce is answered", waiting)
	now, err := destination.describe(t.Context(), "dr", "orders")
	if err != nil {
		t.Fatal(err)
	}
	if a.code == perr.None && inSync(now) {
		t.Errorf("record %d was acknowledged while the mirror, which holds another one up to %d, is SYNC: %s", a.base, last, sight(now))
	}
	now = destination.awaitTopic(t, "dr", "orders", "DIVERGED", func(now described) bool { return now.Phase == "DIVERGED" })
	if now.Partitions[0].DestinationOffset != last+1 {
		t.Errorf("the mirror's log ended at %d and ends now at %d", last+1, now.Partitions[0].DestinationOffset)
	}
	if seen := destination.consume(t, "orders", 0); seen.has("of the restored source") {
		t.Errorf("mirrored behind a log that parts from it: %q", seen.bytes)
	}
}
