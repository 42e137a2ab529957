package pair

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// F51: a throttle holds back records and nothing else. While a mirror is behind for it, over the Kafka port alone, its
// claim is confirmed all the time, its floors are heard, and producers wait for what is held back and no longer.
func TestAThrottledMirrorIsLateAndKeepsItsClaim(t *testing.T) {
	for _, level := range []struct {
		name   string
		args   []string
		mirror []string
	}{
		{"cluster", []string{"--set", "mirror.replication.throttled.rate=200000"}, nil},
		{"mirror", nil, []string{"mirror.replication.throttled.rate", "200000"}},
	} {
		t.Run(level.name, func(t *testing.T) {
			t.Parallel()
			source := start(t, process.Spec{Cluster: "dc1", Brokers: 1, NATSURL: "nats://" + nobody(t)})
			destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1, Args: append([]string{"--set", "lockstep.claim.lease.ms=3000"}, level.args...)})
			source.createTopic(t, "orders", 1)
			destination.createMirror(t, "dr", source, level.mirror...)
			destination.startSync(t, "dr", "orders")
			before := destination.awaitSync(t, "dr", "orders")

			const batches, size = 24, 50_000
			begin := time.Now()
			for range batches {
				if a := source.produce(t, "orders", 0, send{11, 1, 10 * time.Second, strings.Repeat("x", size)}); a.code != perr.None {
					t.Fatalf("acks=1: %s", a)
				}
			}
			late, claimed := 0, before.ClaimTimeMs
			eventually(t, "the copy is complete", func() (string, bool) {
				now, err := destination.describe(t.Context(), "dr", "orders")
				if err != nil {
					return err.Error(), false
				}
				end := now.Partitions[0].DestinationOffset
				if now.Unconfirmed || now.Partial || now.Phase != "SYNC" {
					t.Errorf("while throttled: %s", sight(now))
				}
				if end < batches && now.ClaimTimeMs > claimed {
					late, claimed = late+1, now.ClaimTimeMs
				}
				return fmt.Sprintf("%d of %d", end, batches), end == batches
			})
			if d := time.Since(begin); d < 3*time.Second {
				t.Errorf("%d kB in %s at 200 kB a second", batches*size/1000, d)
			}
			if late < 2 {
				t.Errorf("T moved on %d times while the copy was late: the claim waits for records", late)
			}
			if n := destination.metric(t, "lockstep_fetcher_throttled_total"); n == 0 {
				t.Error("no metric says that reads are held back")
			}
			if a := source.produce(t, "orders", 0, acksAll(20*time.Second, "last")); a.code != perr.None {
				t.Errorf("acks=all behind a throttle: %s", a)
			}
		})
	}
}
