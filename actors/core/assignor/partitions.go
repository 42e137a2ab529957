package assignor

import (
	"maps"
	"slices"

	"lockstep/actors/core"
)

// Partitions is a set of partitions by topic: each list ascending and not empty. It is never changed once it was made;
// the methods make new ones.
type Partitions map[core.TopicID][]int32

// SetOf makes a set of lists in any order, with repetitions.
func SetOf(lists map[core.TopicID][]int32) Partitions {
	set := Partitions{}
	for t, list := range lists {
		sorted := slices.Sorted(slices.Values(list))
		if sorted = slices.Compact(sorted); len(sorted) > 0 {
			set[t] = sorted
		}
	}
	return set
}

// Len is the number of partitions.
func (p Partitions) Len() (n int) {
	for _, list := range p {
		n += len(list)
	}
	return n
}

// Has says whether a partition is in the set.
func (p Partitions) Has(t core.TopicID, index int32) bool {
	_, found := slices.BinarySearch(p[t], index)
	return found
}

// Keep makes the set of those for which keep says so.
func (p Partitions) Keep(keep func(core.TopicID, int32) bool) Partitions {
	out := Partitions{}
	for t, list := range p {
		for _, index := range list {
			if keep(t, index) {
				out[t] = append(out[t], index)
			}
		}
	}
	return out
}

// And makes the intersection.
func (p Partitions) And(o Partitions) Partitions { return p.Keep(o.Has) }

// Without makes the difference.
func (p Partitions) Without(o Partitions) Partitions {
	return p.Keep(func(t core.TopicID, index int32) bool { return !o.Has(t, index) })
}

// Or makes the union.
func (p Partitions) Or(o Partitions) Partitions {
	out := maps.Clone(p)
	if out == nil {
		out = Partitions{}
	}
	for t, list := range o {
		out[t] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(out[t], list))))
	}
	return out
}

// Meets says whether the sets have a partition in common.
func (p Partitions) Meets(o Partitions) bool {
	for t, list := range p {
		for _, index := range list {
			if o.Has(t, index) {
				return true
			}
		}
	}
	return false
}

// Within says whether every partition is in o.
func (p Partitions) Within(o Partitions) bool {
	for t, list := range p {
		for _, index := range list {
			if !o.Has(t, index) {
				return false
			}
		}
	}
	return true
}

// Equal says whether the sets are the same.
func (p Partitions) Equal(o Partitions) bool { return maps.EqualFunc(p, o, slices.Equal[[]int32]) }
