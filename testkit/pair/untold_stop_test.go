package pair

import (
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// A stop needs no source, and one that did not hear of it goes on waiting for the mirror. Whoever stops is told, and where the
// remedy is to be run.
func TestAStopThatItsSourceDidNotHearSaysSo(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	source.mustProduce(t, "orders", 0, "before")
	source.Kill()
	const remedy = "until --release-sync --mirror dr is run there"
	if out := destination.mustCLI(t, "--stop", "--mirror", "dr", "--topics", "orders", "--wait"); !strings.Contains(out, remedy) {
		t.Errorf("the stop said %s", out)
	}
	if now := destination.awaitStopped(t, "dr", "orders"); now.ErrorMessage == nil || !strings.Contains(*now.ErrorMessage, remedy) {
		t.Errorf("the stopped topic is described as %s", sight(now))
	}
	source.restart(t)
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "held")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("the source answered %s", a)
	}
	eventually(t, "the source to name the mirror that it waits for", func() (string, bool) {
		out, _ := source.cli(t, "--describe", "--sources")
		return out, strings.Contains(strings.Join(strings.Fields(out), " "), "dc2/dr gated, holds acks for")
	})
	source.mustCLI(t, "--release-sync", "--mirror", "dr")
	source.mustProduce(t, "orders", 0, "after the release")
}
