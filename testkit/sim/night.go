package sim

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// determinismEvery: one seed in so many is played twice, and both traces must be one.
const determinismEvery = 20

// tally is what many runs came to.
type tally struct {
	began time.Time
	limit time.Duration
	tell  bool // each violation when it is found
	most  int  // violations after which no more runs begin

	mu         sync.Mutex
	next       int
	runs       int
	simulated  int64 // ns
	steps      int64
	counts     Counts
	faults     map[string]int
	violations []Result
	twice      int
	mismatches []uint64
}

func newTally(limit time.Duration) *tally {
	return &tally{began: time.Now(), limit: limit, most: 1, faults: map[string]int{}}
}

func workers(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// play runs seeds until there are no more, the time is over or a run fails. It returns the first that failed.
func (t *tally) play(workers int, ticks int64, seed func(int) (uint64, bool)) *Result {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for t.one(ticks, seed) {
			}
		})
	}
	all.Wait()
	if len(t.violations) == 0 {
		return nil
	}
	slices.SortFunc(t.violations, func(a, b Result) int { return int(a.At - b.At) })
	return &t.violations[0]
}

func (t *tally) one(ticks int64, seed func(int) (uint64, bool)) bool {
	t.mu.Lock()
	i := t.next
	t.next++
	over := len(t.violations) >= t.most || time.Since(t.began) >= t.limit
	t.mu.Unlock()
	s, more := seed(i)
	if over || !more {
		return false
	}
	r := play(Replay{Seed: s, Ticks: ticks})
	same := true
	again := i%determinismEvery == 0
	if again {
		same = play(r.Replay).Trace == r.Trace
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
	t.simulated += r.At
	t.steps += r.Steps
	t.counts.add(r.Counts)
	for kind, n := range r.Faults {
		t.faults[kind] += n
	}
	if again {
		t.twice++
	}
	if !same {
		t.mismatches = append(t.mismatches, s)
	}
	if r.Violation != nil {
		t.violations = append(t.violations, r)
		if t.tell {
			fmt.Fprintf(os.Stderr, "seed %#x: %s\n", r.Seed, r.Violation)
		}
	}
	return true
}

func (t *tally) hours() float64 { return float64(t.simulated) / 3600e9 }

func (t *tally) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%s: %d runs, %.1f simulated hours, %d batches acked, %d violations, %d of %d traces differ",
		time.Since(t.began).Round(time.Second), t.runs, t.hours(), t.counts.Acked, len(t.violations), len(t.mismatches), t.twice)
}

// print is the table at the end.
func (t *tally) print(out io.Writer) {
	minutes := time.Since(t.began).Minutes()
	row := func(name string, value any) { fmt.Fprintf(out, "%-34s %v\n", name, value) }
	row("runs", t.runs)
	row("simulated hours", fmt.Sprintf("%.1f", t.hours()))
	row("simulated hours per wall minute", fmt.Sprintf("%.1f", t.hours()/minutes))
	row("messages handled by actors", t.steps)
	row("batches acked", t.counts.Acked)
	row("  with a destination in the stamp", t.counts.AckedSync)
	row("  checked against a claim", t.counts.ClaimsChecked)
	row("batches read by consumers", t.counts.Consumed)
	row("batches compared on disks", t.counts.Compared)
	row("elections", t.counts.Elections)
	row("truncations", t.counts.Truncations)
	row("destinations opened", t.counts.Failovers)
	row("switchovers committed", t.counts.Switchovers)
	row("partitions added", t.counts.Grown)
	row("replicas moved", t.counts.Moved)
	row("leaders handed over", t.counts.HandedOver)
	for _, kind := range append(append(slices.Clone(Kinds), "disaster", "stop-alive", "prefer"), moveKinds...) {
		row("faults: "+kind, t.faults[kind])
	}
	row("runs played twice", t.twice)
	row("  of which the trace differed", len(t.mismatches))
	row("violations", len(t.violations))
}

func (t *tally) verdict() error {
	if len(t.mismatches) > 0 {
		return fmt.Errorf("seed %#x is not the same run twice: something depends on time, an address or the order of a map", t.mismatches[0])
	}
	return nil
}

// Run plays fresh seeds for a while.
func (c *nightCommand) Run() error {
	tune()
	first := c.From
	if first == 0 {
		first = freshSeed()
	}
	fmt.Printf("seeds are those of --from %#x\n", first)
	t := newTally(time.Duration(c.Minutes) * time.Minute)
	t.most, t.tell = 10, true
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				fmt.Fprintln(os.Stderr, t.line())
			}
		}
	}()
	failed := t.play(workers(c.Workers), c.Ticks, func(i int) (uint64, bool) { return splitmix(first + uint64(i)), true })
	close(stop)
	<-done
	t.print(os.Stdout)
	if failed == nil {
		return t.verdict()
	}
	told := map[string]bool{}
	for _, r := range t.violations {
		fmt.Printf("seed %#x: %s\n", r.Seed, r.Violation)
		if told[r.Violation.ID] {
			continue // one of a kind is explained
		}
		told[r.Violation.ID] = true
		if err := explain(os.Stdout, shrink(r), false); err != nil {
			return err
		}
	}
	return errViolated
}
