package transactions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"lockstep/clusterd/process"
	dc "lockstep/testkit/datacenter"
)

// failovers kills a gated source at a random instant under load, opens its mirror, and holds what is committed there
// against what producers were told (C12). A transaction without an answer may come out torn: its markers are
// written partition by partition, and nobody at the destination knows of the others.
func (c *Command) failovers() error {
	rng := rand.New(rand.NewPCG(c.Seed, 1))
	for run := range c.Runs {
		err := dc.Do(fmt.Sprint("failover ", run+1), func(j *dc.Job) {
			source := dc.Start(j, process.Spec{Cluster: "dc1"})
			destination := dc.Start(j, process.Spec{Cluster: "dc2"})
			destination.CreateMirror(j, "dr", source)
			for _, topic := range topics {
				source.CreateTopic(j, topic, 3)
				destination.StartSync(j, "dr", topic)
				destination.AwaitSync(j, "dr", topic)
			}
			load, stop := context.WithCancel(j.Context())
			defer stop()
			producers, writers := c.write(load, source.Bootstrap(), uint64(run))
			time.Sleep(c.Load/2 + time.Duration(rng.Int64N(int64(c.Load))))
			source.Kill()
			stop()
			for _, topic := range topics {
				destination.StopTopic(j, "dr", topic)
				destination.AwaitStopped(j, "dr", topic)
			}
			writers.Wait()
			ctx, cancel := context.WithTimeout(j.Context(), time.Minute)
			defer cancel()
			seen, err := readAll(ctx, destination.Bootstrap(), topics...)
			if err != nil {
				j.Fatal(err)
			}
			v := judge(producers, seen, true)
			if v.committed == 0 || len(v.wrong) > 0 {
				j.Fatalf("seed %d: %d transactions were committed, %d things are wrong:\n%s", c.Seed, v.committed, len(v.wrong), strings.Join(v.wrong[:min(20, len(v.wrong))], "\n"))
			}
			j.Logf("%d transactions committed, %d aborted, %d without an answer; %d records read at the destination, each once", v.committed, v.aborted, v.unknown, v.records)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// write starts producers that live until ctx ends.
func (c *Command) write(ctx context.Context, seeds []string, salt uint64) ([]*producer, *sync.WaitGroup) {
	writers := &sync.WaitGroup{}
	var producers []*producer
	for i := range c.Producers {
		p := &producer{id: fmt.Sprintf("producer-%d", i), seeds: seeds, rng: rand.New(rand.NewPCG(c.Seed+salt, uint64(i)+2))}
		if i%2 == 1 {
			p.opts = append(p.opts, olderClients())
		}
		producers = append(producers, p)
		writers.Go(func() { p.run(ctx) })
	}
	return producers, writers
}
