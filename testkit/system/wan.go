package system

import (
	"fmt"
	"time"

	dc "lockstep/testkit/datacenter"
)

type wan struct {
	RTT        []time.Duration `default:"0ms,10ms,50ms,100ms" help:"Round trips between the two, one after the other."`
	For        time.Duration   `default:"10s" help:"Load at each distance; full length: 10m."`
	Partitions int32           `default:"6" help:"Of the topic of each distance."`
}

// Run measures each distance with its own topic and holds the histogram of the gating against what the client saw: no
// ack can be faster than the round trip, and the wait for the mirror is most of it.
func (c *wan) Run() error {
	return dc.Do("wan", func(j *dc.Job) {
		p := start(j)
		for i, rtt := range c.RTT {
			topic := fmt.Sprint("wan-", i)
			p.distance(0)
			p.sync(j, topic, c.Partitions)
			p.distance(rtt)
			load := p.source.ProduceUnderLoad(j, topic)
			load.AwaitMore(j, 1)
			before, began := load.Acked(), time.Now()
			sleep(j, c.For)
			acked, took := load.Acked()-before, time.Since(began)
			waits := p.source.Metrics(j)
			count, known := waits.Sum("kafka_server_mirror_sync_replication_latency_ms_count", "topic", topic)
			sum, _ := waits.Sum("kafka_server_mirror_sync_replication_latency_ms_sum", "topic", topic)
			fast := 0.0
			if bound := below(rtt); bound != "" {
				fast, _ = waits.Sum("kafka_server_mirror_sync_replication_latency_ms_bucket", "topic", topic, "le", bound)
			}
			j.Logf("RTT %6s: %s, client p50 %s p99 %s; wait for the mirror %.1f ms on average over %.0f batches, %.0f of them faster than the round trip",
				rtt, rate(acked, took), load.Latency(0.5).Round(time.Millisecond/10), load.Latency(0.99).Round(time.Millisecond/10), sum/max(count, 1), count, fast)
			if !known || count == 0 || fast > 0 || acked == 0 {
				j.Errorf("RTT %s: %d acknowledged; the histogram has %v batches (%v), %v of them faster than light", rtt, acked, count, known, fast)
			}
			p.distance(0)
			p.settle(j, load, topic, c.Partitions)
		}
	})
}

// below is the largest bucket bound that is under half a round trip's worth of doubt, "" if there is none.
func below(rtt time.Duration) string {
	for _, ms := range []int{50, 20, 10, 5, 2, 1} {
		if time.Duration(ms)*time.Millisecond < rtt {
			return fmt.Sprint(ms)
		}
	}
	return ""
}
