package pair

import (
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

// One pair of healthy datacenters, and what may be asked of it.
func TestWhileBothLive(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	destination.createMirror(t, "dr", source)
	mirrored := func(t *testing.T, topic string) *load {
		t.Helper()
		source.createTopic(t, topic, 2)
		load := source.produceUnderLoad(t, topic)
		load.awaitMore(t, 1)
		destination.startSync(t, "dr", topic)
		destination.awaitSync(t, "dr", topic)
		load.awaitMore(t, 200)
		return load
	}

	t.Run("the copy is the same bytes under the same id and refuses writes", func(t *testing.T) {
		load := mirrored(t, "copied")
		for _, refused := range []struct {
			version, acks int16
			code          perr.Code
		}{{14, -1, perr.ReadOnlyTopic}, {14, 1, perr.ReadOnlyTopic}, {11, -1, perr.PolicyViolation}, {3, 1, perr.PolicyViolation}} {
			if a := destination.produce(t, "copied", 0, send{refused.version, refused.acks, time.Second, "intruder"}); a.code != refused.code {
				t.Errorf("Produce v%d acks=%d to a mirrored topic: %s; want code %d", refused.version, refused.acks, a, refused.code)
			}
		}
		load.drain(t)
		source.sameLogAs(t, destination, "copied", 2)
		load.compare(t, destination)
	})

	t.Run("alter --async completes what waits and alter --sync promotes again", func(t *testing.T) {
		load := mirrored(t, "altered")
		destination.alter(t, "dr", "altered", admin.Async)
		destination.awaitTopic(t, "dr", "altered", "A,A", func(now described) bool {
			return now.Phase == "ASYNC" && now.DesiredMirrorType == admin.Async && now.EffectiveMirrorType == admin.Async && !now.Reporting
		})
		await(t, "new records are acknowledged", load.NextNew())
		destination.alter(t, "dr", "altered", admin.Sync)
		destination.awaitSync(t, "dr", "altered")
		await(t, "new records are acknowledged", load.NextNew())
		load.drain(t)
		load.compare(t, source)
		source.sameLogAs(t, destination, "altered", 2)
	})

	t.Run("stop warns, frees the source and opens the destination", func(t *testing.T) {
		load := mirrored(t, "stopped")
		if warning := destination.stopTopic(t, "dr", "stopped"); warning == "" {
			t.Error("a stop while the source lives and acknowledges must warn: its next records will not be here")
		} else {
			t.Logf("the warning: %s", warning)
		}
		destination.awaitStopped(t, "dr", "stopped")
		await(t, "the source goes on", load.NextNew())
		destination.mustProduce(t, "stopped", 0, "written at the destination")
		destination.pause(t)
		source.mustProduce(t, "stopped", 0, "written at the source alone")
		destination.resume(t)
		load.drain(t)
		load.compare(t, source)
	})
}
