package frameworks

import (
	"fmt"
	"time"
)

// fault is one thing that happens, and is over when do returns.
type fault struct {
	name string
	do   func(*run)
}

var faults = []fault{
	{"broker stopped", func(r *run) {
		id := int32(1 + r.rng.IntN(r.cluster.Brokers))
		r.cluster.StopBroker(r.job, id)
		r.sleep(r.Pause / 2)
		r.cluster.StartBroker(r.job, id)
	}},
	{"clusterd killed", func(r *run) {
		r.cluster.Kill()
		r.cluster.Restart(r.job)
	}},
	{"framework killed", func(r *run) { r.under.kill(r) }},
}

// weather is one fault after the other until the time is over, each followed by proof that new lines come out. Every
// kind comes in each round, in an order that is drawn.
func (r *run) weather() {
	began := time.Now()
	end := began.Add(time.Duration(r.Minutes * float64(time.Minute)))
	said := began
	r.pass("the start")
	var round []int
	for time.Now().Before(end) {
		r.sleep(r.Pause/2 + time.Duration(r.rng.Int64N(int64(r.Pause)+1)))
		what := "no fault"
		if !r.Calm {
			if len(round) == 0 {
				round = r.rng.Perm(len(faults))
			}
			f := faults[round[0]]
			round = round[1:]
			what = f.name
			r.faults[what]++
			f.do(r)
		}
		r.pass(what)
		if time.Since(said) > 15*time.Second {
			said = time.Now()
			r.job.Logf("%s of %gm: faults %v, %d lines came out; longest stall %s", time.Since(began).Round(time.Second), r.Minutes, r.faults, r.under.out(), r.longest.Round(time.Millisecond))
		}
	}
}

// pass waits until more lines come out than had when the fault was over.
func (r *run) pass(what string) {
	began, was := time.Now(), r.under.out()
	r.await("lines come out after "+what, func() (string, bool) {
		now := r.under.out()
		return fmt.Sprintf("%d lines, as before", now), now > was
	})
	r.longest = max(r.longest, time.Since(began))
}

func (r *run) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.job.Context().Done():
	}
}

// stall is how long nothing may change: a JVM on a busy machine takes minutes to its first request.
const stall = 5 * time.Minute

// await is patient as long as something changes.
func (r *run) await(what string, look func() (string, bool)) {
	last, since := "", time.Now()
	for {
		seen, ok := look()
		if ok {
			return
		}
		if seen != last {
			last, since = seen, time.Now()
		}
		if time.Since(since) > stall {
			r.job.Fatalf("%s: nothing changed for %s; last seen: %s", what, stall, seen)
		}
		r.sleep(50 * time.Millisecond)
	}
}
