package pair

import (
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// R9: a destination under its min ISR stops acks=all. What waited is told 951, what comes later is not
// even appended, and nothing of it is shown to consumers until the destination is healthy again.
func TestADestinationUnderItsMinISRFreezesTheSource(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	destination := start(t, process.Spec{Cluster: "dc2"}) // three replicas, min ISR two
	source.createTopic(t, "orders", 1)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	base := source.mustProduce(t, "orders", 0, "healthy")

	destination.stopBroker(t, 3)
	if second := source.mustProduce(t, "orders", 0, "two are enough"); second != base+1 {
		t.Errorf("offset %d after %d", second, base)
	}
	destination.stopBroker(t, 2)
	a := source.produce(t, "orders", 0, acksAll(patience, "waiting"))
	if a.code != perr.NotEnoughRemoteReplicasAfterAppend || !strings.Contains(a.text, "dr") {
		t.Errorf("a batch appended before the mirror was known to be ill: %s; want 951 naming dr", a)
	}
	a = source.produce(t, "orders", 0, acksAll(patience, "refused"))
	if a.code != perr.NotEnoughReplicas || !strings.Contains(a.text, "dr") {
		t.Errorf("a batch after that: %s; want NOT_ENOUGH_REPLICAS naming dr", a)
	}
	if a = source.produce(t, "orders", 0, send{11, -1, time.Second, "refused too"}); a.code != perr.NotEnoughReplicas {
		t.Errorf("a batch of an older client: %s; want NOT_ENOUGH_REPLICAS", a)
	}
	if seen := source.consume(t, "orders", 0); seen.hw != base+2 || seen.has("waiting") || seen.has("refused") {
		t.Errorf("frozen at %d, yet consumers see up to %d", base+2, seen.hw)
	}

	destination.startBroker(t, 2)
	eventually(t, "acks=all goes on", func() (string, bool) {
		a = source.produce(t, "orders", 0, acksAll(2*time.Second, "healthy again"))
		return a.String(), a.code == perr.None && a.err == nil
	})
	seen := source.consume(t, "orders", 0)
	if !seen.has("waiting") || !seen.has("healthy again") || seen.has("refused") {
		t.Errorf("after the freeze: what waited is committed, what was refused never existed; consumers see %q", seen.bytes)
	}
	destination.awaitSync(t, "dr", "orders")
}
