package crash

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// phases is where the time of a run goes. What grows with the number of runs is a leak: of segments, of
// streams of deleted topics, of whatever a restart reads.
type phases struct {
	order []string
	took  map[string][]time.Duration
}

// recent is how many runs the printed medians are taken over.
const recent = 10

// begin starts a run; each lap ends a phase that began with the one before.
func (p *phases) begin() (lap func(phase string)) {
	at := time.Now()
	return func(phase string) {
		if p.took == nil {
			p.took = map[string][]time.Duration{}
		}
		if p.took[phase] == nil {
			p.order = append(p.order, phase)
		}
		p.took[phase] = append(p.took[phase], time.Since(at))
		at = time.Now()
	}
}

// lately is the median of each phase over the last runs.
func (p *phases) lately() string {
	var out []string
	for _, phase := range p.order {
		all := p.took[phase]
		out = append(out, fmt.Sprintf("%s %s", phase, median(all[max(0, len(all)-recent):]).Round(time.Millisecond)))
	}
	return "p50 of " + strings.Join(out, ", ")
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Clone(d)
	slices.Sort(d)
	if n := len(d); n%2 == 0 {
		return (d[n/2-1] + d[n/2]) / 2
	}
	return d[len(d)/2]
}
