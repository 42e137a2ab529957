// Package metrics renders what the machines know as Prometheus metrics. Names of mirroring follow the KIP, the
// others are those that Kafka's JMX names have on every board. What is unknown is left out: zero never means unknown.
package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"lockstep/actors/broker"
	"lockstep/actors/bus"
	"lockstep/actors/core"
	"lockstep/actors/fetcher"
	"lockstep/actors/histogram"
	"lockstep/clusterd/front"
)

const prefix = "kafka_server_mirror_"

// Process is what one process exposes.
type Process struct {
	Cluster  *broker.Cluster
	Fetchers *fetcher.Fetchers // nil with Bus: this process makes no mirrors
	Bus      *bus.Bus
	Traffic  *front.Traffic // nil: it has no listeners
	// Partitions is the most partitions a cluster may have for series of single ones (lockstep.metrics.partitions.max).
	Partitions int
}

// Registry makes the collectors of one process. Every scrape reads the machines anew.
func Registry(p Process) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(source{p}, destination{p}, cluster{p})
	if p.Traffic != nil {
		r.MustRegister(requests{p})
	}
	if p.Fetchers != nil && p.Bus != nil {
		r.MustRegister(traffic{p.Fetchers, p.Bus})
	}
	return r
}

// single reports whether partitions have series of their own.
func (p Process) single() bool {
	n := 0
	for _, t := range p.Cluster.Newest().Topics {
		n += len(t.Partitions)
	}
	return n <= p.Partitions
}

// topic is a topic's present name; false once it is deleted.
func (p Process) topic(id core.TopicID) (string, bool) {
	t, known := p.Cluster.Newest().Topic(id)
	if !known {
		return "", false
	}
	return t.Name, true
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

// distribution renders a histogram in milliseconds.
func distribution(to chan<- prometheus.Metric, d *prometheus.Desc, s histogram.Snapshot, labels ...string) {
	buckets := make(map[float64]uint64, len(histogram.Bounds))
	for i, b := range histogram.Bounds {
		buckets[ms(b)] = uint64(s.Cumulative[i])
	}
	to <- prometheus.MustNewConstHistogram(d, uint64(s.Count), ms(s.Sum), buckets, labels...)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func number(n int32) string { return strconv.Itoa(int(n)) }

func each(to chan<- prometheus.Metric, d *prometheus.Desc, values map[string]int, labels ...string) {
	for name, n := range values {
		gauge(to, d, float64(n), append([]string{name}, labels...)...)
	}
}
