package pair

import (
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// A destination that cannot hear of its release goes on showing SYNC until its lease is over: until then the source
// acknowledges nothing without it, and says so.
func TestAReleaseAfterTheLeaseOutlastsTheClaimOfASilentDestination(t *testing.T) {
	t.Parallel()
	short := []string{"--set", "lockstep.claim.lease.ms=3000"}
	source := start(t, process.Spec{Cluster: "dc1", Args: short})
	destination := start(t, process.Spec{Cluster: "dc2", Args: short})
	source.createTopic(t, "orders", 1)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	if now := destination.awaitSync(t, "dr", "orders"); now.ZeroRpo || strings.Contains(now.State, "RPO 0") {
		t.Errorf("nothing was promised, yet %s", sight(now))
	}
	source.mustProduce(t, "orders", 0, "on both")

	destination.pause(t)
	silent := time.Now()
	if out := source.mustCLI(t, "--release-sync", "--after-lease", "--dry-run", "--mirror", "dr"); !strings.Contains(out, "would wait") || !strings.Contains(out, "at most 3.3s") {
		t.Errorf("dry run:\n%s", out)
	}
	out := source.mustCLI(t, "--release-sync", "--after-lease", "--mirror", "dr")
	if !strings.Contains(out, "at most 3.3s") {
		t.Errorf("release:\n%s", out)
	}
	if out := source.mustCLI(t, "--describe", "--sources"); !strings.Contains(out, "acks wait for it") {
		t.Errorf("while it leaves:\n%s", out)
	}
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "waits")); a.code != perr.MirrorSyncReplicationTimeout && time.Since(silent) < 3*time.Second {
		t.Errorf("inside the lease: %s", a)
	}
	if a := source.produce(t, "orders", 0, acksAll(20*time.Second, "after the lease")); a.code != perr.None {
		t.Errorf("after the lease: %s", a)
	}
	if d := time.Since(silent); d < 3*time.Second {
		t.Errorf("acknowledged without the destination %s after it was last heard", d)
	}
	destination.resume(t)
	destination.awaitTopic(t, "dr", "orders", "SYNC again", func(now described) bool { return inSync(now) && now.ReleaseNumber == 1 })
	destination.failOver(t, "dr", "orders")
	if seen := destination.consume(t, "orders", 0); !seen.has("after the lease") {
		t.Error("the destination recovered without what was acknowledged meanwhile")
	}
}

// A source that promises to release after the lease only lets a destination say RPO 0 of this moment; a destination that
// is there gives its claim up at once, so that nobody waits out the lease.
func TestAPromiseLetsTheDestinationSayRPOZeroAndAReachableOneEndsTheWait(t *testing.T) {
	t.Parallel()
	long := []string{"--set", "lockstep.claim.lease.ms=120000"}
	source := start(t, process.Spec{Cluster: "dc1", Args: append(long, "--set", "lockstep.release.after.lease=true")})
	destination := start(t, process.Spec{Cluster: "dc2", Args: long})
	source.createTopic(t, "orders", 1)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	destination.awaitTopic(t, "dr", "orders", "RPO 0", func(now described) bool { return inSync(now) && now.ZeroRpo && strings.Contains(now.State, "RPO 0") })
	if out := destination.mustCLI(t, "--failover", "--preview", "--mirror", "dr"); !strings.Contains(out, "RPO 0") {
		t.Errorf("preview:\n%s", out)
	}
	out := source.mustCLI(t, "--release-sync", "--hold", "--mirror", "dr", "--wait", "--timeout", "60s")
	if !strings.Contains(out, "promised by lockstep.release.after.lease") || !strings.Contains(out, "do not wait for mirror dr any more") {
		t.Errorf("release:\n%s", out)
	}
	source.mustProduce(t, "orders", 0, "without the destination")
	destination.awaitTopic(t, "dr", "orders", "told", func(now described) bool { return now.Phase == "CATCHING_UP" && !now.ZeroRpo })
}
