package system

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/protocol/admin"
	dc "lockstep/testkit/datacenter"
)

type scale struct {
	Topics     int           `default:"100" help:"Topics; the draft asks for 1000."`
	Partitions int32         `default:"3" help:"Partitions of each; the draft asks for 100."`
	Within     time.Duration `default:"10m" help:"Until every topic must be SYNC."`
}

// Run starts all topics by one pattern and waits until each is SYNC; then one record into each, acknowledged by both.
func (c *scale) Run() error {
	return dc.Do("scale", func(j *dc.Job) {
		p := start(j)
		adm := kadm.NewClient(p.source.Admin.Kafka)
		names := make([]string, c.Topics)
		for i := range names {
			names[i] = fmt.Sprintf("t-%05d", i)
		}
		began := time.Now()
		for from := 0; from < len(names); from += 50 {
			ctx, cancel := context.WithTimeout(j.Context(), c.Within)
			res, err := adm.CreateTopics(ctx, c.Partitions, 3, nil, names[from:min(from+50, len(names))]...)
			cancel()
			if err == nil {
				err = res.Error()
			}
			if err != nil {
				j.Fatalf("create topics from %d on: %v", from, err)
			}
		}
		j.Logf("%d topics with %d partitions created in %s", c.Topics, c.Topics*int(c.Partitions), time.Since(began).Round(time.Millisecond))
		began = time.Now()
		ctx, cancel := context.WithTimeout(j.Context(), c.Within)
		defer cancel()
		if _, err := p.destination.Admin.StartTopics(ctx, "dr", []string{"t-.*"}, nil, admin.Sync); err != nil {
			j.Fatal("start:", err)
		}
		shown := -1
		for n := 0; n < c.Topics; sleep(j, time.Second) {
			if err := ctx.Err(); err != nil {
				j.Fatalf("%d of %d topics are SYNC after %s", n, c.Topics, c.Within)
			}
			sum, known := p.destination.Metrics(j).Sum("kafka_server_mirror_topics", "phase", "SYNC")
			if !known {
				continue // the mirror was too busy to answer this scrape
			}
			if n = int(sum); n != shown {
				j.Logf("%d of %d topics are SYNC", n, c.Topics)
				shown = n
			}
		}
		j.Logf("all SYNC after %s", time.Since(began).Round(time.Millisecond))
		began = time.Now()
		for i := 0; i < c.Topics; i += max(1, c.Topics/50) {
			p.source.MustProduce(j, names[i], 0, "acknowledged by both")
		}
		j.Logf("%d topics written to, one after the other, %s each", min(c.Topics, 50), (time.Since(began) / time.Duration(min(c.Topics, 50))).Round(time.Millisecond/10))
		for _, d := range []*dc.Datacenter{p.source, p.destination} {
			m := d.Metrics(j)
			rss, _ := m.Sum("process_resident_memory_bytes")
			goroutines, _ := m.Sum("go_goroutines")
			j.Logf("%s: %.0f MiB resident, %.0f goroutines", d.Cluster, rss/(1<<20), goroutines)
		}
	})
}
