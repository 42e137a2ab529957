package faults

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/testkit/outcome"
)

// report is what --json writes.
type report struct {
	Seed         uint64           `json:"seed"`
	Minutes      float64          `json:"minutes"`
	Destinations int              `json:"destinations"`
	Acked        int              `json:"acked"`
	GivenUp      int              `json:"givenUp"`
	Probes       int              `json:"probes"`
	Faults       map[string]int   `json:"faults"`
	Answers      map[string]int   `json:"answers"`
	NATSDropped  int              `json:"natsDropped"`
	Used         map[string][]use `json:"used"`
	Failures     []string         `json:"failures"`
}

// tell prints the table and writes the report.
func (r *run) tell(failed error) error {
	if r.load == nil {
		return nil
	}
	out := report{Seed: r.Seed, Minutes: r.Minutes, Destinations: r.Destinations, Acked: r.load.Acked(), Probes: r.probed, Faults: r.faults,
		Answers: r.answers, Used: r.bounds.of, Failures: r.job.Failures()}
	out.GivenUp, _ = r.load.Failed()
	for _, l := range r.loss {
		out.NATSDropped += l.Dropped()
	}
	fmt.Printf("%8d  records acknowledged to the stock client, %d given up\n%8d  NATS messages dropped\n", out.Acked, out.GivenUp, out.NATSDropped)
	for _, table := range []struct {
		head string
		rows map[string]int
	}{{"faults", r.faults}, {"answers to probes", r.answers}} {
		fmt.Printf("%8s  %s\n", "", table.head)
		for _, what := range slices.Sorted(maps.Keys(table.rows)) {
			fmt.Printf("%8d  %s\n", table.rows[what], what)
		}
	}
	verdict := "nothing lost, nothing twice, every refusal right"
	if failed != nil {
		verdict = fmt.Sprintf("%d failures", len(out.Failures))
	}
	fmt.Printf("faults: %d destination(s), seed %d: %s\n", r.Destinations, r.Seed, verdict)
	return outcome.Write(r.JSON, out)
}
