package pair

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
)

// A process that is killed again and again while it compacts what is being written loses no newest value that it acknowledged,
// and its journal is whole.
func TestKillsWhileCompactingLoseNoNewestValue(t *testing.T) {
	t.Parallel()
	args := []string{"--set", "log.cleaner.backoff.ms=10", "--set", "segment.bytes=14", "--set", "min.cleanable.dirty.ratio=0"}
	d := start(t, process.Spec{Cluster: "dc1", Brokers: 3, Args: args})
	d.create(t, "table", 1, 3, map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "50"})

	const keys = 6
	var mu sync.Mutex
	acked := make([]int, keys)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...), kgo.DefaultProduceTopic("table"), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	total := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, at := range acked {
			n += at
		}
		return n
	}
	var writers sync.WaitGroup
	for key := range keys {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for n := 1; ctx.Err() == nil; n++ {
				// The client repeats it until it is acknowledged, also over a restart.
				if err := cl.ProduceSync(ctx, &kgo.Record{Key: fmt.Append(nil, "k", key), Value: strconv.AppendInt(nil, int64(n), 10)}).FirstErr(); err != nil {
					return
				}
				mu.Lock()
				acked[key] = n
				mu.Unlock()
			}
		}()
	}
	for range 4 {
		before := total()
		eventually(t, "writes to go on", func() (string, bool) { n := total(); return fmt.Sprint(n - before), n > before+200 })
		d.Kill()
		d.restart(t)
	}
	stop()
	writers.Wait()
	end := d.put(t, "table", "end=1")
	got := map[string]int{}
	lines := strings.Fields(d.table(t, "table", end))
	for _, line := range lines {
		_, text, _ := strings.Cut(line, ":")
		key, rest, _ := strings.Cut(text, "=")
		value, _, _ := strings.Cut(rest, "@")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got[key] = n
	}
	for key, least := range acked {
		if n := got[fmt.Sprint("k", key)]; n < least {
			t.Errorf("k%d is %d, %d was acknowledged", key, n, least)
		}
	}
	eventually(t, "what is superfluous to go", func() (string, bool) {
		n := len(strings.Fields(d.table(t, "table", end)))
		return fmt.Sprintf("%d records of %d", n, total()), n <= 2*keys+2
	})
	if out, code := clusterctl(t, append([]string{"journal", "verify"}, d.dirs()...)...); code != 0 {
		t.Errorf("verify: %d %s", code, out)
	}
}
