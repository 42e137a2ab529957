package pair

import (
	"strings"
	"testing"

	"lockstep/clusterd/process"
)

// F38, C15: one of two destinations was cut off and released without hearing of it. With the source gone, the other one
// must be named, also by destinations that have restarted since and never heard the source.
func TestTheDestinationThatWasGatedIsNamedAsTarget(t *testing.T) {
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

	near.Kill() // it can hear of nothing
	source.release(t, "near")
	source.Kill()
	source.restart(t) // another source epoch
	source.mustProduce(t, "orders", 0, "far alone")
	source.Kill()
	near.restart(t)

	targets := func(what string) {
		t.Helper()
		eventually(t, what, func() (string, bool) {
			out, code := clusterctl(t, "targets", "--bootstrap-server", near.Bootstrap()[0], "--bootstrap-server", far.Bootstrap()[0])
			return out, code == 0 && strings.Contains(out, "orders 1          dc3")
		})
	}
	targets("far is named")
	far.Kill()
	far.restart(t)
	targets("far is named, and neither has heard the source since its start")

	out, code := clusterctl(t, "targets", "--bootstrap-server", near.Bootstrap()[0], "--bootstrap-server", near.Bootstrap()[0])
	if code != 1 || !strings.Contains(out, "are one cluster, dc2") {
		t.Errorf("the same destination twice: exit code %d, %s", code, out)
	}
}
