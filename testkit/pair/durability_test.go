package pair

import (
	"strings"
	"testing"

	"lockstep/clusterd/process"
)

// R14: a cluster that leaves syncing to the kernel may gate and be gated, and nothing of that is called proven: not by the
// mirror, not by the audit, and not where proof is asked for.
func TestAClusterThatDoesNotSyncProvesNothing(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1, Args: []string{"--durability", "os"}})
	source.createTopic(t, "orders", 1)
	source.createTopic(t, "proof", 1)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	now := destination.awaitSync(t, "dr", "orders")
	if now.Class != "UNSYNCED" || !strings.Contains(now.State, "durability=os") || now.Partitions[0].ZeroRpoFrom >= 0 {
		t.Errorf("described as %s, class %s, zero RPO from %d", sight(now), now.Class, now.Partitions[0].ZeroRpoFrom)
	}
	at := source.mustProduce(t, "orders", 0, "in a page cache")

	destination.createMirror(t, "strict", source, "lockstep.sync.min.class", "proven")
	destination.startSync(t, "strict", "proof")
	destination.awaitTopic(t, "strict", "proof", "refused for want of proof", func(now described) bool {
		return now.Phase == "CATCHING_UP" && now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, "durability=os")
	})
	if err := source.Stop(patience); err != nil {
		t.Fatal(err)
	}
	if said := source.explain(t, "orders", at); !strings.Contains(said, "UNPROVEN") || !strings.Contains(said, "durability=os") {
		t.Errorf("the audit:\n%s", said)
	}
}
