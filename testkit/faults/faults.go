// Package faults runs two or three real clusters for minutes under random faults: of the network between them, of the
// processes, and of people, with a stock client that never stops. Nothing it was told may be lost or be there twice,
// nothing may be acknowledged while a gating mirror cannot have it, and every produce that is refused must carry the
// code, the text and the mirror's name that the rules say (R9, R10).
package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// Command is `testkit faults`.
type Command struct {
	Minutes      float64       `default:"2" help:"How long."`
	Destinations int           `default:"1" help:"1 or 2: two or three processes."`
	Most         time.Duration `default:"4s" help:"The longest that one fault lasts."`
	Rate         int           `default:"1000" help:"Records per second of the client, so that the disk lasts; 0: as many as the clusters take."`
	Seed         uint64        `help:"Seed of the faults; 0 draws one."`
	Only         string        `help:"Only faults whose name contains this."`
	List         bool          `help:"Print the faults and end."`
	JSON         string        `name:"json" type:"path" help:"Write what was done, answered and measured to this file; - is standard output."`
}

const (
	topic      = "orders"
	partitions = 3
)

// Run ends with the first stall; a wrong answer is printed at once and fails the run at its end.
func (c *Command) Run() error {
	if c.Destinations < 1 || c.Destinations > 2 {
		return fmt.Errorf("--destinations %d: use 1 or 2", c.Destinations)
	}
	if c.List {
		for _, f := range all {
			fmt.Println(f.name)
		}
		return nil
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	r := &run{Command: c, rng: rand.New(rand.NewPCG(c.Seed, 1)), faults: map[string]int{}, answers: map[string]int{}, lanes: map[string]*dc.Lane{},
		loss: map[string]*wire.Loss{}, destinations: map[string]*dc.Datacenter{}}
	err := dc.Do("faults", func(j *dc.Job) {
		j.Cleanup(binaries.Remove)
		j.Logf("seed %d", c.Seed)
		r.job = j
		r.start()
		r.weather()
		r.settle()
	})
	if told := r.tell(err); err == nil {
		err = told
	}
	return err
}

type run struct {
	*Command
	job          *dc.Job
	rng          *rand.Rand
	source       *dc.Datacenter
	mirrors      []string // names of what is mirrored to, the keys of the maps below
	lanes        map[string]*dc.Lane
	loss         map[string]*wire.Loss
	destinations map[string]*dc.Datacenter
	load         *dc.Load
	now          situation
	probes       []placed
	probed       int
	faults       map[string]int
	answers      map[string]int
	bounds       bounds
	still        stillness
	excused      int // answers not judged
}

func (r *run) start() {
	r.mirrors = []string{"near", "far"}[:r.Destinations]
	var filters []dc.Filters
	for i, m := range r.mirrors {
		r.loss[m] = wire.NewLoss(r.Seed + uint64(i))
		filters = append(filters, dc.Filters{NATS: r.loss[m].Filter})
	}
	source, lanes := dc.StartForked(r.job, process.Spec{Cluster: "dc1"}, filters...)
	r.source = source
	r.job.Cleanup(r.dump)
	r.source.CreateTopic(r.job, topic, partitions)
	for i, m := range r.mirrors {
		d := dc.Start(r.job, process.Spec{Cluster: fmt.Sprint("dc", i+2)})
		lanes[i].Take(d)
		r.lanes[m], r.destinations[m] = lanes[i], d
		d.CreateMirror(r.job, m, r.source, "bootstrap.servers", lanes[i].Bootstrap(), "fetch.backoff.ms", "100")
		d.StartSync(r.job, m, topic)
		d.AwaitSync(r.job, m, topic)
	}
	if err := r.still.watch(r.job.TempDir(), r.job.Context().Done()); err != nil {
		r.job.Fatalf("watch the disk: %v", err)
	}
	r.load = r.source.ProduceAt(r.job, r.Rate, topic)
	r.load.AwaitMore(r.job, 100)
}

// weather is one fault after the other, each followed by proof that it passed.
func (r *run) weather() {
	var drawn []fault
	for _, f := range all {
		if strings.Contains(f.name, r.Only) && len(r.mirrors) >= f.needs {
			drawn = append(drawn, f)
		}
	}
	if len(drawn) == 0 {
		r.job.Fatalf("no fault for %d destinations is called %q; --list prints them", r.Destinations, r.Only)
	}
	r.pass("the start")
	r.bounds.measure(r)
	began := time.Now()
	end := began.Add(time.Duration(r.Minutes * float64(time.Minute)))
	said := began
	for n := 1; time.Now().Before(end); n++ {
		f := drawn[r.rng.IntN(len(drawn))]
		r.faults[f.name]++
		r.now.fault = f.name
		f.do(r)
		for _, l := range r.lanes {
			l.Heal(r.job)
		}
		for _, l := range r.loss {
			l.Set(0)
		}
		r.pass(f.name)
		if time.Since(said) > 15*time.Second {
			r.bounds.measure(r)
			said = time.Now()
			r.job.Logf("%s of %.1fm: %d faults, %d acknowledged, %d probes; %s", time.Since(began).Round(time.Second), r.Minutes, n, r.load.Acked(), r.probed, r.bounds.last())
		}
	}
}

// pass waits until every partition is acknowledged again by all that gate, and mostly until every mirror is SYNC. When
// not, the next fault meets what the last one left, and answers are held against both.
func (r *run) pass(what string) {
	dc.Await(r.job, "new records are acknowledged after "+what, r.load.NextNew())
	for p := range int32(partitions) {
		r.source.MustProduce(r.job, topic, p, "passed")
	}
	r.now.deaf = nil
	if r.rng.IntN(4) == 0 && what != "the start" {
		return
	}
	for _, m := range r.mirrors {
		r.destinations[m].AwaitSync(r.job, m, topic)
	}
	r.now = situation{}
}

// suffer probes while a fault lasts.
func (r *run) suffer() {
	r.probe(r.Most/8 + time.Duration(r.rng.Int64N(int64(r.Most))))
}

// settle waits for SYNC everywhere and holds every side against what the clients were told.
func (r *run) settle() {
	for _, m := range r.mirrors {
		r.destinations[m].AwaitSync(r.job, m, topic)
	}
	r.load.AwaitMore(r.job, 100)
	r.load.Finish(r.job)
	for _, m := range r.mirrors {
		r.source.SameLogAs(r.job, r.destinations[m], topic, partitions)
	}
	r.load.Check(r.job, r.source)
	for _, m := range r.mirrors {
		r.load.Check(r.job, r.destinations[m])
	}
	r.found()
	if r.excused > 5+r.probed/100 {
		r.job.Errorf("%d of %d answers came while the machine stood still: it is too slow, or too busy, to judge by", r.excused, r.probed)
	}
	r.bounds.measure(r)
	r.bounds.judge(r)
}

// dump makes every process of a run that failed write its goroutines into its log, which ends it.
func (r *run) dump() {
	if !r.job.Failed() {
		return
	}
	for _, d := range r.all() {
		_ = d.Resume()
		if d.Signal(syscall.SIGQUIT) != nil {
			continue
		}
		for range 300 {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", d.PID)); err != nil {
				break // it is gone, or nothing but its exit status is left
			}
			time.Sleep(10 * time.Millisecond)
		}
		r.job.Logf("goroutines of %s at the end of %s/clusterd.log", d.Cluster, d.Dir)
	}
}

// all are the processes, source first.
func (r *run) all() []*dc.Datacenter {
	list := []*dc.Datacenter{r.source}
	for _, m := range r.mirrors {
		if d := r.destinations[m]; d != nil {
			list = append(list, d)
		}
	}
	return list
}
