package pair

import (
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// cli runs the KIP's tool against this datacenter.
func (d *datacenter) cli(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return clusterctl(t, append([]string{"mirrors", "--bootstrap-server", strings.Join(d.Bootstrap(), ",")}, args...)...)
}

func (d *datacenter) mustCLI(t *testing.T, args ...string) string {
	t.Helper()
	out, code := d.cli(t, args...)
	if code != 0 {
		t.Fatalf("clusterctl mirrors %v on %s ends with %d:\n%s", args, d.Cluster, code, out)
	}
	return out
}

// A held release stays in force however willing the destination is, and ends with the operator's word; a forgotten
// mirror's name is free for another cluster, and before that it is not.
func TestAHeldReleaseWaitsForTheOperatorAndAForgottenNameIsFree(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 1)
	source.createTopic(t, "other", 1)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")

	if out := source.mustCLI(t, "--release-sync", "--mirror", "dr", "--dry-run"); !strings.Contains(out, "Would release 1 topic(s) of mirror dr of cluster dc2: [orders]") {
		t.Errorf("dry run:\n%s", out)
	}
	if out, code := source.cli(t, "--release-sync", "--mirror", "dr", "--topics", "nothing.*"); code == 0 || !strings.Contains(out, "nothing was released") {
		t.Errorf("a pattern that matches nothing ends with %d:\n%s", code, out)
	}
	if out := source.mustCLI(t, "--release-sync", "--mirror", "dr", "--topics", "ord.*", "--hold"); !strings.Contains(out, "--unhold") {
		t.Errorf("hold:\n%s", out)
	}
	destination.awaitTopic(t, "dr", "orders", "held", func(now described) bool {
		return now.Phase == "CATCHING_UP" && now.RecoveryPending && now.RetryAttempt > 1 && now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, "--unhold")
	})
	source.mustProduce(t, "orders", 0, "acknowledged without the destination")
	source.mustCLI(t, "--release-sync", "--mirror", "dr", "--unhold")
	destination.awaitSync(t, "dr", "orders")

	third := start(t, process.Spec{Cluster: "dc3"})
	third.createMirror(t, "dr", source)
	third.startSync(t, "dr", "other")
	third.awaitTopic(t, "dr", "other", "refused for its name", func(now described) bool {
		return now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, perr.MirrorNameInUse.Name()) && strings.Contains(*now.ErrorMessage, "--forget")
	})
	destination.pause(t)
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "waits for dc2")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("dc2 gates again, yet: %s", a)
	}
	source.mustCLI(t, "--release-sync", "--mirror", "dr", "--forget")
	third.awaitSync(t, "dr", "other")
	source.mustProduce(t, "other", 0, "on dc3")
}
