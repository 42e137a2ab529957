package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// Sync Replication: what was written before, during and after promotion is at the destination byte by byte, and HW is
// the same on both sides.
func TestSyncReplication(t *testing.T) {
	t.Parallel()
	p := newTwo(t, process.Spec{}, process.Spec{}, 3, dc.Filters{})
	load := p.source.ProduceUnderLoad(t, "orders")
	load.AwaitMore(t, 100)
	p.sync(t)
	load.AwaitMore(t, 500)
	load.Finish(t)
	p.source.SameLogAs(t, p.destination, "orders", 3)
	load.Check(t, p.source)
	load.Check(t, p.destination)
}

// Lag-Deferred Promotion: --alter --sync behind a slow line is not refused. The tool warns, the topic stays ASYNC with
// SYNC desired, and is promoted when its lag is gone, by itself.
func TestLagDeferredPromotion(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, single, 1, dc.Filters{})
	p.destination.CreateMirror(t, "slow", p.source, "bootstrap.servers", p.road.Bootstrap(), "fetch.max.bytes", "4096")
	for range 40 { // 160 kB, a minute and a half of the line below
		p.source.MustProduce(t, "orders", 0, strings.Repeat("x", 4<<10))
	}
	must(t, p.destination, "--add", "--mirror", "slow", "--topics", "orders")
	p.destination.AwaitTopic(t, "slow", "orders", "mirrored", func(now dc.Described) bool { return now.Partitions[0].DestinationOffset >= 0 })
	p.road.Kafka[0].Rate(wire.Down, 2<<10)
	for range 20 {
		p.source.MustProduce(t, "orders", 0, strings.Repeat("x", 4<<10))
	}
	p.destination.AwaitTopic(t, "slow", "orders", "behind", func(now dc.Described) bool { return now.Partitions[0].Lag > 0 })
	out := must(t, p.destination, "--alter", "--mirror", "slow", "--topics", "orders", "--sync")
	if !strings.Contains(out, "Warning") || !strings.Contains(out, "pending lag drain") {
		t.Errorf("--alter --sync with lag: %s", out)
	}
	now := p.destination.AwaitTopic(t, "slow", "orders", "deferred", func(now dc.Described) bool { return now.Partitions[0].Lag > 0 })
	if now.DesiredMirrorType != admin.Sync || now.EffectiveMirrorType != admin.Async || now.RetryAttempt != 0 {
		t.Errorf("with lag: %s", dc.Sight(now))
	}
	p.road.Heal(t)
	for range 5 { // producing goes on while lag drains
		p.source.MustProduce(t, "orders", 0, "more")
	}
	p.destination.AwaitSync(t, "slow", "orders")
	p.source.SameLogAs(t, p.destination, "orders", 1)
}

// Auto-Promotion: a topic that is added as SYNC begins ASYNC and becomes SYNC when its lag is zero.
func TestAutoPromotion(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, single, 1, dc.Filters{})
	p.source.MustProduce(t, "orders", 0, "before")
	p.road.Each(func(w *wire.Wire) { w.Hold(wire.Down, true) })
	p.road.Kafka[0].Hold(wire.Down, false)
	p.road.Kafka[0].Rate(wire.Down, 512)
	p.destination.StartSync(t, "dr", "orders")
	p.destination.AwaitTopic(t, "dr", "orders", "ASYNC and wanted SYNC", func(now dc.Described) bool {
		return now.EffectiveMirrorType == admin.Async && now.DesiredMirrorType == admin.Sync
	})
	p.road.Heal(t)
	now := p.destination.AwaitSync(t, "dr", "orders")
	if now.Partitions[0].Lag != 0 || !now.Partitions[0].Armed {
		t.Errorf("promoted: %s", dc.Sight(now))
	}
}

// Topic Removal: the first thing a removal does is to tell the source, which then acknowledges alone; the type is
// cleared and the topic is writable here.
func TestTopicRemoval(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, single, 2, dc.Filters{})
	p.sync(t)
	p.source.MustProduce(t, "orders", 0, "gated")
	if n := p.source.Metric(t, "kafka_server_mirror_registered_topics", "mirror", "dr"); n != 1 {
		t.Fatalf("%v topics are registered", n)
	}
	must(t, p.destination, "--remove", "--mirror", "dr", "--topics", "orders", "--wait")
	p.source.MustProduce(t, "orders", 0, "acknowledged alone")
	p.road.Each((*wire.Wire).Close) // nothing of the source hangs on the destination any more
	p.source.MustProduce(t, "orders", 1, "acknowledged alone")
	if n := p.source.Metric(t, "kafka_server_mirror_registered_topics", "mirror", "dr"); n != 0 {
		t.Errorf("%v topics are registered after the removal", n)
	}
	now := p.destination.AwaitStopped(t, "dr", "orders")
	if now.DesiredMirrorType != admin.Async || now.EffectiveMirrorType != admin.Async || now.RecoveryPending || now.Reporting {
		t.Errorf("the type is not cleared: %s", dc.Sight(now))
	}
	p.destination.MustProduce(t, "orders", 0, "writable here")
}

// Topic Removal, with a source that does not answer: the Unregister fails and the removal goes on.
func TestTopicRemovalWithoutASource(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, single, 1, dc.Filters{})
	p.sync(t)
	last := p.source.MustProduce(t, "orders", 0, "gated")
	p.source.Kill()
	began := time.Now()
	must(t, p.destination, "--remove", "--mirror", "dr", "--topics", "orders", "--wait")
	if seen := p.destination.Consume(t, "orders", 0); seen.HW <= last {
		t.Errorf("record %d was acknowledged, consumers of the destination see up to %d", last, seen.HW)
	}
	t.Log(fmt.Sprint("removed in ", time.Since(began).Round(10*time.Millisecond)))
}
