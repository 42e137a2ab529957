package checker

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	dc "lockstep/testkit/datacenter"
)

// fault is done to the cluster while clients go on.
type fault struct {
	name string
	do   func(r *run, rng *rand.Rand)
}

var faults = []fault{
	{"kill -9", func(r *run, _ *rand.Rand) { r.d.Kill(); r.d.Restart(r.t) }},
	{"kill -9, dead for a while", func(r *run, rng *rand.Rand) { r.d.Kill(); r.wait(rng, 3*time.Second); r.d.Restart(r.t) }},
	{"kill -9 twice", func(r *run, rng *rand.Rand) {
		for range 2 {
			r.d.Kill()
			r.d.Restart(r.t)
			r.wait(rng, time.Second)
		}
	}},
	{"a broker stops and starts", func(r *run, rng *rand.Rand) { r.stop(rng, 2*time.Second) }},
	{"every broker stops and starts in turn", func(r *run, rng *rand.Rand) {
		for range 3 {
			r.stop(rng, 500*time.Millisecond)
		}
	}},
	{"two brokers stop", func(r *run, rng *rand.Rand) {
		ids := rng.Perm(r.d.Brokers)[:2]
		for _, id := range ids {
			r.d.StopBroker(r.t, int32(id+1))
		}
		r.wait(rng, time.Second)
		for _, id := range ids {
			r.d.StartBroker(r.t, int32(id+1))
		}
	}},
	{"the process stands still", func(r *run, rng *rand.Rand) { r.d.Freeze(r.t); r.wait(rng, 8*time.Second); r.d.Thaw(r.t) }},
}

// stop stops the next broker and starts it again: its partitions elect other leaders.
func (r *run) stop(rng *rand.Rand, most time.Duration) {
	r.next = r.next%r.d.Brokers + 1
	r.d.StopBroker(r.t, int32(r.next))
	r.wait(rng, most)
	r.d.StartBroker(r.t, int32(r.next))
}

// wait lets a random time pass, at most so long.
func (r *run) wait(rng *rand.Rand, most time.Duration) {
	select {
	case <-time.After(time.Duration(rng.Int64N(int64(most)))):
	case <-r.t.Context().Done():
	}
}

// disturb does one fault after the other until ctx ends, each once records are acknowledged again.
func (r *run) disturb(ctx context.Context) {
	rng := rand.New(rand.NewPCG(r.Seed, 3000))
	list := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !strings.Contains(f.name, r.Faults) })
	if len(list) == 0 {
		r.t.Fatalf("no fault is called %q", r.Faults)
	}
	r.recovered("the start")
	for ctx.Err() == nil {
		r.wait(rng, 2*r.Every)
		if ctx.Err() != nil {
			return
		}
		f := list[rng.IntN(len(list))]
		r.rec.add(func(h *History) { h.Faults = append(h.Faults, Fault{r.rec.now(), f.name}) })
		f.do(r, rng)
		r.recovered(f.name)
		r.progress()
	}
}

// recovered waits until records that are sent from now on are acknowledged in every partition.
func (r *run) recovered(what string) {
	from := r.rec.now()
	dc.Eventually(r.t, "records are acknowledged after "+what, func() (string, bool) {
		open := r.rec.unserved(from, len(r.partitions))
		return strings.Join(open, ", "), len(open) == 0
	})
}
