// Package faults runs two or three real clusters for minutes under random faults of the network between them and of
// the destinations, with a stock client that never stops. Nothing it was told may be lost, and every produce that is
// refused must carry the code and the mirror's name that the rules say (R9, R10).
package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// Command is `testkit faults`.
type Command struct {
	Minutes      float64       `default:"2" help:"How long."`
	Destinations int           `default:"1" help:"1 or 2."`
	Most         time.Duration `default:"4s" help:"The longest that one fault lasts."`
	Seed         uint64        `help:"Seed of the faults; 0 draws one."`
	Only         string        `help:"Only faults whose name contains this."`
}

const (
	topic      = "orders"
	partitions = 3
)

// Run ends with the first acknowledged record that is lost, wrong refusal or stall.
func (c *Command) Run() error {
	if c.Destinations < 1 || c.Destinations > 2 {
		return fmt.Errorf("--destinations %d: use 1 or 2", c.Destinations)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	return dc.Do("faults", func(j *dc.Job) {
		j.Cleanup(binaries.Remove)
		j.Logf("seed %d", c.Seed)
		r := &run{Command: c, job: j, rng: rand.New(rand.NewPCG(c.Seed, 1)), loss: wire.NewLoss(c.Seed), counts: map[string]int{}}
		r.start()
		r.weather()
		r.settle()
	})
}

type run struct {
	*Command
	job          *dc.Job
	rng          *rand.Rand
	loss         *wire.Loss
	source       *dc.Datacenter
	road         dc.Road
	destinations []*dc.Datacenter
	load         *dc.Load
	counts       map[string]int // of what was done and answered
}

func mirrorOf(i int) string { return [...]string{"near", "far"}[i] }

func (r *run) start() {
	r.source, r.road = dc.StartBehind(r.job, process.Spec{Cluster: "dc1"}, dc.Filters{NATS: r.loss.Filter})
	r.source.CreateTopic(r.job, topic, partitions)
	for i := range r.Destinations {
		d := dc.Start(r.job, process.Spec{Cluster: fmt.Sprint("dc", i+2)})
		d.CreateMirror(r.job, mirrorOf(i), r.source, "bootstrap.servers", r.road.Bootstrap(), "fetch.backoff.ms", "100")
		d.StartSync(r.job, mirrorOf(i), topic)
		d.AwaitSync(r.job, mirrorOf(i), topic)
		r.destinations = append(r.destinations, d)
	}
	r.load = r.source.ProduceUnderLoad(r.job, topic)
	r.load.AwaitMore(r.job, 100)
}

// weather is one fault after the other, each followed by proof that it passed.
func (r *run) weather() {
	var drawn []fault
	for _, f := range all {
		if strings.Contains(f.name, r.Only) {
			drawn = append(drawn, f)
		}
	}
	if len(drawn) == 0 {
		r.job.Fatalf("no fault is called %q", r.Only)
	}
	end := time.Now().Add(time.Duration(r.Minutes * float64(time.Minute)))
	for time.Now().Before(end) {
		f := drawn[r.rng.IntN(len(drawn))]
		r.counts["fault: "+f.name]++
		lasts := r.Most/8 + time.Duration(r.rng.Int64N(int64(r.Most)))
		undo := f.do(r)
		r.probe(lasts)
		undo()
		r.road.Heal(r.job)
		r.loss.Set(0)
		dc.Await(r.job, "new records are acknowledged after "+f.name, r.load.NextNew())
	}
}

// probe writes with both kinds of clients while a fault lasts, and judges each answer.
func (r *run) probe(lasts time.Duration) {
	end := time.Now().Add(lasts)
	for i := 0; time.Now().Before(end); i++ {
		version := []int16{14, 13}[i%2]
		s := dc.Send{Version: version, Acks: -1, Timeout: 700 * time.Millisecond, Value: fmt.Sprint("probe ", i)}
		a := r.source.Produce(r.job, topic, int32(i%partitions), s)
		var names []string
		for i := range r.Destinations {
			names = append(names, mirrorOf(i))
		}
		verdict, ok := judge(version, a, names)
		r.counts[fmt.Sprintf("produce v%d: %s", version, verdict)]++
		if !ok {
			r.job.Errorf("Produce v%d was answered %s", version, a)
		}
		select { // what is refused before the append is refused at once
		case <-time.After(20 * time.Millisecond):
		case <-r.job.Context().Done():
		}
	}
}

// settle waits for SYNC everywhere and holds every side against what the client was told.
func (r *run) settle() {
	for i, d := range r.destinations {
		d.AwaitSync(r.job, mirrorOf(i), topic)
	}
	r.load.AwaitMore(r.job, 100)
	r.load.Finish(r.job)
	for _, d := range r.destinations {
		r.source.SameLogAs(r.job, d, topic, partitions)
	}
	for _, d := range append([]*dc.Datacenter{r.source}, r.destinations...) {
		r.load.Check(r.job, d)
	}
	var lines []string
	for what, n := range r.counts {
		lines = append(lines, fmt.Sprintf("%5d  %s", n, what))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	r.job.Logf("%d NATS messages were dropped\n%s", r.loss.Dropped(), strings.Join(lines, "\n"))
}
