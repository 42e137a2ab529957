package crash

import (
	"testing"
	"time"
)

func TestTheMedianIsNotTheMean(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		of   []time.Duration
		want time.Duration
	}{
		{nil, 0},
		{[]time.Duration{7 * ms}, 7 * ms},
		{[]time.Duration{900 * ms, ms, 2 * ms}, 2 * ms},
		{[]time.Duration{900 * ms, ms, 2 * ms, 4 * ms}, 3 * ms},
	} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v is %s, want %s", c.of, got, c.want)
		}
	}
}

func TestPhasesTellTheLastRuns(t *testing.T) {
	p := phases{order: []string{"load", "verify"}, took: map[string][]time.Duration{}}
	for i := range 2 * recent {
		p.took["load"] = append(p.took["load"], time.Second)
		p.took["verify"] = append(p.took["verify"], time.Duration(i/recent)*time.Minute)
	}
	if got, want := p.lately(), "p50 of load 1s, verify 1m0s"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}
