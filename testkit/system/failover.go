package system

import (
	"time"

	dc "lockstep/testkit/datacenter"
)

type failover struct {
	Load time.Duration `default:"5s" help:"Load before the source dies; full length: 5m."`
	Runs int           `default:"3" help:"Pairs of clusters; full length: 100."`
}

// Run kills the source under load and opens the destination: the same client, with its producer id and sequences, goes
// on there, and everything it was ever told is there once.
func (c *failover) Run() error {
	for range c.Runs {
		err := dc.Do("failover", func(j *dc.Job) {
			p := start(j)
			p.sync(j, "orders", 3)
			load := p.source.ProduceUnderLoad(j, "orders")
			load.AwaitMore(j, 100)
			sleep(j, c.Load)
			p.source.Kill()
			died := time.Now()
			p.destination.StopTopic(j, "dr", "orders")
			next := load.NextNew()
			if err := load.MoveTo(p.destination.Bootstrap()); err != nil {
				j.Fatal(err)
			}
			p.destination.AwaitStopped(j, "dr", "orders")
			dc.Await(j, "the same client writes to the destination", next)
			j.Logf("first new acknowledgement %s after the kill", time.Since(died).Round(time.Millisecond))
			load.AwaitMore(j, 100)
			load.Finish(j)
			load.Check(j, p.destination)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
