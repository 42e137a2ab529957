package pair

import (
	"strings"
	"testing"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

// The tool asks the source before it asks for SYNC: a source that can gate is taken, one that cannot is refused and
// nothing is set, one that cannot be reached is a warning, and what is wrong with it then shows at the destination.
func TestTheToolProbesTheSource(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Args: []string{"--set", "mirror.sync.version=0"}})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 1)
	destination.createMirror(t, "dr", source)
	destination.mustCLI(t, "--start", "--mirror", "dr", "--topics", "orders")
	asked := func() int8 {
		t.Helper()
		now, err := destination.describe(t.Context(), "dr", "orders")
		if err != nil {
			t.Fatal(err)
		}
		return now.DesiredMirrorType
	}

	out, code := destination.cli(t, "--alter", "--mirror", "dr", "--topics", "orders", "--sync")
	if code != 1 || !strings.Contains(out, "mirror.sync.version") {
		t.Errorf("an incompatible source: exit %d\n%s", code, out)
	}
	if out, code = destination.cli(t, "--start", "--mirror", "dr", "--topics", "other", "--sync"); code != 1 || !strings.Contains(out, "mirror.sync.version") {
		t.Errorf("--start with an incompatible source: exit %d\n%s", code, out)
	}
	if asked() != admin.Async {
		t.Error("SYNC was asked for although the source cannot gate")
	}

	source.Kill()
	out = destination.mustCLI(t, "--alter", "--mirror", "dr", "--topics", "orders", "--sync")
	if !strings.Contains(out, "Warning: source") || asked() != admin.Sync {
		t.Errorf("an unreachable source: desired type %d\n%s", asked(), out)
	}
	source.restart(t)
	destination.awaitTopic(t, "dr", "orders", "refused by the source", func(now described) bool {
		return now.EffectiveMirrorType == admin.Async && now.DesiredMirrorType == admin.Sync && now.RetryAttempt > 1 &&
			now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, perr.MirrorSyncVersionMismatch.Name())
	})
	source.mustProduce(t, "orders", 0, "not gated")

	source.Kill()
	source.Spec.Args = source.Spec.Args[:len(source.Spec.Args)-2]
	source.restart(t)
	out = destination.mustCLI(t, "--alter", "--mirror", "dr", "--topics", "orders", "--sync")
	if strings.Contains(out, "Warning: source") {
		t.Errorf("a compatible source:\n%s", out)
	}
	destination.awaitSync(t, "dr", "orders")
}
