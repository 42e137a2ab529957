package pair

import (
	"testing"

	"lockstep/clusterd/process"
)

// The promise itself, as clusterd demo shows it at length.
func TestNothingIsLostWhenTheSourceDiesUnderLoad(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 3)
	destination.createMirror(t, "dr", source)
	load := source.produceUnderLoad(t, "orders")
	load.awaitMore(t, 1) // the mirror has something to catch up with
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	load.awaitMore(t, 2000)

	source.Kill()
	if warning := destination.stopTopic(t, "dr", "orders"); warning != "" {
		t.Logf("the stop warns: %s", warning) // within the lease the source may still look alive
	}
	next := load.NextNew()
	if err := load.MoveTo(destination.Bootstrap()); err != nil {
		t.Fatal(err)
	}
	destination.awaitStopped(t, "dr", "orders")
	await(t, "the same client writes to the destination", next)
	load.awaitMore(t, 500)
	load.drain(t)
	load.compare(t, destination)
}
