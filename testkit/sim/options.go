package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"lockstep/actors/core/partition"
)

// The schedulers of the actors; a seed has one.
const (
	schedulerEven  = 0
	schedulerBurst = 1
	schedulerSlow  = 2
)

// Options are what a seed makes of a run: its topology, its speeds, and which faults are on.
type Options struct {
	Destinations  int
	Brokers       []int // by site
	Topics        []TopicOptions
	RTT           []int64 // ns, by destination
	Lease         int64   // ns
	DialTimeout   int64   // ns
	Scheduler     int
	SnapshotEvery int
	Loss, Twice   float64 // of NATS datagrams
	Late          float64
	Drift         []int64            // ppm, by site
	Offset        []int64            // ms, by site
	Rates         map[string]float64 // faults per simulated minute, by kind; absent: off
	Disaster      bool               // the source is lost for good, and a destination takes over
	StopAlive     bool               // a destination is stopped while its source lives
}

// TopicOptions is one topic of the source.
type TopicOptions struct {
	Partitions  int32
	Replication int16
	MinISR      int32
	Producers   int                // per partition
	Weak        partition.WeakAcks // what acks=1 meets while it is gated
}

// Kinds are the faults and the operator's actions, each drawn on or off per seed.
var Kinds = []string{
	"kill", "stop-broker", "poison", "slow-disk", "cut", "hole-to", "hole-from", "pause", "hold-image", "starve", "panic", "usurp", "isr-window", "clock-step",
	"release", "alter", "grow", "hold", "forget", "wipe", "isr-removal", reassignKind, "delete-records",
}

// moveKinds are what an operator does once in a run, if at all: each is on in one seed of five.
var moveKinds = []string{"switchover", "failover", "replace"}

// draw makes the options of a seed.
func draw(seed uint64) Options {
	r := stream(seed, "options")
	o := Options{
		Destinations: pick(r, []int{1, 1, 1, 2, 2, 3}), Scheduler: r.IntN(3), SnapshotEvery: pick(r, []int{50, 500, 10_000}),
		Lease: within(r, 1, 10) * sec, DialTimeout: within(r, 1, 10) * sec, Rates: map[string]float64{},
		Disaster: chance(r, 0.35), StopAlive: chance(r, 0.2),
	}
	for i := range o.Destinations + 1 {
		o.Brokers = append(o.Brokers, pick(r, []int{1, 2, 3, 3}))
		o.Drift = append(o.Drift, within(r, -200, 200))
		o.Offset = append(o.Offset, within(r, -5000, 5000))
		if i > 0 {
			o.RTT = append(o.RTT, logUniform(r, 100*us, 300*ms))
		}
	}
	for range 1 + r.IntN(2) {
		rf := min(pick(r, []int{1, 2, 3, 3}), o.Brokers[0])
		t := TopicOptions{Partitions: int32(pick(r, []int{1, 1, 2, 4})), Replication: int16(rf), Producers: 1 + r.IntN(2)}
		t.MinISR = int32(min(rf, 1+r.IntN(2)))
		o.Topics = append(o.Topics, t)
	}
	if chance(r, 0.5) {
		o.Loss = logUniformFloat(r, 0.001, 0.3)
	}
	if chance(r, 0.5) {
		o.Twice = logUniformFloat(r, 0.001, 0.5)
	}
	if chance(r, 0.5) {
		o.Late = logUniformFloat(r, 0.003, 0.4)
	}
	for _, kind := range Kinds {
		if kind == reassignKind {
			continue
		}
		on, rate := chance(r, 0.5), logUniformFloat(r, 0.5, 12)
		if on {
			o.Rates[kind] = rate
		}
	}
	// Drawn apart, so that the other seeds are what they were. Replicas need somewhere to go.
	if moves := stream(seed, "options/reassign"); chance(moves, 0.25) {
		o.Rates[reassignKind] = logUniformFloat(moves, 2, 12)
		for i := range o.Brokers {
			o.Brokers[i] += moves.IntN(2)
		}
	}
	weak := stream(seed, "options/weak")
	for i := range o.Topics {
		o.Topics[i].Weak = pick(weak, []partition.WeakAcks{partition.WeakAllow, partition.WeakAllow, partition.WeakRefuse, partition.WeakUpgrade})
	}
	return o
}

func logUniform(r *rand.Rand, low, high int64) int64 {
	return int64(logUniformFloat(r, float64(low), float64(high)))
}

func logUniformFloat(r *rand.Rand, low, high float64) float64 {
	return math.Exp(math.Log(low) + r.Float64()*(math.Log(high)-math.Log(low)))
}

func (o Options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d destinations, brokers %v, lease %ds, scheduler %d, rtt", o.Destinations, o.Brokers, o.Lease/sec, o.Scheduler)
	for _, rtt := range o.RTT {
		fmt.Fprintf(&b, " %.1fms", float64(rtt)/1e6)
	}
	for i, t := range o.Topics {
		fmt.Fprintf(&b, "; topic %d: %d partitions, RF %d, min ISR %d", i, t.Partitions, t.Replication, t.MinISR)
	}
	fmt.Fprintf(&b, "; loss %.3f twice %.3f late %.3f; disaster %v, stop alive %v; faults a minute:", o.Loss, o.Twice, o.Late, o.Disaster, o.StopAlive)
	for _, kind := range Kinds {
		if rate, on := o.Rates[kind]; on {
			fmt.Fprintf(&b, " %s %.1f", kind, rate)
		}
	}
	return b.String()
}
