package checker

import (
	"cmp"
	"math"
	"slices"
)

// promised tells whether a record must be in the log: it was acknowledged, and if it is part of a transaction, that is
// committed.
func (j *judging) promised(s *Send) bool {
	if s.Outcome != Done {
		return false
	}
	t, part := j.txns[s.Value]
	return !part || j.Txns[t].Fate == Committed
}

func lost(j *judging) {
	for i := range j.Sends {
		switch s := &j.Sends[i]; {
		case !j.promised(s):
		case len(j.places[s.Value]) == 0:
			j.wrong("%s was acknowledged at offset %d at %s and is not in the log", j.name(s.Value), s.Offset, instant(s.Ended))
		case !j.stable[s.Value]:
			j.wrong("%s was acknowledged at %s and is not read committed", j.name(s.Value), instant(s.Ended))
		}
	}
}

func duplicate(j *judging) {
	for v, places := range j.places {
		if w := v.writer(); len(places) > 1 && (w >= len(j.Writers) || j.Writers[w] != Plain) {
			j.wrong("%s is in the log %d times: %v", j.name(v), len(places), places)
		}
	}
}

func misplaced(j *judging) {
	for i := range j.Sends {
		s := &j.Sends[i]
		if !j.promised(s) {
			continue
		}
		if v, there := j.at[s.Partition][s.Offset]; there && v != s.Value {
			j.wrong("%s was acknowledged at offset %d, which holds %s", j.name(s.Value), s.Offset, v)
		}
	}
}

// reordered looks at first occurrences: a client without idempotence may write a record again behind later ones.
func reordered(j *judging) {
	for p, log := range j.Final {
		newest, seen := map[int]Value{}, map[Value]bool{}
		for _, e := range log {
			if seen[e.Value] {
				continue
			}
			seen[e.Value] = true
			w := e.Value.writer()
			if before, ok := newest[w]; ok && before > e.Value {
				j.wrong("%s at offset %d of %s stands behind %s", j.name(e.Value), e.Offset, j.Partitions[p], before)
				continue
			}
			newest[w] = e.Value
		}
	}
}

// inversion: in each partition, no record may stand before one that was acknowledged before it was sent.
func inversion(j *judging) {
	for p, acked := range j.acked {
		list := slices.DeleteFunc(slices.Clone(acked), func(s *Send) bool { return !j.promised(s) })
		slices.SortFunc(list, func(a, b *Send) int { return cmp.Compare(a.Offset, b.Offset) })
		earliest := &Send{Ended: math.MaxInt64} // acknowledged, of those that stand behind
		for _, s := range slices.Backward(list) {
			if earliest.Ended < s.Began {
				j.wrong("%s stands at offset %d of %s, before %s at %d, which was acknowledged at %s, earlier than it was sent",
					j.name(s.Value), s.Offset, j.Partitions[p], earliest.Value, earliest.Offset, instant(earliest.Ended))
			}
			if s.Ended < earliest.Ended {
				earliest = s
			}
		}
	}
}
