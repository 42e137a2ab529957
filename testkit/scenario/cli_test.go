package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// CLI Workflow: an operator creates a mirror, adds a topic with --sync, alters it to and fro, looks at it and removes
// it, with nothing but the KIP's tool. The probe of a compatible source is part of every --sync.
func TestCLIWorkflow(t *testing.T) {
	t.Parallel()
	source := dc.Start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	destination := dc.Start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	source.CreateTopic(t, "orders", 2)
	source.CreateTopic(t, "payments", 1)
	config := filepath.Join(t.TempDir(), "dr.properties")
	if err := os.WriteFile(config, []byte("bootstrap.servers="+source.Bootstrap()[0]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says := func(out string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("%q does not say %q", out, w)
			}
		}
	}
	says(must(t, destination, "--create", "--mirror", "dr", "--mirror-config", config), "dr", "dc1")
	says(must(t, destination, "--list"), "dr")
	says(must(t, destination, "--add", "--mirror", "dr", "--topics", "orders", "--sync", "--wait"), "orders", "SYNC")
	source.MustProduce(t, "orders", 0, "gated")

	var rows []struct {
		Mirror, Topic, State, DesiredType, EffectiveType string
		Partition                                        int32
		Lag                                              int64
	}
	out := must(t, destination, "--describe", "--mirror", "dr", "--json")
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("--describe --json: %v:\n%s", err, out)
	}
	if len(rows) != 2 || rows[0].Mirror != "dr" || rows[0].Topic != "orders" || rows[0].DesiredType != "SYNC" || rows[0].EffectiveType != "SYNC" {
		t.Errorf("--describe --json: %s", out)
	}
	says(must(t, destination, "--describe", "--mirror", "dr"), "orders", "SYNC, complete until")

	must(t, destination, "--alter", "--mirror", "dr", "--topics", "orders", "--async", "--wait")
	says(must(t, destination, "--describe", "--mirror", "dr"), "ASYNC")
	must(t, destination, "--alter", "--mirror", "dr", "--topics", "orders", "--sync", "--wait")
	says(must(t, destination, "--remove", "--mirror", "dr", "--topics", "orders", "--wait"), "orders")
	destination.MustProduce(t, "orders", 0, "writable here")
}

// CLI Source-Compatibility Probe — Incompatible: a source whose feature is off is refused by the tool, and nothing was
// asked of the broker.
func TestCLISourceCompatibilityProbeIncompatible(t *testing.T) {
	t.Parallel()
	p := newTwo(t, process.Spec{Brokers: 1, Args: []string{"--set", "mirror.sync.version=0"}}, single, 1, dc.Filters{})
	must(t, p.destination, "--add", "--mirror", "dr", "--topics", "orders")
	for _, args := range [][]string{
		{"--alter", "--mirror", "dr", "--topics", "orders", "--sync"}, {"--add", "--mirror", "dr", "--topics", "orders", "--sync"},
	} {
		out, code := tool(t, p.destination, args...)
		if code == 0 || !strings.Contains(out, "mirror.sync.version") || !strings.Contains(out, "without --sync") {
			t.Errorf("%v ends with %d: %s", args, code, out)
		}
	}
	now := p.destination.AwaitTopic(t, "dr", "orders", "described", func(dc.Described) bool { return true })
	if now.DesiredMirrorType != admin.Async {
		t.Errorf("desired type was changed: %s", dc.Sight(now))
	}
}

// CLI Source-Compatibility Probe — Unreachable: a warning, and the desired type is set. When the source comes back and
// cannot gate, its answer to Register says so, the topic stays ASYNC and the rejection is counted.
func TestCLISourceCompatibilityProbeUnreachable(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, single, 1, dc.Filters{})
	must(t, p.destination, "--add", "--mirror", "dr", "--topics", "orders")
	p.destination.AwaitTopic(t, "dr", "orders", "mirrored", func(now dc.Described) bool { return now.Partitions[0].SourceOffset >= 0 })
	p.road.Each((*wire.Wire).Close)
	out := must(t, p.destination, "--alter", "--mirror", "dr", "--topics", "orders", "--sync")
	if !strings.Contains(out, "Warning: source") || !strings.Contains(out, "cannot be reached") {
		t.Errorf("with the source cut off: %s", out)
	}
	p.destination.AwaitTopic(t, "dr", "orders", "desired SYNC", func(now dc.Described) bool {
		return now.DesiredMirrorType == admin.Sync && now.EffectiveMirrorType == admin.Async
	})

	p.source.Kill()
	p.source.Spec.Args = append(p.source.Spec.Args, "--set", "mirror.sync.version=0")
	p.source.Restart(t)
	p.road.Heal(t)
	dc.Eventually(t, "the rejection is counted and shown", func() (string, bool) {
		n := p.destination.Metric(t, "kafka_server_mirror_sync_registration_rejected_total", "mirror", "dr", "reason", "VERSION_MISMATCH")
		now, err := p.destination.Describe(t.Context(), "dr", "orders")
		if err != nil {
			return err.Error(), false
		}
		return dc.Sight(now), n >= 1 && now.EffectiveMirrorType == admin.Async && now.DesiredMirrorType == admin.Sync && now.ErrorMessage != nil
	})
	last := p.source.MustProduce(t, "orders", 0, "acknowledged without the mirror")
	p.destination.AwaitTopic(t, "dr", "orders", "mirrored on", func(now dc.Described) bool { return now.Partitions[0].DestinationOffset > last })
}
