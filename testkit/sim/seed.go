package sim

import (
	"fmt"
	"math/rand/v2"
)

// splitmix is the step that turns one seed into independent ones.
func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func hashName(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// stream is the randomness of one named choice point. Every point has its own, so that leaving out one
// fault while shrinking does not shift the choices of the others.
func stream(seed uint64, format string, args ...any) *rand.Rand {
	s := splitmix(seed ^ hashName(fmt.Sprintf(format, args...)))
	return rand.New(rand.NewPCG(s, splitmix(s)))
}

// within draws from [low, high].
func within(r *rand.Rand, low, high int64) int64 { return low + r.Int64N(high-low+1) }

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
