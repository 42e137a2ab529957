// Package storm kills, pauses, cuts and restarts both sides of a mirror at random instants, under a stock
// producer, and holds the producer's list of acknowledgements against what is left.
package storm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/acked"
	"lockstep/testkit/binaries"
)

// Command is `testkit storm`.
type Command struct {
	Runs   int           `default:"20" help:"How many pairs of clusters."`
	Faults int           `default:"8" help:"Faults per pair, before the source dies and the destination is opened."`
	Stall  time.Duration `default:"60s" help:"How long SYNC and new acknowledgements may take to come back after a fault."`
	Seed   uint64        `help:"Seed of the faults; 0 draws one."`
	Only   string        `help:"Only faults whose name contains this."`
	Keep   bool          `help:"Keep the data of runs that went well, too."`

	Switchover bool `help:"End every pair with a switchover instead of a disaster: nothing acknowledged may be lost or be there twice."`
}

// Run plays one pair after the other. A stall or a wrong verdict ends it, with the goroutines of both
// processes in their logs and the data kept.
func (c *Command) Run() error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	bin, err := binaries.Build()
	if err != nil {
		return err
	}
	defer binaries.Remove()
	root, err := os.MkdirTemp("", "lockstep-storm-")
	if err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	fmt.Printf("storm: %d runs of %d faults, seed %d, data in %s\n", c.Runs, c.Faults, c.Seed, root)
	total := acked.Verdict{}
	began := time.Now()
	for i := range c.Runs {
		r := &run{Command: c, dir: filepath.Join(root, fmt.Sprint(i)), rng: rand.New(rand.NewPCG(c.Seed, uint64(i))), clusterd: bin.Clusterd}
		v, err := r.play()
		if err != nil {
			return fmt.Errorf("run %d (seed %d), data kept in %s: %w", i, c.Seed, r.dir, err)
		}
		fmt.Printf("run %3d: %d acked, %d found, %d lost, %d twice; %s\n", i, v.Acked, v.Found, v.Lost, v.Duplicated, r.story)
		total.Acked, total.Lost, total.Duplicated = total.Acked+v.Acked, total.Lost+v.Lost, total.Duplicated+v.Duplicated
		if v.Lost != 0 || v.Duplicated != 0 {
			return fmt.Errorf("run %d (seed %d), data kept in %s: %d acknowledged records lost (%v), %d twice", i, c.Seed, r.dir, v.Lost, v.LostSample, v.Duplicated)
		}
		if !c.Keep {
			os.RemoveAll(r.dir)
		}
	}
	if !c.Keep {
		os.RemoveAll(root)
	}
	fmt.Printf("storm: %d acked in %d runs, %d lost, %d twice, %s\n", total.Acked, c.Runs, total.Lost, total.Duplicated, time.Since(began).Round(time.Second))
	return nil
}

const (
	topic      = "orders"
	partitions = 2
	mirror     = "dr"
)

// run is one pair of clusters from its start to the failover.
type run struct {
	*Command
	dir, clusterd string
	rng           *rand.Rand
	story         string
	sites         *sites
	load          *acked.Producer
}

func (r *run) play() (acked.Verdict, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if r.sites, err = startSites(r.clusterd, r.dir); err != nil {
		return acked.Verdict{}, err
	}
	defer r.sites.end()
	r.load, err = acked.NewProducer(r.sites.source.Bootstrap(), topic, r.rng.Uint64(), 128,
		kgo.ProduceRequestTimeout(2*time.Second), kgo.MaxBufferedRecords(200),
		// A source that lives sends its clients on; a stock client goes to the seeds that it was given (KIP-1102).
		kgo.OnRebootstrapRequired(func() ([]string, error) { return r.sites.destination.Bootstrap(), nil }))
	if err != nil {
		return acked.Verdict{}, err
	}
	defer r.load.Client.Close()
	ended := make(chan struct{})
	go func() { r.load.Run(ctx); close(ended) }()
	if err := r.recovered(ctx); err != nil {
		return acked.Verdict{}, fmt.Errorf("first promotion: %w", err)
	}
	for range r.Faults {
		f := r.draw(faults)
		r.story += f.name + " "
		if err := f.do(r, ctx); err != nil {
			return acked.Verdict{}, fmt.Errorf("%s: %w", r.story, err)
		}
		if err := r.recovered(ctx); err != nil {
			return acked.Verdict{}, fmt.Errorf("%s: %w", r.story, err)
		}
	}
	how := append(slices.Clone(ends), planned...)
	if r.Switchover {
		how = planned
	}
	f := r.draw(how)
	r.story += "| " + f.name
	if err := f.do(r, ctx); err != nil {
		return acked.Verdict{}, fmt.Errorf("%s: %w", r.story, err)
	}
	next := r.load.NextNew()
	if err := r.load.MoveTo(r.sites.destination.Bootstrap()); err != nil {
		return acked.Verdict{}, err
	}
	if err := r.opened(ctx, next); err != nil {
		return acked.Verdict{}, fmt.Errorf("%s: %w", r.story, err)
	}
	cancel()
	<-ended
	return r.compare()
}

func (r *run) compare() (acked.Verdict, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Stall)
	defer cancel()
	if err := r.load.Drain(ctx); err != nil {
		return acked.Verdict{}, err
	}
	return r.load.Compare(ctx, r.sites.destination.Bootstrap())
}

// draw picks a fault.
func (r *run) draw(list []fault) fault {
	var among []fault
	for _, f := range list {
		if r.Only == "" || f.matches(r.Only) {
			among = append(among, f)
		}
	}
	if len(among) == 0 {
		among = list
	}
	return among[r.rng.IntN(len(among))]
}

// pause waits a random time, so that a fault hits a random instant of what goes on.
func (r *run) pause(most time.Duration) { time.Sleep(time.Duration(r.rng.Int64N(int64(most)))) }
