package pair

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
)

var rounds = flag.Int("stops", 1, "how often TestClientsGoOnWhileBrokersStopAndStart stops each broker")

// readers is a consumer group that remembers which records of a run its members were given.
type readers struct {
	mu     sync.Mutex
	given  map[uint64]int
	failed error
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

func (d *datacenter) readAsGroup(t *testing.T, topic string, members int) *readers {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &readers{given: map[uint64]int{}, stop: stop}
	for i := range members {
		cl, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics(topic), kgo.ClientID(fmt.Sprint("reader-", i)),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DialTimeout(time.Second), kgo.MetadataMinAge(100*time.Millisecond), kgo.FetchMaxWait(200*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		r.ended.Go(func() {
			defer cl.Close()
			for ctx.Err() == nil {
				fetches := cl.PollFetches(ctx)
				r.take(fetches)
			}
		})
	}
	t.Cleanup(func() { stop(); r.ended.Wait() })
	return r
}

func (r *readers) take(fetches kgo.Fetches) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fetches.EachError(func(topic string, p int32, err error) {
		var lost *kgo.ErrDataLoss
		if errors.As(err, &lost) {
			r.failed = fmt.Errorf("%s/%d: %w", topic, p, err)
		}
	})
	fetches.EachRecord(func(rec *kgo.Record) { r.given[binary.BigEndian.Uint64(rec.Value[8:])]++ })
}

func (r *readers) count() (distinct, again int, failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.given {
		again += n - 1
	}
	return len(r.given), again, r.failed
}

// clusterctl runs the tool as an operator does.
func (d *datacenter) clusterctl(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, products(t).Clusterctl, args...).CombinedOutput(); err != nil {
		t.Fatalf("clusterctl %v: %v\n%s", args, err, out)
	}
}

// Brokers are stopped and started one after the other while an idempotent producer and a consumer
// group go on. The producer gives up nothing, the log has each record once, and the group is given every one of them.
func TestClientsGoOnWhileBrokersStopAndStart(t *testing.T) {
	dc := start(t, process.Spec{Cluster: "dc1"})
	dc.createTopic(t, "orders", 6)
	load := dc.produceUnderLoad(t, "orders")
	group := dc.readAsGroup(t, "orders", 2)
	load.awaitMore(t, 500)
	for round := range *rounds {
		for id := 1; id <= 3; id++ {
			dc.clusterctl(t, "brokers", "stop", "--http", dc.HTTP, fmt.Sprint(id))
			load.awaitMore(t, 500)
			dc.clusterctl(t, "brokers", "start", "--http", dc.HTTP, fmt.Sprint(id))
			load.awaitMore(t, 500)
			before, _, _ := group.count()
			eventually(t, fmt.Sprintf("round %d: the group is given records after broker %d is back", round, id), func() (string, bool) {
				now, _, failed := group.count()
				if failed != nil {
					t.Fatal(failed)
				}
				return fmt.Sprint(now), now > before
			})
		}
	}
	if n, err := load.Failed(); n > 0 {
		t.Errorf("the client gave up %d records: %v", n, err)
	}
	load.drain(t)
	load.compare(t, dc)
	eventually(t, "the group is given every acknowledged record", func() (string, bool) {
		now, again, failed := group.count()
		if failed != nil {
			t.Fatal(failed)
		}
		return fmt.Sprintf("%d of %d, %d again after rebalances", now, load.Acked(), again), now >= load.Acked()
	})
	_, again, _ := group.count()
	t.Logf("%d records acknowledged and given to the group, %d of them again after a rebalance", load.Acked(), again)
}
