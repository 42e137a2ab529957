package pair

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// Each registered destination has its own vote, and releasing one takes only that one's away.
func TestTwoDestinationsGateAndReleasingOneLeavesTheOther(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	near := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	far := start(t, process.Spec{Cluster: "dc3", Brokers: 1})
	source.createTopic(t, "orders", 1)
	for d, mirror := range map[*datacenter]string{near: "near", far: "far"} {
		d.createMirror(t, mirror, source)
		d.startSync(t, mirror, "orders")
	}
	near.awaitSync(t, "near", "orders")
	far.awaitSync(t, "far", "orders")
	source.mustProduce(t, "orders", 0, "both")

	held := func(by string) {
		t.Helper()
		a := source.produce(t, "orders", 0, acksAll(time.Second, "held by "+by))
		if a.code != perr.MirrorSyncReplicationTimeout || !strings.Contains(a.text, by) {
			t.Errorf("with %s not answering: %s; want 950 naming it", by, a)
		}
	}
	near.pause(t)
	held("near")
	near.resume(t)
	source.mustProduce(t, "orders", 0, "near is back")
	far.pause(t)
	held("far")

	// Meanwhile the other one holds records that the source has not committed: it shows none of them.
	a := source.produce(t, "orders", 0, send{14, 1, time.Second, "acks=1 is not committed"})
	if a.code != perr.None {
		t.Fatalf("acks=1: %s", a)
	}
	near.awaitTopic(t, "near", "orders", "in possession of the uncommitted record", func(now described) bool {
		return now.Partitions[0].DestinationOffset > a.base
	})
	committed := source.consume(t, "orders", 0)
	if seen := near.consume(t, "orders", 0); seen.hw > committed.hw || seen.has("acks=1") || seen.has("held by far") {
		t.Errorf("the source has committed up to %d, consumers of the destination see up to %d", committed.hw, seen.hw)
	}
	far.resume(t)
	source.mustProduce(t, "orders", 0, "far is back")
	eventually(t, "what is committed shows at the destination", func() (string, bool) {
		seen := near.consume(t, "orders", 0)
		return fmt.Sprint(seen.hw), seen.has("acks=1") && seen.has("far is back")
	})

	near.Kill()
	released := source.release(t, "near")
	if released.Cluster != "dc2" || len(released.Topics) != 1 {
		t.Errorf("released %v of %q", released.Topics, released.Cluster)
	}
	source.mustProduce(t, "orders", 0, "near is released")
	far.pause(t)
	held("far")
	far.resume(t)
	source.mustProduce(t, "orders", 0, "far is back again")

	near.restart(t)
	near.awaitTopic(t, "near", "orders", "SYNC again", func(now described) bool { return inSync(now) && now.ReleaseNumber == released.Number })
	source.mustProduce(t, "orders", 0, "both again")
	near.pause(t)
	held("near")
}
