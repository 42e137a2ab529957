// Package crash kills a clusterd again and again under load and looks for what it forgot.
package crash

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/acked"
	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
)

// Command is `testkit crash`.
type Command struct {
	Runs     int           `default:"200" help:"How many kills."`
	Load     time.Duration `default:"1s" help:"Load before each kill, on average."`
	Seed     uint64        `help:"Seed of the kill instants; 0 draws one."`
	Segments string        `default:"16777216" help:"Segment size of the commit logs."`
	Keep     bool          `help:"Keep the data directory."`
}

// Run kills and restarts one cluster Runs times. Each run has its own topic: the producer is cut off
// at a random instant, the dead directory is verified, and after the restart every acknowledged record
// of this run, and of the run before it, must be there exactly once.
func (c *Command) Run() error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	bin, err := binaries.Build()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lockstep-crash-")
	if err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	if !c.Keep {
		defer os.RemoveAll(dir)
	}
	fmt.Printf("crash: %d runs, seed %d, data in %s\n", c.Runs, c.Seed, dir)
	k := &killer{Command: c, bin: bin, dir: dir, rng: rand.New(rand.NewPCG(c.Seed, 1))}
	began := time.Now()
	if err := k.start(); err != nil {
		return err
	}
	defer func() { k.proc.Kill() }()
	for i := 1; i <= c.Runs; i++ {
		if err := k.once(i); err != nil {
			return fmt.Errorf("run %d of %d (seed %d): %w", i, c.Runs, c.Seed, err)
		}
		if i%10 == 0 || i == c.Runs {
			fmt.Printf("  %4d kills  %9d acked  0 lost  0 duplicated  %s  %s MiB on disk  %s\n", i, k.acked, k.times.lately(), k.used(), time.Since(began).Round(time.Second))
		}
	}
	fmt.Printf("%d kills, %d acked records, all there after every restart; journal verify clean each time\n", c.Runs, k.acked)
	return nil
}

type killer struct {
	*Command
	bin   binaries.Paths
	dir   string
	rng   *rand.Rand
	proc  *process.Process
	last  *acked.Producer // the run before, checked once more after the next kill
	acked int
	times phases
}

func (k *killer) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	spec := process.Spec{Binary: k.bin.Clusterd, Cluster: "crash", Dir: k.dir, Args: []string{"--segment-bytes", k.Segments}}
	if k.proc != nil {
		spec = k.proc.Spec
	}
	p, err := process.Start(ctx, spec)
	if err != nil {
		return err
	}
	k.proc = p
	return nil
}

// used is what du says of the data directory.
func (k *killer) used() string {
	bytes := int64(0)
	err := filepath.WalkDir(k.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += st.Blocks * 512
			}
		}
		return nil // Badger removes files meanwhile
	})
	if err != nil {
		return "?"
	}
	return fmt.Sprint(bytes >> 20)
}

func (k *killer) once(run int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	topic := fmt.Sprintf("crash-%d", run)
	lap := k.times.begin()
	seeds := k.proc.Bootstrap()
	if err := k.createTopic(ctx, seeds, topic, run); err != nil {
		return err
	}
	p, err := acked.NewProducer(seeds, topic, binary.BigEndian.Uint64([]byte("crash run"))+uint64(run), 256)
	if err != nil {
		return err
	}
	load, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { p.Run(load); close(ended) }()
	time.Sleep(k.Load/4 + time.Duration(k.rng.Int64N(int64(k.Load)*3/2)))
	k.proc.Kill()
	stop()
	<-ended
	// An answer that arrived while the log is read back would look like a loss.
	p.Client.Close()
	lap("load")
	if err := k.verify(); err != nil {
		return err
	}
	lap("verify")
	if err := k.start(); err != nil {
		return err
	}
	lap("restart")
	for _, each := range []*acked.Producer{k.last, p} {
		if each == nil {
			continue
		}
		v, err := each.Compare(ctx, seeds)
		if err != nil {
			return err
		}
		if v.Lost > 0 || v.Duplicated > 0 {
			return fmt.Errorf("after the restart %d of %d acknowledged records are lost (%v) and %d are there twice; data kept in %s: %s",
				v.Lost, v.Acked, v.LostSample, v.Duplicated, k.keep(), k.proc.Log())
		}
	}
	lap("compare")
	k.acked += p.Acked()
	k.last = p
	return nil
}

// keep saves the evidence from the deferred removal.
func (k *killer) keep() string { k.Keep = true; return k.dir }

func (k *killer) createTopic(ctx context.Context, seeds []string, topic string, run int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if run > 2 {
		// Old topics give their space back, so that a long run tests deletion and recycling too.
		if _, err := adm.DeleteTopics(ctx, fmt.Sprintf("crash-%d", run-2)); err != nil {
			return fmt.Errorf("delete old topic: %w", err)
		}
	}
	res, err := adm.CreateTopic(ctx, 6, 3, nil, topic)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

func (k *killer) verify() error {
	args := []string{"journal", "verify"}
	for i := 1; i <= k.proc.Brokers; i++ {
		args = append(args, "--data-dir", filepath.Join(k.dir, fmt.Sprintf("broker-%d", i)))
	}
	out, err := exec.Command(k.bin.Clusterctl, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("journal verify of the dead directory (kept in %s): %w\n%s", k.keep(), err, out)
	}
	return nil
}
