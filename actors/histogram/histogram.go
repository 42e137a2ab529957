// Package histogram counts durations without locks: what an actor or a connection measures on its way,
// a scrape reads at any time.
package histogram

import (
	"sync/atomic"
	"time"
)

// Bounds are the upper bounds of the buckets, inclusive, ascending; one more bucket holds what is longer.
// From a local fsync to a producer that gives up.
var Bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond,
	20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// Histogram is a distribution of durations since it was made. The zero value is empty. Safe from any
// goroutine.
type Histogram struct {
	buckets [len(Bounds) + 1]atomic.Int64
	sum     atomic.Int64 // ns
}

// Observe counts d; a negative one, of a clock that was set back, counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(Bounds) && d > Bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.sum.Add(int64(d))
}

// Snapshot is what was counted up to about now: an Observe that runs meanwhile may be in it or in the next.
type Snapshot struct {
	Count      int64
	Sum        time.Duration
	Cumulative [len(Bounds)]int64 // how many were at or below each of Bounds
}

// Snapshot reads the counts.
func (h *Histogram) Snapshot() (s Snapshot) {
	for i := range h.buckets {
		s.Count += h.buckets[i].Load()
		if i < len(Bounds) {
			s.Cumulative[i] = s.Count
		}
	}
	s.Sum = time.Duration(h.sum.Load())
	return s
}
