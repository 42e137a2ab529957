package connections

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// report is what a run found. Times are in ms, sizes in bytes.
type report struct {
	Idle, Active        int
	PaceMs, LengthMs    int64
	Rounds              []round
	AckRatio, ReadRatio float64 // of the p99 with idle connections to that without, in the median of the rounds
	Before, Peak        int64   // resident: before any connection, and the most there ever was
	IdleBytes           int64   // that clusterd grew by while they connected, for each, in the round where it was most; later ones find its memory grown
}

// round is the same load twice.
type round struct{ Without, With load }

type load struct {
	Beats     int
	Ack, Read distribution
	Resident  int64
	Grew      int64 // while the idle ones connected
}

type distribution struct{ P50, P99, Max float64 }

func distributionOf(values []float64) distribution {
	if len(values) == 0 {
		return distribution{}
	}
	slices.Sort(values)
	at := func(q float64) float64 { return values[int(math.Ceil(q*float64(len(values))))-1] }
	return distribution{at(0.5), at(0.99), values[len(values)-1]}
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func (r *report) conclude() {
	var acks, reads []float64
	for _, p := range r.Rounds {
		acks = append(acks, p.With.Ack.P99/p.Without.Ack.P99)
		reads = append(reads, p.With.Read.P99/p.Without.Read.P99)
		r.IdleBytes = max(r.IdleBytes, p.With.Grew/int64(r.Idle))
	}
	r.AckRatio, r.ReadRatio = median(acks), median(reads)
}

func (r *report) judge(c *Command) error {
	var missed []error
	for name, ratio := range map[string]float64{"acks": r.AckRatio, "reads": r.ReadRatio} {
		if !(ratio <= c.Factor) {
			missed = append(missed, fmt.Errorf("the p99 of %s with %d idle connections is %.2f times the one without, --factor is %g", name, r.Idle, ratio, c.Factor))
		}
	}
	if r.Peak > c.Memory<<20 {
		missed = append(missed, fmt.Errorf("clusterd had %.0f MiB resident, --memory is %d", mib(r.Peak), c.Memory))
	}
	return errors.Join(missed...)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d idle and %d active connections, a record each %d ms\n", r.Idle, r.Active, r.PaceMs)
	fmt.Fprintf(&b, "%-8s %-8s %8s %9s %9s %9s %9s %9s %8s\n", "round", "idle", "beats", "ack p50", "ack p99", "ack max", "read p50", "read p99", "MiB")
	for i, p := range r.Rounds {
		for _, side := range []struct {
			idle int
			load
		}{{0, p.Without}, {r.Idle, p.With}} {
			fmt.Fprintf(&b, "%-8d %-8d %8d %9.1f %9.1f %9.1f %9.1f %9.1f %8.0f\n", i+1, side.idle, side.Beats, side.Ack.P50, side.Ack.P99, side.Ack.Max,
				side.Read.P50, side.Read.P99, mib(side.Resident))
		}
	}
	fmt.Fprintf(&b, "p99 with idle ones / without: acks %.2f, reads %.2f\n", r.AckRatio, r.ReadRatio)
	fmt.Fprintf(&b, "resident: %.0f MiB before, %.0f MiB at most", mib(r.Before), mib(r.Peak))
	if r.IdleBytes > 0 { // else it fitted into what was there
		fmt.Fprintf(&b, ", %.1f KiB more for each idle connection while they came", float64(r.IdleBytes)/1024)
	}
	b.WriteByte('\n')
	return b.String()
}
