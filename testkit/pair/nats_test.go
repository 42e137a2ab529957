package pair

import (
	"net"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// D19: NATS carries nothing that the Kafka port cannot.
func TestWithoutNATSEverythingStillWorks(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1, NATSURL: "nats://" + nobody(t)})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	for _, topic := range []string{"kept", "stopped"} {
		source.createTopic(t, topic, 1)
	}
	destination.createMirror(t, "dr", source)
	for _, topic := range []string{"kept", "stopped"} {
		destination.startSync(t, "dr", topic)
	}
	destination.awaitSync(t, "dr", "kept")
	destination.awaitSync(t, "dr", "stopped")
	source.mustProduce(t, "kept", 0, "promoted")
	source.mustProduce(t, "stopped", 0, "promoted")

	destination.Kill()
	if a := source.produce(t, "kept", 0, acksAll(time.Second, "held")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("with the destination dead: %s", a)
	}
	released := source.release(t, "dr", "kept")
	source.mustProduce(t, "kept", 0, "released")
	destination.restart(t)
	destination.awaitTopic(t, "dr", "kept", "SYNC again", func(now described) bool { return inSync(now) && now.ReleaseNumber == released.Number })
	source.mustProduce(t, "kept", 0, "recovered")
	source.sameLogAs(t, destination, "kept", 1)

	destination.stopTopic(t, "dr", "stopped")
	destination.awaitStopped(t, "dr", "stopped")
	destination.mustProduce(t, "stopped", 0, "opened")
	source.mustProduce(t, "stopped", 0, "freed")
}

// A NATS that dies while it is in use costs time, never an acknowledgement.
func TestNATSMayDieWhileInUse(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	line := newWire(t, strings.TrimPrefix(source.NATS, "nats://"))
	source.createTopic(t, "orders", 2)
	destination.createMirror(t, "dr", source, "lockstep.nats.url", "nats://"+line.address())
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	if line.connections() == 0 {
		t.Fatal("the destination does not use the NATS of its mirror's configuration: there is nothing to cut")
	}
	load := source.produceUnderLoad(t, "orders")
	load.awaitMore(t, 200)
	line.cut()
	await(t, "new records are acknowledged", load.NextNew())
	load.awaitMore(t, 200)
	load.drain(t)
	if now := destination.awaitSync(t, "dr", "orders"); now.RecoveryPending {
		t.Errorf("without NATS: %s", sight(now))
	}
	load.compare(t, source)
	source.sameLogAs(t, destination, "orders", 2)
}
