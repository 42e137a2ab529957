package quorum

import (
	"cmp"
	"slices"

	"lockstep/actors/core"
)

// Position places an entry in the one sequence of all control streams: the term of the process that
// proposed it and its number in it.
type Position struct {
	Term int64
	Seq  int64
}

// Less orders histories: the one with the highest last position wins (D15).
func (p Position) Less(q Position) bool {
	if p.Term != q.Term {
		return p.Term < q.Term
	}
	return p.Seq < q.Seq
}

// marker is the first entry of a term. It makes every history that lacks it lose against those that
// have it, so what an older term wrote behind that point, never acknowledged, cannot come back.
type marker struct {
	Position
	members []core.ReplicaID
}

// newest is the marker of the highest term, zero if there is none.
func newest(markers []marker) (m marker) {
	for _, c := range markers {
		if c.Term > m.Term {
			m = c
		}
	}
	return m
}

// writers is how many of n volumes must have an entry before it counts, and readers how many must be
// there at open so that none of those is missed: 1 of 1, 2 of 2 (any 1 to read), 2 of 3.
func writers(n int) int { return n/2 + 1 }
func readers(n int) int { return n - writers(n) + 1 }

// committed is the highest Seq that at least need of the acknowledged positions reach.
func committed(acked []int64, need int) int64 {
	if need > len(acked) {
		return 0
	}
	slices.SortFunc(acked, func(a, b int64) int { return cmp.Compare(b, a) })
	return acked[need-1]
}
