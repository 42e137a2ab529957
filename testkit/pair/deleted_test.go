package pair

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

// deleteRecords gives up what lies below an offset of partition 0.
func (d *datacenter) deleteRecords(t *testing.T, topic string, before int64) (low int64, code perr.Code) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.TimeoutMillis = int32(patience.Milliseconds())
	r.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: before}}}}
	resp, err := d.admin.Kafka.Broker(int(d.partition(t, topic, 0).leader)).RetriableRequest(ctx, r)
	if err != nil {
		t.Fatalf("delete records of %s on %s: %v", topic, d.Cluster, err)
	}
	p := resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	return p.LowWatermark, perr.Code(p.ErrorCode)
}

func (d *datacenter) mustDeleteRecords(t *testing.T, topic string, before int64) {
	t.Helper()
	if low, code := d.deleteRecords(t, topic, before); code != perr.None || low < before {
		t.Fatalf("delete records of %s on %s below %d: %s, low watermark %d", topic, d.Cluster, before, code, low)
	}
}

// produceBatches writes batches of three records each, so that offsets lie inside of them.
func (d *datacenter) produceBatches(t *testing.T, topic string, n int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for i := range n {
		var three []*kgo.Record
		for j := range 3 {
			three = append(three, &kgo.Record{Value: fmt.Append(nil, "record ", 3*i+j)})
		}
		if err := cl.ProduceSync(t.Context(), three...).FirstErr(); err != nil {
			t.Fatalf("produce to %s on %s: %v", topic, d.Cluster, err)
		}
	}
}

func (d *datacenter) awaitLogStart(t *testing.T, topic string, want int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s of %s begins at %d", topic, d.Cluster, want), func() (string, bool) {
		at := d.LogStart(t, topic, 0)
		return fmt.Sprint("it begins at ", at), at == want
	})
}

// F52: what is deleted at the source goes at its mirrors, those that gate and those that come later; it is theirs to delete
// once the writes have moved. A mirror that had not read it begins anew, and says so.
func TestDeletedRecordsAreDeletedAtMirrors(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	near := start(t, process.Spec{Cluster: "dc2"})
	far := start(t, process.Spec{Cluster: "dc3", Brokers: 1})
	source.create(t, "orders", 1, 3, nil)
	source.produceBatches(t, "orders", 10)
	near.createMirror(t, "dr", source)
	near.startSync(t, "dr", "orders")
	near.awaitSync(t, "dr", "orders")
	source.mustDeleteRecords(t, "orders", 10)
	near.awaitLogStart(t, "orders", 10)
	near.sameLogAs(t, source, "orders", 1)
	if _, code := near.deleteRecords(t, "orders", 20); code != perr.PolicyViolation {
		t.Errorf("records are deleted at the mirror: %s", code)
	}

	// A copy that is made now begins inside a batch, and one that was away for what was deleted begins anew above it.
	far.createMirror(t, "far", source)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if results, err := far.admin.StartTopics(ctx, "far", []string{"orders"}, nil, admin.Async); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	far.awaitTopic(t, "far", "orders", "up to date", func(now described) bool {
		return len(now.Partitions) == 1 && now.Partitions[0].DestinationOffset == 30
	})
	far.awaitLogStart(t, "orders", 10)
	far.sameLogAs(t, source, "orders", 1)
	far.pause(t)
	source.produceBatches(t, "orders", 10)
	source.mustDeleteRecords(t, "orders", 50)
	near.awaitLogStart(t, "orders", 50)
	far.resume(t)
	far.awaitLogStart(t, "orders", 50)
	far.sameLogAs(t, source, "orders", 1)
	far.logged(t, "level=WARN", "were deleted at the source before they were mirrored", "begins at 50")

	// Both sides remember over a crash, and nothing of it looks like divergence.
	source.Kill()
	near.Kill()
	source.restart(t)
	near.restart(t)
	near.awaitSync(t, "dr", "orders")
	if a, b := source.LogStart(t, "orders", 0), near.LogStart(t, "orders", 0); a != 50 || b != 50 {
		t.Errorf("after a crash the logs begin at %d and %d", a, b)
	}
	source.mustDeleteRecords(t, "orders", -1)
	near.awaitLogStart(t, "orders", 60)
	source.mustProduce(t, "orders", 0, "after all was deleted")
	near.switchOver(t, "dr", "orders")
	near.awaitStopped(t, "dr", "orders")
	if _, code := source.deleteRecords(t, "orders", -1); code == perr.None {
		t.Error("records are deleted where the topic is not written any more")
	}
	if seen := near.consume(t, "orders", 0); !seen.has("after all was deleted") {
		t.Error("the last record is lost")
	}
	near.mustDeleteRecords(t, "orders", 61)
	if out := source.explain(t, "orders", 4); !strings.Contains(out, "COMMITTED under") || !strings.Contains(out, "DELETED since") {
		t.Errorf("the proof of a deleted record:\n%s", out)
	}
	for _, d := range []*datacenter{source, near} {
		if out, code := clusterctl(t, append([]string{"journal", "verify"}, d.dirs()...)...); code != 0 {
			t.Errorf("verify %s: exit code %d\n%s", d.Cluster, code, out)
		}
	}
}

// The destination fails over from a log whose head is gone, and the old source follows it back.
func TestAFailoverOfALogWhoseHeadIsGone(t *testing.T) {
	t.Parallel()
	one := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	two := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	one.createTopic(t, "orders", 1)
	two.createMirror(t, "dr", one)
	two.startSync(t, "dr", "orders")
	two.awaitSync(t, "dr", "orders")
	one.produceBatches(t, "orders", 4)
	one.mustDeleteRecords(t, "orders", 7)
	two.awaitLogStart(t, "orders", 7)
	one.Kill()
	two.failOver(t, "dr", "orders")
	two.awaitStopped(t, "dr", "orders")
	base := two.mustProduce(t, "orders", 0, "after the failover")
	two.mustDeleteRecords(t, "orders", base)
	one.restart(t)
	one.awaitStanding(t, "orders", "SUPERSEDED")
	one.deleteTopic(t, "orders")
	one.createMirror(t, "back", two)
	one.startSync(t, "back", "orders")
	one.awaitSync(t, "back", "orders")
	one.awaitLogStart(t, "orders", base)
	one.sameLogAs(t, two, "orders", 1)
}
