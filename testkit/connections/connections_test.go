package connections

import (
	"math"
	"os"
	"strings"
	"testing"
)

// TestAReportIsJudged by the median of its pairs, not by its worst.
func TestAReportIsJudged(t *testing.T) {
	side := func(p99 float64, grew int64) load {
		return load{Ack: distribution{P99: p99}, Read: distribution{P99: 1}, Grew: grew}
	}
	r := &report{Idle: 10, Peak: 100 << 20, Rounds: []round{{side(1, 0), side(1.5, 10<<10)}, {side(2, 0), side(9, 0)}, {side(4, 0), side(4, 0)}}}
	r.conclude()
	if r.AckRatio != 1.5 || r.ReadRatio != 1 || r.IdleBytes != 1<<10 {
		t.Errorf("%+v", r)
	}
	if err := r.judge(&Command{Factor: 2, Memory: 100}); err != nil {
		t.Error(err)
	}
	for _, c := range []Command{{Factor: 1.4, Memory: 100}, {Factor: 2, Memory: 99}} {
		if err := r.judge(&c); err == nil {
			t.Errorf("%+v is met", c)
		}
	}
	if text := r.table(); !strings.Contains(text, "acks 1.50, reads 1.00") {
		t.Error(text)
	}
	if (&report{AckRatio: math.NaN()}).judge(&Command{Factor: 2}) == nil {
		t.Error("a load without beats is good")
	}
}

func TestDistribution(t *testing.T) {
	var values []float64
	for i := 100; i > 0; i-- {
		values = append(values, float64(i))
	}
	if d := distributionOf(values); d != (distribution{50, 99, 100}) {
		t.Errorf("%+v", d)
	}
}

func TestTheMachineIsAsked(t *testing.T) {
	if err := raiseFiles(math.MaxInt32); err == nil || !strings.Contains(err.Error(), "ulimit -Hn") {
		t.Errorf("%v", err)
	}
	if err := raiseFiles(64); err != nil {
		t.Error(err)
	}
	if now, most := residentOf(os.Getpid()), peakOf(os.Getpid()); now <= 0 || most < now/2 {
		t.Errorf("%d %d", now, most)
	}
}
