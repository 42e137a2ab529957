package pair

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// Partitions added to a SYNC topic take no writes, weak ones neither, before the destination has them; then they are
// covered like the others (C11, F36).
func TestAddedPartitionsWaitForTheDestination(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1"}, process.Spec{Cluster: "dc2"}, 1)
	source.mustProduce(t, "orders", 0, "before")

	destination.pause(t)
	grown, err := kadm.NewClient(source.admin.Kafka).UpdatePartitions(t.Context(), 3, "orders")
	if err != nil || grown["orders"].Err != nil {
		t.Fatalf("add partitions: %v, %v", err, grown["orders"].Err)
	}
	for _, acks := range []int16{-1, 1} {
		if a := source.produce(t, "orders", 2, send{14, acks, time.Second, "too early"}); a.code != perr.LeaderNotAvailable {
			t.Errorf("acks=%d to a partition that the destination does not have: %s", acks, a)
		}
	}
	destination.resume(t)
	destination.awaitTopic(t, "dr", "orders", "SYNC with three partitions", func(now described) bool { return inSync(now) && len(now.Partitions) == 3 })
	eventually(t, "the new partition is open", func() (string, bool) {
		a := source.produce(t, "orders", 2, acksAll(patience, "after"))
		return a.String(), a.code == perr.None
	})
	source.Kill()
	destination.stopTopic(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	if seen := destination.consume(t, "orders", 2); !seen.has("after") || seen.has("too early") {
		t.Errorf("the new partition holds %d bytes below %d here", len(seen.bytes), seen.hw)
	}
	destination.mustProduce(t, "orders", 1, "writable")
}
