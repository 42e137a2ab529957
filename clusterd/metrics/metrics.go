// Package metrics renders what the machines know as Prometheus metrics, under the names of the KIP's.
package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"lockstep/actors/broker"
	"lockstep/actors/bus"
	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/fetcher"
)

const prefix = "kafka_server_mirror_"

// Registry holds the collectors of one process. Fetchers and bus may be nil.
func Registry(c *broker.Cluster, f *fetcher.Fetchers, b *bus.Bus) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(source{c}, destination{c}, local{c})
	if f != nil && b != nil {
		r.MustRegister(traffic{f, b})
	}
	return r
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, value int64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

// source is what this cluster does for mirrors of it.
type source struct{ cluster *broker.Cluster }

var (
	acks       = describe(prefix+"acks_total", "Batches acknowledged, by the mode of the ledger entry that released them.", "mode")
	registered = describe(prefix+"registered_topics", "Topics whose acks wait for a mirror.", "mirror")
	released   = describe(prefix+"released_topics", "Topics that the operator released and that have not returned.", "mirror")
	heldBy     = describe(prefix+"gate_held_by", "Partitions whose high watermark a mirror holds below the local ISR now.", "mirror")
)

// Describe implements prometheus.Collector.
func (source) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{acks, registered, released, heldBy} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s source) Collect(to chan<- prometheus.Metric) {
	for _, m := range broker.AckModes() {
		counter(to, acks, s.cluster.Acks(m), m.String())
	}
	gated, gone, holds := map[string]int{}, map[string]int{}, map[string]int{}
	for key, entry := range s.cluster.Registrations().Entries {
		name := key.Mirror.String()
		gated[name] += 0
		gone[name] += 0
		holds[name] += 0
		if entry.Epoch != 0 {
			gated[name]++
		}
		if entry.Released != 0 {
			gone[name]++
		}
	}
	for _, b := range s.cluster.Brokers() {
		for _, r := range b.Replicas() {
			if !r.View().IsLeader {
				continue
			}
			for _, g := range r.Gates().Gates {
				if g.HoldsSince != 0 {
					holds[g.Key.String()]++
				}
			}
		}
	}
	each(to, registered, gated)
	each(to, released, gone)
	each(to, heldBy, holds)
}

func each(to chan<- prometheus.Metric, d *prometheus.Desc, values map[string]int) {
	for name, n := range values {
		gauge(to, d, float64(n), name)
	}
}

// destination is what the mirrors of this cluster know. What is unknown is left out: zero never means
// unknown.
type destination struct{ cluster *broker.Cluster }

var (
	lag       = describe(prefix+"lag_offsets", "Source high watermark less the local log end.", "mirror", "topic", "partition")
	desired   = describe(prefix+"topic_desired_sync", "1 when the operator wants SYNC, 0 for ASYNC.", "mirror", "topic")
	effective = describe(prefix+"topic_effective_sync", "1 while the source's acks wait for this mirror, 0 for ASYNC.", "mirror", "topic")
	topics    = describe(prefix+"topics", "Topics of a mirror by phase.", "mirror", "phase")
	failing   = describe(prefix+"sync_partitions_failing", "Partitions whose fetches fail.", "mirror", "topic")
)

// Describe implements prometheus.Collector.
func (destination) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lag, desired, effective, topics, failing} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (d destination) Collect(to chan<- prometheus.Metric) {
	for _, name := range d.cluster.Mirrors() {
		if m, ok := d.mirror(name); ok && m.Exists {
			collectMirror(to, string(name), m)
		}
	}
}

func collectMirror(to chan<- prometheus.Metric, name string, m mirror.Description) {
	phases := map[string]int{}
	for _, t := range m.Topics {
		phases[t.Phase.String()]++
		gauge(to, desired, float64(t.Desired), name, t.Name)
		gauge(to, effective, float64(t.Effective), name, t.Name)
		down := 0
		for _, p := range t.Partitions {
			if p.Failing {
				down++
			}
			if p.Lag >= 0 {
				gauge(to, lag, float64(p.Lag), name, t.Name, strconv.Itoa(int(p.Partition)))
			}
		}
		gauge(to, failing, float64(down), name, t.Name)
	}
	for phase, n := range phases {
		gauge(to, topics, float64(n), name, phase)
	}
}

// mirror asks one mirror; a busy one is left out of this scrape.
func (d destination) mirror(name core.MirrorName) (mirror.Description, bool) {
	answer := make(chan any, 1)
	d.cluster.Mirror(name, func(ref core.RequestID) mirror.Command { return mirror.Describe{Ref: ref} }, func(a any) { answer <- a })
	select {
	case a := <-answer:
		described, ok := a.(mirror.Described)
		return described.Mirror, ok
	case <-time.After(time.Second):
		return mirror.Description{}, false
	}
}

// local is what Kafka's own metrics say of a cluster, as far as an operator looks at them first.
type local struct{ cluster *broker.Cluster }

var (
	live    = describe("kafka_server_broker_live", "1 while the broker is not fenced.", "broker")
	offline = describe("kafka_controller_offline_partitions", "Partitions without a leader.")
	under   = describe("kafka_server_under_replicated_partitions", "Partitions whose ISR is smaller than their replica set.")
)

// Describe implements prometheus.Collector.
func (local) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{live, offline, under} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (l local) Collect(to chan<- prometheus.Metric) {
	img := l.cluster.Newest()
	for id, b := range img.Brokers {
		value := 0.0
		if b.Live {
			value = 1
		}
		gauge(to, live, value, strconv.Itoa(int(id)))
	}
	leaderless, small := 0, 0
	for _, t := range img.Topics {
		for _, p := range t.Partitions {
			if p.Leader == core.NoReplica {
				leaderless++
			}
			if len(p.ISR) < len(p.Replicas) {
				small++
			}
		}
	}
	gauge(to, offline, float64(leaderless))
	gauge(to, under, float64(small))
}
