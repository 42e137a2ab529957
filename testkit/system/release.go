package system

import (
	"fmt"
	"time"

	"lockstep/protocol/admin"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

type release struct {
	Load time.Duration `default:"5s" help:"Load before and after; full length: 5m."`
}

// Run releases a destination that was cut off, under load: producers go on at once, failing partitions show, and sync
// returns by itself once the line is back, with nothing lost.
func (c *release) Run() error {
	return dc.Do("release", func(j *dc.Job) {
		p := start(j)
		p.sync(j, "orders", 3)
		load := p.source.ProduceUnderLoad(j, "orders")
		load.AwaitMore(j, 100)
		sleep(j, c.Load)
		p.road.Each((*wire.Wire).Close)
		dc.Eventually(j, "the mirror holds every partition", func() (string, bool) {
			n := p.source.Metric(j, "kafka_server_mirror_gate_held_by", "mirror", "dr")
			return fmt.Sprint(n), n == 3
		})
		dc.Eventually(j, "the destination counts every partition as failing", func() (string, bool) {
			n, known := p.destination.Metrics(j).Sum("kafka_server_mirror_sync_partitions_failing", "topic", "orders")
			return fmt.Sprint(n, known), n == 3
		})
		next := load.NextNew()
		released := time.Now()
		p.source.Release(j, "dr")
		dc.Await(j, "new records are acknowledged", next)
		j.Logf("first new acknowledgement %s after the release", time.Since(released).Round(time.Millisecond))
		sleep(j, c.Load)
		p.road.Heal(j)
		healed := time.Now()
		p.destination.AwaitTopic(j, "dr", "orders", "demoted or back already", func(now dc.Described) bool {
			return now.EffectiveMirrorType == admin.Async || now.ReleaseNumber > 0
		})
		p.destination.AwaitTopic(j, "dr", "orders", "SYNC again", func(now dc.Described) bool { return dc.InSync(now) && now.ReleaseNumber > 0 })
		j.Logf("SYNC again %s after the line was back, under load", time.Since(healed).Round(time.Millisecond))
		load.AwaitMore(j, 100)
		p.settle(j, load, "orders", 3)
	})
}
