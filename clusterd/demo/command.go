// Package demo shows the product's promise on this machine: two datacenters as two real processes, a
// stock producer, kill -9 at a random instant, a failover, and the count of what is missing.
package demo

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Command is `clusterd demo`.
type Command struct {
	Runs       int           `default:"1" help:"How many times to burn a datacenter down."`
	Seed       uint64        `help:"Seed of the instants and of who dies; 0 draws one."`
	Load       time.Duration `default:"3s" help:"Full-speed load before the kill: between a third of it and all of it."`
	Partitions int32         `default:"6" help:"Partitions of the topic."`
	Size       int           `default:"256" help:"Bytes of a record's value."`
	Dir        string        `help:"Where the two datacenters live; empty makes a directory and removes it."`
}

// victims is who dies: of every four runs one loses the destination instead.
const destinationDiesEvery = 4

// Run fails when an acknowledged record is lost, or any record is there twice.
func (c *Command) Run(w io.Writer) error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "lockstep-demo-"); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	fmt.Fprintf(w, "seed %d, data under %s\n", c.Seed, dir)
	var results []result
	var failed error
	for i := 1; i <= c.Runs && failed == nil; i++ {
		r := &run{Command: c, plan: c.plan(i), out: w, binary: binary, began: time.Now(), dir: filepath.Join(dir, fmt.Sprintf("run-%d", i))}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		res, err := r.do(ctx)
		cancel()
		if err != nil {
			failed = fmt.Errorf("run %d (seed %d): %w", i, c.Seed, err)
		}
		if res.Lost > 0 || res.Duplicated > 0 {
			failed = fmt.Errorf("run %d (seed %d): %d of %d acknowledged records lost (for example %v), %d there twice", i, c.Seed, res.Lost, res.Acked, res.LostSample, res.Duplicated)
		}
		results = append(results, res)
		_ = os.RemoveAll(r.dir)
	}
	fmt.Fprintln(w)
	printResults(w, c.Seed, results)
	return failed
}

// plan is what a seed decides about one run.
type plan struct {
	number          int
	load            time.Duration // from SYNC to the kill
	destinationDies bool
}

func (c *Command) plan(number int) plan {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	return plan{number, c.Load/3 + time.Duration(rng.Int64N(max(1, int64(c.Load)*2/3))), number%destinationDiesEvery == 0}
}

func printResults(w io.Writer, seed uint64, results []result) {
	const row = "%4s %-11s %10s %10s %6s %6s %10s %10s %12s  %s\n"
	fmt.Fprintf(w, row, "RUN", "DIED", "ACKED", "FOUND", "LOST", "TWICE", "ACK P50", "ACK P99", "FIRST WRITE", "SEED")
	var total result
	for _, r := range results {
		fmt.Fprintf(w, row, fmt.Sprint(r.run), r.died, fmt.Sprint(r.Acked), fmt.Sprint(r.Found), fmt.Sprint(r.Lost), fmt.Sprint(r.Duplicated),
			ms(r.p50), ms(r.p99), ms(r.firstWrite), fmt.Sprint(seed))
		total.Acked += r.Acked
		total.Found += r.Found
		total.Lost += r.Lost
		total.Duplicated += r.Duplicated
	}
	if len(results) > 1 {
		fmt.Fprintf(w, row, "all", "", fmt.Sprint(total.Acked), fmt.Sprint(total.Found), fmt.Sprint(total.Lost), fmt.Sprint(total.Duplicated), "", "", "", "")
	}
	fmt.Fprintln(w, "LOST: acknowledged and absent. TWICE: a value that is there more than once. FIRST WRITE: from the kill to the first new")
	fmt.Fprintln(w, "acknowledgement on the surviving side (source died), or from release-sync to it (destination died).")
}

func ms(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
