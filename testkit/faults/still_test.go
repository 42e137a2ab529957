package faults

import (
	"testing"
	"time"
)

func TestTheLongestStepThatTouchesAWindowCounts(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }
	s := stillness{began: at(0)}
	s.note(at(25), nil)
	s.note(at(425), nil) // 380 ms
	s.note(at(450), nil)
	for _, row := range []struct {
		since, now int
		want       time.Duration
	}{
		{400, 460, 380 * time.Millisecond},
		{426, 460, 5 * time.Millisecond},
		{426, 970, 500 * time.Millisecond}, // the one under way
	} {
		if got := s.longest(at(row.since), at(row.now)); got != row.want {
			t.Errorf("between %d and %d: %s, want %s", row.since, row.now, got, row.want)
		}
	}
	s.note(at(30_000), nil)
	if len(s.steps) != 1 {
		t.Errorf("%d steps are kept for ever", len(s.steps))
	}
}
