package retention

import "lockstep/actors/core"

// Idle says below which offset nothing was written for long. Time is that of a monotonic clock, in ns: one that jumps makes
// nobody idle. The zero value knows nothing yet.
type Idle struct {
	marks []mark
}

// mark: everything below end was there at that time.
type mark struct {
	at  int64
	end core.Offset
}

// fineness is how many marks there are for the time that is asked about.
const fineness = 16

// Note takes where the log ends now. after is for how long somebody must be idle.
func (i *Idle) Note(now, after int64, end core.Offset) {
	if n := len(i.marks); n == 0 || end > i.marks[n-1].end && now-i.marks[n-1].at >= after/fineness {
		i.marks = append(i.marks, mark{now, end})
	}
}

// Before is the offset below which everything was written at least after ago; 0: none.
func (i *Idle) Before(now, after int64) (before core.Offset) {
	n := 0
	for n < len(i.marks) && now-i.marks[n].at >= after {
		before = i.marks[n].end
		n++
	}
	if n > 1 {
		i.marks = i.marks[:copy(i.marks, i.marks[n-1:])]
	}
	return before
}
