package metrics

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"lockstep/actors/bus"
	"lockstep/actors/fetcher"
)

// traffic is what fetchers and bus count, one metric per field of their Counts: a new counter shows up
// here by itself.
type traffic struct {
	fetchers *fetcher.Fetchers
	bus      *bus.Bus
}

// Describe sends nothing: the metrics follow from the fields.
func (traffic) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (t traffic) Collect(to chan<- prometheus.Metric) {
	collectCounts(to, "lockstep_fetcher_", t.fetchers.Counts())
	collectCounts(to, "lockstep_bus_", t.bus.Counts())
}

func collectCounts(to chan<- prometheus.Metric, prefix string, counts any) {
	v := reflect.ValueOf(counts)
	for i := range v.NumField() {
		name := prefix + snake(v.Type().Field(i).Name) + "_total"
		counter(to, describe(name, "Since process start; see the Counts of the package."), v.Field(i).Int())
	}
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
