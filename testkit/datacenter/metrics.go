package datacenter

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Series is one line of /metrics.
type Series struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Page is what /metrics showed at one instant.
type Page struct {
	All  []Series
	Help map[string]string // by metric
}

var label = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// Metrics reads /metrics.
func (d *Datacenter) Metrics(t T) Page {
	t.Helper()
	code, body := d.Get(t, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("metrics of %s: %d: %s", d.Cluster, code, body)
	}
	p := Page{Help: map[string]string{}}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if help, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, text, _ := strings.Cut(help, " ")
			p.Help[name] = text
		}
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		s := Series{Labels: map[string]string{}}
		if _, err := fmt.Sscan(line[at+1:], &s.Value); err != nil {
			t.Fatalf("metrics of %s: %q: %v", d.Cluster, line, err)
		}
		s.Name, _, _ = strings.Cut(line[:at], "{")
		for _, m := range label.FindAllStringSubmatch(line[:at], -1) {
			s.Labels[m[1]] = m[2]
		}
		p.All = append(p.All, s)
	}
	return p
}

// Sum adds the series of a metric that have the labels, given as pairs; ok is false when there is none, which is not
// the same as zero.
func (p Page) Sum(name string, labels ...string) (sum float64, ok bool) {
	for _, s := range p.All {
		if s.Name == name && s.has(labels) {
			sum, ok = sum+s.Value, true
		}
	}
	return sum, ok
}

func (s Series) has(labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		if s.Labels[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}

// Names are those of all series, sorted; of a histogram its buckets, sum and count.
func (p Page) Names() []string {
	names := map[string]bool{}
	for _, s := range p.All {
		names[s.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Metric is the sum of a metric over its labels; absent is 0.
func (d *Datacenter) Metric(t T, name string, labels ...string) float64 {
	t.Helper()
	sum, _ := d.Metrics(t).Sum(name, labels...)
	return sum
}

// Get asks the HTTP listener.
func (d *Datacenter) Get(t T, path string) (code int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s of %s: %v", path, d.Cluster, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s of %s: %v", path, d.Cluster, err)
	}
	return res.StatusCode, string(text)
}
