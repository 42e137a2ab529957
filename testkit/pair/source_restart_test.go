package pair

import (
	"fmt"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// R2, F41: a source that comes back knows what it promised before it acknowledges anything. The
// destination is paused, so every acknowledgement of the new process would be one without it.
func TestASourceThatRestartsAcksNothingUngated(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*datacenter){
		"kill -9":    func(d *datacenter) { d.Kill() },
		"clean stop": func(d *datacenter) { mustStop(t, d) },
	} {
		t.Run(name, func(t *testing.T) {
			source := start(t, process.Spec{Cluster: "dc1"})
			destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
			source.createTopic(t, "orders", 2)
			destination.createMirror(t, "dr", source)
			destination.startSync(t, "dr", "orders")
			before := destination.awaitSync(t, "dr", "orders")
			last := source.mustProduce(t, "orders", 0, "before")

			destination.pause(t)
			end(source)
			source.restart(t)
			waiting := source.producing(t, "orders", 0, acksAll(2*patience, "waiting"))
			// A second batch that is told of its time-out shows that the first has waited, too.
			for _, partition := range []int32{0, 1} {
				a := source.produce(t, "orders", partition, acksAll(1500*time.Millisecond, "probe"))
				if a.code != perr.MirrorSyncReplicationTimeout {
					t.Errorf("partition %d right after the restart: %s; want 950", partition, a)
				}
			}
			select {
			case a := <-waiting:
				t.Errorf("answered without the destination: %s", a)
			default:
			}
			// A kill may take the newest ledger entry with it (D3): HW is then known again when the mirror is heard.
			if seen := source.consume(t, "orders", 0); seen.hw > last+1 || seen.has("waiting") {
				t.Errorf("HW went from %d to %d without the destination", last+1, seen.hw)
			}

			destination.resume(t)
			destination.awaitTopic(t, "dr", "orders", "in possession of the waiting record", func(now described) bool {
				return now.Partitions[0].DestinationOffset > last+1
			})
			if a := await(t, "the waiting produce is answered", waiting); a.code != perr.None || a.base <= last {
				t.Errorf("with the destination back: %s", a)
			}
			now := destination.awaitTopic(t, "dr", "orders", "SYNC in the new epoch", func(now described) bool {
				return inSync(now) && now.Partitions[0].SourceEpoch > before.Partitions[0].SourceEpoch
			})
			if now.RegistrationEpoch != before.RegistrationEpoch || now.RecoveryPending {
				t.Errorf("registration %d became %d: %s", before.RegistrationEpoch, now.RegistrationEpoch, sight(now))
			}
		})
	}
}

// Leaders move inside the source, with an epoch bump, and nothing outside notices more than a pause.
func TestABrokerOfTheSourceStopsAndStartsUnderLoad(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 3)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	before := destination.awaitSync(t, "dr", "orders")
	load := source.produceUnderLoad(t, "orders")
	load.awaitMore(t, 500)

	led := source.partition(t, "orders", 0)
	source.stopBroker(t, led.leader)
	var moved partitionView
	eventually(t, "another broker leads in a newer epoch", func() (string, bool) {
		moved = source.partition(t, "orders", 0)
		return fmt.Sprintf("%+v", moved), moved.leader != led.leader && moved.epoch > led.epoch && len(moved.isr) == 2
	})
	await(t, "new records are acknowledged", load.NextNew())
	load.awaitMore(t, 500)
	source.startBroker(t, led.leader)
	for _, partition := range []int32{0, 1, 2} {
		eventually(t, "the broker is in the ISR again", func() (string, bool) {
			view := source.partition(t, "orders", partition)
			return fmt.Sprint(view.isr), len(view.isr) == 3
		})
	}
	await(t, "new records are acknowledged", load.NextNew())
	load.awaitMore(t, 500)
	load.drain(t)

	now := destination.awaitTopic(t, "dr", "orders", "SYNC in the new epoch", func(now described) bool {
		return inSync(now) && now.Partitions[0].SourceEpoch >= moved.epoch
	})
	if now.RegistrationEpoch != before.RegistrationEpoch {
		t.Errorf("registration %d became %d", before.RegistrationEpoch, now.RegistrationEpoch)
	}
	load.compare(t, source)
	source.sameLogAs(t, destination, "orders", 3)
	load.compare(t, destination)
}
