package pair

import (
	"bytes"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"lockstep/clusterd/process"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// tapped is every message of the bus that carried floors, as it was seen by a third party.
type tapped struct {
	mu   sync.Mutex
	seen []*nats.Msg
}

func (s *tapped) take(m *nats.Msg) { s.mu.Lock(); defer s.mu.Unlock(); s.seen = append(s.seen, m) }

// floors are those seen so far, oldest first.
func (s *tapped) floors() (list []*nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.seen {
		if decoded, err := messages.DecodeBus(m.Data); err == nil {
			if _, ok := decoded.(*messages.ReplicaFloors); ok {
				list = append(list, m)
			}
		}
	}
	return list
}

// I24, A06, A08: whoever listens to the bus can send again what was sent, in any order, and change it. With the destination
// frozen nothing of that acknowledges a record: not floors of another cluster, mirror, source epoch, registration,
// incarnation or topic, nor ones from the future, nor ones above the log.
func TestForgedAndRepeatedFloorsAcknowledgeNothing(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	source.createTopic(t, "orders", 1)
	destination.createMirror(t, "dr", source)
	liar, err := nats.Connect(source.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer liar.Close()
	tap := &tapped{}
	if _, err := liar.Subscribe(">", tap.take); err != nil {
		t.Fatal(err)
	}
	if err := liar.Flush(); err != nil {
		t.Fatal(err)
	}
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	for range 20 {
		source.mustProduce(t, "orders", 0, "gated")
	}
	destination.pause(t)
	genuine := tap.floors()
	if len(genuine) == 0 {
		t.Fatal("no floors travel on the bus")
	}
	newest := genuine[len(genuine)-1]

	const beyond = math.MaxInt64 / 2
	forge := func(change func(m *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition)) {
		decoded, err := messages.DecodeBus(newest.Data)
		if err != nil {
			t.Fatal(err)
		}
		m := decoded.(*messages.ReplicaFloors)
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[j]
				p.Floor, p.Seq = beyond, p.Seq+1_000_000
				change(m, p)
			}
		}
		if err := liar.Publish(newest.Subject, messages.EncodeBus(m)); err != nil {
			t.Fatal(err)
		}
	}
	type changes = func(m *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition)
	lies := map[string]changes{
		"another cluster":                      func(m *messages.ReplicaFloors, _ *messages.ReplicaFloorsPartition) { m.DestinationCluster = "dc9" },
		"another mirror":                       func(m *messages.ReplicaFloors, _ *messages.ReplicaFloorsPartition) { m.MirrorName = "other" },
		"a topic nobody has":                   func(m *messages.ReplicaFloors, _ *messages.ReplicaFloorsPartition) { m.Topics[0].TopicId[3] ^= 1 },
		"a partition beyond":                   func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.Partition = math.MaxInt32 },
		"an older source epoch":                func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.SourceEpoch-- },
		"a future source epoch":                func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.SourceEpoch = math.MaxInt32 },
		"an older registration":                func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.RegistrationEpoch-- },
		"a future registration":                func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.RegistrationEpoch = beyond },
		"another incarnation":                  func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.DataIncarnation[5] ^= 1 },
		"another run of the source":            func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.SourceIncarnation[5] ^= 1 },
		"all right, but a floor above the log": func(*messages.ReplicaFloors, *messages.ReplicaFloorsPartition) {},
		"a negative floor":                     func(_ *messages.ReplicaFloors, p *messages.ReplicaFloorsPartition) { p.Floor = math.MinInt64 },
	}
	for name, change := range lies {
		waiting := source.producing(t, "orders", 0, acksAll(600*time.Millisecond, "waits for dc2"))
		for range 20 {
			forge(change)
		}
		for i := len(genuine) - 1; i >= 0; i-- { // what was true once, newest first, and twice
			for range 2 {
				if err := liar.Publish(genuine[i].Subject, genuine[i].Data); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := liar.Flush(); err != nil {
			t.Fatal(err)
		}
		if a := await(t, "an answer", waiting); a.code != perr.MirrorSyncReplicationTimeout || !strings.Contains(a.text, "dr") {
			t.Errorf("floors of %s: %s", name, a)
		}
	}
	// Lists without end, and what is no message at all.
	huge := messages.ReplicaFloors{DestinationCluster: "dc2", MirrorName: "dr", Topics: make([]messages.ReplicaFloorsTopic, 1)}
	huge.Topics[0].Partitions = make([]messages.ReplicaFloorsPartition, 10_000)
	for _, payload := range [][]byte{messages.EncodeBus(&huge), bytes.Repeat([]byte{0xff}, 1<<19), nil, newest.Data[:len(newest.Data)/2]} {
		for range 50 {
			if err := liar.Publish(newest.Subject, payload); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "still waits")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("after lists without end: %s", a)
	}
	destination.resume(t)
	source.mustProduce(t, "orders", 0, "on both")
	destination.awaitSync(t, "dr", "orders")
	source.sameLogAs(t, destination, "orders", 1)
	if code, text := source.health(t); code != 200 {
		t.Errorf("livez: %d %s", code, text)
	}
}
