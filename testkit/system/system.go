// Package system runs the System Tests of the draft's Test Plan on real processes. The defaults are short enough to be
// run beside other work; the flags make them as long and as large as the draft asks.
package system

import (
	"errors"
	"fmt"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// Command is `testkit system`.
type Command struct {
	Wan      wan      `cmd:"" help:"Performance Benchmark: throughput and latency over a distance, and the latency histogram beside the client's own figures."`
	Scale    scale    `cmd:"" help:"Scalability Test: many topics in sync mode. The draft's size is --topics 1000 --partitions 100."`
	Long     long     `cmd:"" help:"Long-Running Stability: memory, descriptors, disk and latency over time. The draft's length is --for 168h."`
	Failover failover `cmd:"" help:"Sync Failover and Failback: the source dies under load; every acknowledged record is at the destination."`
	Release  release  `cmd:"" help:"Source-Side Release Under Load: producers go on at once, and sync returns by itself."`
	Failback waiting  `cmd:"" help:"Failback into sync after a crash. Waits for a recovered source that keeps its data; testkit/pair moves a topic there and back."`
	Mixed    mixed    `cmd:"" help:"Mixed-Mode Transaction Failover: one transaction over a SYNC and an ASYNC topic, and how each comes out."`
}

// waiting is a bullet that needs what is not built yet.
type waiting struct{}

// Run says so.
func (waiting) Run() error {
	return errors.New("not run: it needs what is not built yet; see --help")
}

// pair is a source behind wires and its destination, with one topic mirrored synchronously.
type pair struct {
	source, destination *dc.Datacenter
	road                dc.Road
}

func start(j *dc.Job, args ...string) pair {
	j.Cleanup(binaries.Remove)
	p := pair{}
	p.source, p.road = dc.StartBehind(j, process.Spec{Cluster: "dc1", Args: args}, dc.Filters{})
	p.destination = dc.Start(j, process.Spec{Cluster: "dc2", Args: args})
	p.destination.CreateMirror(j, "dr", p.source, "bootstrap.servers", p.road.Bootstrap())
	return p
}

// distance is a round trip of rtt between the two.
func (p pair) distance(rtt time.Duration) {
	p.road.Each(func(w *wire.Wire) {
		w.Delay(wire.Up, rtt/2)
		w.Delay(wire.Down, rtt/2)
	})
}

func (p pair) sync(j *dc.Job, topic string, partitions int32) {
	p.source.CreateTopic(j, topic, partitions)
	p.destination.StartSync(j, "dr", topic)
	p.destination.AwaitSync(j, "dr", topic)
}

// settle ends a load and holds it against both sides.
func (p pair) settle(j *dc.Job, load *dc.Load, topic string, partitions int32) {
	load.Finish(j)
	p.source.SameLogAs(j, p.destination, topic, partitions)
	load.Check(j, p.source)
	load.Check(j, p.destination)
}

func sleep(j *dc.Job, d time.Duration) {
	select {
	case <-time.After(d):
	case <-j.Context().Done():
	}
}

func rate(records int, d time.Duration) string {
	return fmt.Sprintf("%.0f records/s", float64(records)/d.Seconds())
}
