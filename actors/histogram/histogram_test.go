package histogram

import (
	"sync"
	"testing"
	"time"
)

func TestEachDurationIsCountedInTheFirstBucketThatHoldsIt(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{-time.Second, time.Millisecond, time.Millisecond + 1, time.Hour} {
		h.Observe(d)
	}
	s := h.Snapshot()
	if s.Count != 4 || s.Sum != time.Hour+2*time.Millisecond+1 {
		t.Errorf("count %d, sum %s", s.Count, s.Sum)
	}
	for i, want := range map[int]int64{0: 1, 1: 2, 2: 3, len(Bounds) - 1: 3} {
		if s.Cumulative[i] != want {
			t.Errorf("at or below %s: %d, want %d", Bounds[i], s.Cumulative[i], want)
		}
	}
}

func TestNothingIsLostBetweenWriters(t *testing.T) {
	var h Histogram
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				h.Observe(time.Millisecond)
			}
		})
	}
	all.Wait()
	if s := h.Snapshot(); s.Count != 8000 || s.Sum != 8*time.Second {
		t.Errorf("%+v", s)
	}
}

func BenchmarkObserve(b *testing.B) {
	var h Histogram
	for b.Loop() {
		h.Observe(3 * time.Millisecond)
	}
}
