package pair

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// A dead destination stops acks=all and nothing else: the producer is told who is missing, the operator
// releases, and the topic comes back to SYNC by itself when the destination does.
func TestProducersAreToldWhoIsMissingAndAReleaseLetsThemGoOn(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1"}, process.Spec{Cluster: "dc2"}, 1)
	before := source.mustProduce(t, "orders", 0, "acknowledged by both")

	destination.Kill()
	for i, old := range []struct {
		version int16
		code    perr.Code
	}{{11, perr.NotEnoughReplicasAfterAppend}, {14, perr.MirrorSyncReplicationTimeout}} {
		a := source.produce(t, "orders", 0, send{old.version, -1, 2 * time.Second, fmt.Sprintf("waiting %d", old.version)})
		at := fmt.Sprintf("offset %d", before+1+int64(i))
		if a.code != old.code || !strings.Contains(a.text, "dr") || !strings.Contains(a.text, at) {
			t.Errorf("Produce v%d with the destination dead: %s; want code %d and a text with the mirror and %q", old.version, a, old.code, at)
		}
	}
	if seen := source.consume(t, "orders", 0); seen.hw != before+1 || seen.has("waiting") {
		t.Fatalf("consumers see up to %d what the destination does not have; the last acknowledged record is %d", seen.hw, before)
	}

	released := source.release(t, "dr")
	if released.Number < 1 || released.Cluster != "dc2" || len(released.Topics) != 1 {
		t.Errorf("the release says number %d, cluster %q, topics %v", released.Number, released.Cluster, released.Topics)
	}
	eventually(t, "what waited is committed", func() (string, bool) {
		seen := source.consume(t, "orders", 0)
		return fmt.Sprint(seen.hw), seen.hw == before+3 && seen.has("waiting 11") && seen.has("waiting 14")
	})
	last := source.mustProduce(t, "orders", 0, "released")

	destination.restart(t)
	now := destination.awaitTopic(t, "dr", "orders", "SYNC again", func(now described) bool { return inSync(now) && now.ReleaseNumber == released.Number })
	if now.RecoveryPending {
		t.Errorf("recovered, yet %s", sight(now))
	}
	after := source.mustProduce(t, "orders", 0, "recovered")
	if after != last+1 {
		t.Errorf("offset %d after %d", after, last)
	}
	eventually(t, "the destination has all of it", func() (string, bool) {
		seen := destination.consume(t, "orders", 0)
		return fmt.Sprint(seen.hw), seen.hw == after+1 && seen.has("waiting 14") && seen.has("released") && seen.has("recovered")
	})
	// It gates again, or the record above proves nothing.
	destination.pause(t)
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "not yet")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("acknowledged without the recovered destination: %s", a)
	}
}

// A restart of the destination is no demotion: acks stall and go on under the same registration.
func TestADestinationThatRestartsKeepsItsRegistration(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 2)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	before := destination.awaitSync(t, "dr", "orders")
	source.mustProduce(t, "orders", 0, "before")

	for name, end := range map[string]func(){
		"kill -9":    func() { destination.Kill() }, // not the method of the first process
		"clean stop": func() { mustStop(t, destination) },
	} {
		end()
		waiting := source.producing(t, "orders", 0, acksAll(patience, "during "+name))
		if a := source.produce(t, "orders", 1, acksAll(time.Second, "probe")); a.code != perr.MirrorSyncReplicationTimeout {
			t.Errorf("%s: acknowledged while the destination was down: %s", name, a)
		}
		select {
		case a := <-waiting:
			t.Errorf("%s: answered while the destination was down: %s", name, a)
		default:
		}
		destination.restart(t)
		if a := await(t, "the waiting produce is answered", waiting); a.code != perr.None || a.err != nil {
			t.Errorf("%s: %s", name, a)
		}
		now := destination.awaitSync(t, "dr", "orders")
		if now.RegistrationEpoch != before.RegistrationEpoch || now.RecoveryPending || now.ReleaseNumber != before.ReleaseNumber {
			t.Errorf("%s: registration %d became %d, recovery %v, release %d", name, before.RegistrationEpoch, now.RegistrationEpoch, now.RecoveryPending, now.ReleaseNumber)
		}
	}
}

func mustStop(t *testing.T, d *datacenter) {
	t.Helper()
	if err := d.Stop(patience); err != nil {
		t.Fatal(err)
	}
}
