package retention

import (
	"testing"

	"lockstep/actors/core"
)

func TestWhatIsDirtyIsCompacted(t *testing.T) {
	rules := Rules{Ms: -1, Bytes: -1, SegmentMs: -1, SegmentBytes: 200} // two batches make a segment
	batches := func(hours ...int64) (list []Batch) {
		for _, h := range hours {
			list = append(list, Batch{MaxTimestamp: h * hour, Bytes: 100})
		}
		return list
	}
	never := int64(1) << 62
	six := batches(1, 2, 3, 4, 5, 6) // 0 to 60, the newest segment begins at 40
	for name, c := range map[string]struct {
		batches []Batch
		cleaned core.Offset
		lag     Lag
		now     int64 // hours
		limit   core.Offset
		to      core.Offset
		due     bool
	}{
		"all but the newest segment":              {six, 0, Lag{0, never, 0.5}, 7, 60, 40, true},
		"half of it is half":                      {six, 20, Lag{0, never, 0.5}, 7, 60, 40, true},
		"there is too little":                     {six, 20, Lag{0, never, 0.6}, 7, 60, 40, false},
		"any little":                              {six, 20, Lag{0, never, 0}, 7, 60, 40, true},
		"there is nothing":                        {six, 40, Lag{0, never, 0}, 7, 60, 40, false},
		"a mirror is behind":                      {six, 0, Lag{0, never, 0.5}, 7, 30, 30, true},
		"a mirror is behind what was compacted":   {six, 40, Lag{0, 1, 0}, 7, 30, 30, false},
		"a mirror without a floor":                {six, 0, Lag{0, never, 0}, 7, core.Unknown, core.Unknown, false},
		"a young segment":                         {six, 0, Lag{4 * hour, never, 0}, 7, 60, 20, true},
		"all is young":                            {six, 0, Lag{9 * hour, never, 0}, 7, 60, 0, false},
		"too little, but too old":                 {six, 20, Lag{0, 3 * hour, 1}, 7, 60, 40, true},
		"the newest segment too, when it is old":  {six, 20, Lag{0, hour, 1}, 7, 60, 60, true},
		"without timestamps a segment is old":     {append([]Batch{{MaxTimestamp: -1, Bytes: 200}}, six...), 0, Lag{9 * hour, never, 0}, 7, 70, 10, true},
		"a batch without one begins no young one": {append([]Batch{{MaxTimestamp: -1, Bytes: 100}}, six...), 0, Lag{0, 5 * hour, 1}, 7, 70, 60, true},
	} {
		to, due := filled(rules, c.batches...).Dirty(c.cleaned, c.lag, c.now*hour, c.limit)
		if to != c.to || due != c.due {
			t.Errorf("%s: up to %d, due %v; want %d, %v", name, to, due, c.to, c.due)
		}
	}
}

func TestASegmentBeginsWhereCompactionEnded(t *testing.T) {
	l, rules := &Log{}, Rules{SegmentMs: -1, SegmentBytes: 1 << 30}
	l.RollAt(20)
	for range 4 {
		l.Add(Batch{Base: l.Next(), Last: l.Next() + 9, Bytes: 100}, rules)
	}
	if len(l.segments) != 2 || l.segments[0].next != 20 || l.segments[1].bytes != 200 {
		t.Fatalf("%+v", l.segments)
	}
}
