package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// throttled is a line on which a record of 64 kB takes half a minute.
const throttled = 2 << 10

var heavy = strings.Repeat("x", 64<<10)

// Sync Replication Timeout: behind a throttled line a batch cannot be there within the producer's time-out. It is told
// so with 950, which names the mirror, and nobody reads the record until it is there.
func TestSyncReplicationTimeout(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, single, 1, dc.Filters{})
	p.sync(t)
	base := p.source.MustProduce(t, "orders", 0, "in time")
	p.road.Kafka[0].Rate(wire.Down, throttled)
	a := p.source.Produce(t, "orders", 0, dc.AcksAll(time.Second, heavy))
	if a.Code != perr.MirrorSyncReplicationTimeout || !strings.Contains(a.Text, "dr") || !strings.Contains(a.Text, fmt.Sprintf("offset %d", base+1)) {
		t.Errorf("throttled: %s; want 950 with the offset, naming dr", a)
	}
	if seen := p.source.Consume(t, "orders", 0); seen.HW != base+1 {
		t.Errorf("HW is %d, and the last record that both have is %d", seen.HW, base)
	}
	if n := p.source.Metric(t, "kafka_network_requestmetrics_errors_total", "error", "MIRROR_SYNC_REPLICATION_TIMEOUT"); n != 1 {
		t.Errorf("%v time-outs are counted", n)
	}
	p.road.Heal(t)
	p.source.MustProduce(t, "orders", 0, "in time again")
}

// Source MinISR Violation: during sustained produce the destination falls under its min ISR. Producers are told 951,
// or 19 before anything is appended once the mirror is known to be ill, both naming it; HW stands still; and all of it
// ends by itself when the ISR is back.
func TestSourceMinISRViolation(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, process.Spec{}, 1, dc.Filters{})
	p.sync(t)
	load := p.source.ProduceUnderLoad(t, "orders")
	load.AwaitMore(t, 200)
	p.destination.StopBroker(t, 3)
	load.AwaitMore(t, 200)
	p.destination.StopBroker(t, 2)
	told := map[perr.Code]string{}
	dc.Eventually(t, "both codes, under load", func() (string, bool) {
		a := p.source.Produce(t, "orders", 0, dc.AcksAll(5*time.Second, "probe"))
		told[a.Code] = a.Text
		errors := p.source.Metrics(t)
		after, _ := errors.Sum("kafka_network_requestmetrics_errors_total", "error", "NOT_ENOUGH_REMOTE_REPLICAS_AFTER_APPEND")
		return fmt.Sprint(told, after), told[perr.NotEnoughReplicas] != "" && after > 0
	})
	for code, text := range told {
		if code != perr.None && !strings.Contains(text, "dr") {
			t.Errorf("%s does not name the mirror: %q", code.Name(), text)
		}
	}
	frozen := p.source.Consume(t, "orders", 0).HW
	if n := p.source.Metric(t, "kafka_server_mirror_gate_under_min_isr", "mirror", "dr"); n != 1 {
		t.Errorf("%v partitions show that they are frozen", n)
	}
	a := p.source.Produce(t, "orders", 0, dc.AcksAll(5*time.Second, "refused"))
	if now := p.source.Consume(t, "orders", 0).HW; now != frozen || a.Code == perr.None {
		t.Errorf("frozen at %d, now at %d, and %s", frozen, now, a)
	}
	p.destination.StartBroker(t, 2)
	dc.Await(t, "new records are acknowledged", load.NextNew())
	load.Finish(t)
	p.source.SameLogAs(t, p.destination, "orders", 1)
	load.Check(t, p.source)
	load.Check(t, p.destination)
}

// Producer Client Backward Compatibility (Produce < v14): both new errors reach an older producer as 20, which it
// retries by its own rules, and its produce succeeds once the cause is gone. At v14 the codes are the original ones.
// The texts name the mirror in both.
func TestProducerClientBackwardCompatibility(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, process.Spec{}, 1, dc.Filters{})
	p.sync(t)
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(0, 13)
	old := p.source.ProduceUnderLoad(t, "orders", kgo.MaxVersions(versions), kgo.ProduceRequestTimeout(time.Second))
	old.AwaitMore(t, 10)

	t.Run("timeout path", func(t *testing.T) {
		p.road.Kafka[0].Rate(wire.Down, throttled)
		for version, want := range map[int16]perr.Code{13: perr.NotEnoughReplicasAfterAppend, 14: perr.MirrorSyncReplicationTimeout} {
			a := p.source.Produce(t, "orders", 0, dc.Send{Version: version, Acks: -1, Timeout: time.Second, Value: heavy})
			if a.Code != want || !strings.Contains(a.Text, "dr") {
				t.Errorf("Produce v%d: %s; want %s, naming dr", version, a, want.Name())
			}
		}
		p.road.Heal(t)
		dc.Await(t, "the old producer goes on", old.NextNew())
	})
	t.Run("under min ISR path", func(t *testing.T) {
		p.destination.StopBroker(t, 3)
		v13 := p.source.Producing(t, "orders", 0, dc.Send{Version: 13, Acks: -1, Timeout: dc.Patience, Value: "one"})
		dc.Await(t, "two replicas are enough", v13)
		p.road.Each(func(w *wire.Wire) { w.Hold(wire.Down, true) }) // else a floor of before covers both, and frees them
		v13 = p.source.Producing(t, "orders", 0, dc.Send{Version: 13, Acks: -1, Timeout: dc.Patience, Value: "two"})
		v14 := p.source.Producing(t, "orders", 0, dc.Send{Version: 14, Acks: -1, Timeout: dc.Patience, Value: "three"})
		dc.Eventually(t, "both are appended", func() (string, bool) {
			n := p.source.Metric(t, "kafka_log_log_logendoffset", "topic", "orders") - p.source.Metric(t, "kafka_cluster_partition_highwatermark", "topic", "orders")
			return fmt.Sprint(n), n >= 2
		})
		p.destination.StopBroker(t, 2)
		p.road.Heal(t)
		if a := dc.Await(t, "an answer to v13", v13); a.Code != perr.NotEnoughReplicasAfterAppend || !strings.Contains(a.Text, "dr") {
			t.Errorf("Produce v13 under min ISR: %s; want 20 naming dr", a)
		}
		if a := dc.Await(t, "an answer to v14", v14); a.Code != perr.NotEnoughRemoteReplicasAfterAppend || !strings.Contains(a.Text, "dr") {
			t.Errorf("Produce v14 under min ISR: %s; want 951 naming dr", a)
		}
		p.destination.StartBroker(t, 2)
		dc.Await(t, "the old producer goes on", old.NextNew())
	})
	old.Finish(t) // fails if the client has given up on any record
	p.source.SameLogAs(t, p.destination, "orders", 1)
	old.Check(t, p.source)
	old.Check(t, p.destination)
}
