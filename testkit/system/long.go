package system

import (
	"time"

	dc "lockstep/testkit/datacenter"
)

type long struct {
	For   time.Duration `default:"2m" help:"How long; the draft asks for 168h."`
	Every time.Duration `default:"10s" help:"Between two samples."`
	Pace  time.Duration `default:"5ms" help:"Between two records, so that disks last as long as the run."`
}

// usage is what one process held at one sample.
type usage struct{ heap, rss, goroutines, descriptors float64 }

// Run writes at an even pace and samples both processes. After the first quarter, in which caches fill, nothing may
// keep growing: the last quarter is held against the second.
func (c *long) Run() error {
	return dc.Do("long", func(j *dc.Job) {
		p := start(j)
		p.sync(j, "orders", 3)
		samples := map[*dc.Datacenter][]usage{}
		end := time.Now().Add(c.For)
		written, slowest, next := 0, time.Duration(0), time.Now()
		for time.Now().Before(end) {
			if !time.Now().Before(next) {
				next = time.Now().Add(c.Every)
				for _, d := range []*dc.Datacenter{p.source, p.destination} {
					samples[d] = append(samples[d], measured(j, d))
				}
				last := samples[p.source][len(samples[p.source])-1]
				j.Logf("%d written, slowest ack %s; source %.0f MiB heap, %.0f MiB resident, %.0f goroutines, %.0f descriptors",
					written, slowest.Round(time.Millisecond), last.heap/(1<<20), last.rss/(1<<20), last.goroutines, last.descriptors)
				slowest = 0
			}
			began := time.Now()
			p.source.MustProduce(j, "orders", int32(written%3), "steady")
			slowest = max(slowest, time.Since(began))
			written++
			sleep(j, c.Pace)
		}
		for d, list := range samples {
			judge(j, d.Cluster, list)
		}
		p.source.SameLogAs(j, p.destination, "orders", 3)
	})
}

func measured(j *dc.Job, d *dc.Datacenter) usage {
	m := d.Metrics(j)
	get := func(name string) float64 { v, _ := m.Sum(name); return v }
	return usage{get("go_memstats_heap_inuse_bytes"), get("process_resident_memory_bytes"), get("go_goroutines"), get("process_open_fds")}
}

// judge compares the smallest of the last quarter with the largest of the second: what only rises is a leak.
func judge(j *dc.Job, name string, list []usage) {
	if len(list) < 8 {
		j.Logf("%s: %d samples are too few to tell growth from noise; give --for at least eight times --every", name, len(list))
		return
	}
	q := len(list) / 4
	early, late := list[q:2*q], list[3*q:]
	for what, of := range map[string]func(usage) float64{"heap bytes": func(u usage) float64 { return u.heap }, "goroutines": func(u usage) float64 { return u.goroutines },
		"descriptors": func(u usage) float64 { return u.descriptors }} {
		most, least := 0.0, of(late[0])
		for _, u := range early {
			most = max(most, of(u))
		}
		for _, u := range late {
			least = min(least, of(u))
		}
		j.Logf("%s: %s at most %.0f in the second quarter, at least %.0f in the last", name, what, most, least)
		if least > most*1.3+64 {
			j.Errorf("%s: %s only grow: at most %.0f in the second quarter, never below %.0f in the last", name, what, most, least)
		}
	}
}
