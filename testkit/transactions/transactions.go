// Package transactions lets producers write transactions to a clusterd that is killed and whose brokers are stopped, and
// looks for aborted records that were read, and for committed ones that were not, or twice.
package transactions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
)

// Command is `testkit transactions`.
type Command struct {
	Runs      int           `default:"10" help:"How many faults: every third stops a broker and starts it again, the others kill the process."`
	Load      time.Duration `default:"3s" help:"Load before each fault, on average."`
	Producers int           `default:"6" help:"Transactional ids; every second one speaks transaction version 1."`
	Seed      uint64        `help:"Seed of instants and faults; 0 draws one."`
	Failover  bool          `help:"Each fault is the death of a source whose topics are mirrored synchronously; what is read is the mirror."`
	Keep      bool          `help:"Keep the data directory."`
}

const (
	copyFrom = "orders"
	copyTo   = "copies"
)

var topics = []string{copyFrom, "payments"}

// Run is one life of a cluster, or with Failover several of a source.
func (c *Command) Run() error {
	defer binaries.Remove()
	return c.run()
}

func (c *Command) run() error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if c.Failover {
		return c.failovers()
	}
	bin, err := binaries.Build()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lockstep-transactions-")
	if err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	if !c.Keep {
		defer os.RemoveAll(dir)
	}
	fmt.Printf("transactions: %d faults, %d producers, seed %d, data in %s\n", c.Runs, c.Producers, c.Seed, dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.Runs)*(c.Load*2+30*time.Second)+2*time.Minute)
	defer cancel()
	p, err := process.Start(ctx, process.Spec{Binary: bin.Clusterd, Cluster: "transactions", Dir: dir, Args: []string{"--set", "group.initial.rebalance.delay.ms=0"}})
	if err != nil {
		return err
	}
	l := &life{Command: c, proc: p, rng: rand.New(rand.NewPCG(c.Seed, 1))}
	defer func() { l.proc.Kill() }()
	v, err := l.live(ctx)
	if err != nil {
		return fmt.Errorf("seed %d: %w", c.Seed, err)
	}
	fmt.Printf("%d transactions committed, %d aborted, %d without an answer; %d records read, each once\n", v.committed, v.aborted, v.unknown, v.records)
	if len(v.wrong) > 0 {
		return fmt.Errorf("seed %d: %d things are wrong:\n%s", c.Seed, len(v.wrong), strings.Join(v.wrong[:min(20, len(v.wrong))], "\n"))
	}
	return nil
}

type life struct {
	*Command
	proc *process.Process
	rng  *rand.Rand
}

func (l *life) live(ctx context.Context) (verdict, error) {
	seeds := l.proc.Bootstrap()
	if err := createTopics(ctx, seeds); err != nil {
		return verdict{}, err
	}
	load, stop := context.WithCancel(ctx)
	defer stop()
	producers, writers := l.write(load, seeds, 0)
	var copiers sync.WaitGroup
	copying, stopCopying := context.WithCancel(ctx)
	defer stopCopying()
	copiers.Go(func() { (&copier{seeds: seeds}).run(copying) })
	for i := range l.Runs {
		time.Sleep(l.Load/2 + time.Duration(l.rng.Int64N(int64(l.Load))))
		if err := l.fault(ctx, i); err != nil {
			return verdict{}, err
		}
	}
	time.Sleep(l.Load)
	stop()
	writers.Wait()
	seen, err := l.settled(ctx, seeds)
	stopCopying()
	copiers.Wait()
	if err != nil {
		return verdict{}, err
	}
	return judge(producers, seen, false), nil
}

// settled reads until the copier has caught up with what is committed.
func (l *life) settled(ctx context.Context, seeds []string) (map[string]int, error) {
	for {
		seen, err := readAll(ctx, seeds, append(slices.Clone(topics), copyTo)...)
		if err != nil {
			return nil, err
		}
		behind := 0
		for value := range seen {
			if source, is := strings.CutPrefix(value, copyFrom+" "); is && seen[copyTo+" "+source] == 0 {
				behind++
			}
		}
		if behind == 0 {
			return seen, nil
		}
		select {
		case <-ctx.Done():
			return seen, nil // judge says which are missing
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (l *life) fault(ctx context.Context, n int) error {
	if n%3 == 2 {
		id := 1 + l.rng.IntN(len(l.proc.Bootstrap()))
		fmt.Printf("  broker %d stops\n", id)
		if err := l.broker(ctx, id, "stop"); err != nil {
			return err
		}
		time.Sleep(l.Load / 2)
		return l.broker(ctx, id, "start")
	}
	fmt.Printf("  kill -9\n")
	l.proc.Kill()
	p, err := process.Start(ctx, l.proc.Spec)
	if err != nil {
		return err
	}
	l.proc = p
	return nil
}

func (l *life) broker(ctx context.Context, id int, verb string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://%s/v1/brokers/%d/%s", l.proc.HTTP, id, verb), nil)
	if err != nil {
		return fmt.Errorf("%s broker %d: %w", verb, id, err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("%s broker %d: %w", verb, id, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s broker %d: %s", verb, id, resp.Status)
	}
	return nil
}

func createTopics(ctx context.Context, seeds []string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	defer cl.Close()
	made, err := kadm.NewClient(cl).CreateTopics(ctx, 3, -1, nil, append(slices.Clone(topics), copyTo)...)
	if err == nil {
		err = made.Error()
	}
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	return nil
}
