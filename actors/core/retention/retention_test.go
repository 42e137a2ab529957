package retention

import (
	"math/rand"
	"testing"

	"lockstep/actors/core"
)

const hour = int64(3_600_000)

func filled(r Rules, batches ...Batch) *Log {
	l := &Log{}
	for _, b := range batches {
		b.Base, b.Last = l.Next(), l.Next()+9
		l.Add(b, r)
	}
	return l
}

func TestSegmentsGoWhole(t *testing.T) {
	at := func(hours ...int64) (list []Batch) {
		for _, h := range hours {
			list = append(list, Batch{MaxTimestamp: h * hour, Bytes: 100})
		}
		return list
	}
	two := Rules{Ms: 10 * hour, Bytes: -1, SegmentMs: -1, SegmentBytes: 200} // two batches make a segment
	sized := Rules{Ms: -1, Bytes: 300, SegmentMs: -1, SegmentBytes: 200}
	for name, c := range map[string]struct {
		rules   Rules
		batches []Batch
		now     int64 // hours
		limit   core.Offset
		want    core.Offset // 0: none goes
		why     Why
	}{
		"nothing is old":                              {two, at(1, 2, 3, 4), 11, 99, 0, 0},
		"a segment is as old as its newest":           {two, at(1, 2, 3, 4), 12, 99, 0, 0},
		"the first segment":                           {two, at(1, 2, 3, 4), 13, 99, 20, Time},
		"all of it, the newest segment too":           {two, at(1, 2, 3, 4), 15, 99, 40, Time},
		"a record of the future keeps its segment":    {two, at(1, 900, 3, 4), 500, 99, 0, 0},
		"what is not committed stays":                 {two, at(1, 2, 3, 4), 15, 39, 20, Time},
		"a mirror without a floor":                    {two, at(1, 2, 3, 4), 15, core.Unknown, 0, 0},
		"without timestamps nothing is old":           {two, []Batch{{MaxTimestamp: -1, Bytes: 100}}, 500, 99, 0, 0},
		"without timestamps it goes with what is old": {two, append([]Batch{{MaxTimestamp: -1, Bytes: 200}}, at(1, 2, 30, 40)...), 15, 99, 30, Time},
		"and not before":                              {two, append([]Batch{{MaxTimestamp: -1, Bytes: 200}}, at(30, 40)...), 15, 99, 0, 0},
		"nor is it counted twice":                     {Rules{Ms: 10 * hour, Bytes: 250, SegmentMs: -1, SegmentBytes: 200}, append([]Batch{{MaxTimestamp: -1, Bytes: 200}}, at(30, 40)...), 15, 99, 0, 0},
		"below the size":                              {sized, at(1, 2, 3, 4), 0, 99, 0, 0},
		"what is above the size, whole segments":      {sized, at(1, 2, 3, 4, 5), 0, 99, 20, Size},
		"no size at all":                              {Rules{Ms: -1, SegmentMs: -1, SegmentBytes: 200}, at(1, 2, 3), 0, 99, 30, Size},
		"old, and then large":                         {Rules{Ms: 10 * hour, Bytes: 200, SegmentMs: -1, SegmentBytes: 200}, at(1, 2, 30, 4, 30, 6), 15, 99, 40, Size},
		"time rolls a segment":                        {Rules{Ms: 10 * hour, Bytes: -1, SegmentMs: 2 * hour, SegmentBytes: 1 << 30}, at(1, 2, 3, 4, 5, 6), 14, 99, 30, Time},
		"no limit":                                    {Rules{Ms: -1, Bytes: -1, SegmentMs: 1, SegmentBytes: 14}, at(1, 2, 3), 1 << 40, 99, 0, 0},
	} {
		start, why, ok := filled(c.rules, c.batches...).Expired(c.rules, c.now*hour, c.limit)
		if start != c.want || why != c.why || ok != (c.want > 0) {
			t.Errorf("%s: begins at %d for %d (%v), want %d for %d", name, start, why, ok, c.want, c.why)
		}
	}
}

func TestALogGoesOnWhereItWasTrimmed(t *testing.T) {
	r := Rules{Ms: -1, Bytes: 250, SegmentMs: -1, SegmentBytes: 200}
	l := filled(r, Batch{Bytes: 100}, Batch{Bytes: 100}, Batch{Bytes: 100}, Batch{Bytes: 100}, Batch{Bytes: 100})
	l.Trim(15) // inside of a segment: it is counted whole
	if l.Bytes() != 500 {
		t.Fatalf("%d bytes", l.Bytes())
	}
	start, _, _ := l.Expired(r, 0, 99)
	if l.Trim(start); start != 20 || l.Bytes() != 300 {
		t.Fatalf("begins at %d with %d bytes", start, l.Bytes())
	}
	if l.Trim(70); l.Bytes() != 0 || l.Next() != 70 {
		t.Fatalf("%d bytes, next %d", l.Bytes(), l.Next())
	}
}

// The list is bounded for any settings and any log, and no byte is lost on the way.
func TestTheListIsBounded(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	r := Rules{Ms: 1, Bytes: 1, SegmentMs: 1, SegmentBytes: 14}
	l, total := &Log{}, int64(0)
	for range 50_000 {
		b := Batch{Base: l.Next(), Last: l.Next(), MaxTimestamp: rng.Int63n(hour), Bytes: 1 + rng.Int63n(1000)}
		total += b.Bytes
		l.Add(b, r)
	}
	if len(l.segments) > 3*mostSegments || l.Bytes() != total {
		t.Fatalf("%d segments, %d of %d bytes", len(l.segments), l.Bytes(), total)
	}
	if start, _, ok := l.Expired(r, 1<<50, l.Next()); !ok || start != l.Next() {
		t.Fatalf("all is old, and it begins at %d", start)
	}
}
