package model

import (
	"fmt"
	"time"

	"lockstep/actors/core/invariants"
)

// Result is what a search found.
type Result struct {
	States     int
	Steps      int // transitions taken
	Depth      int // of the deepest state
	Acks       int // states in which something is acknowledged
	Exhaustive bool
	Took       time.Duration
	Violation  *invariants.Violation
	Trace      []string // how it comes about, from the quiet start
}

type origin struct {
	parent int32
	action action
}

// Search explores everything within bounds, up to limit states (0: all) and until the deadline (zero: none).
func Search(bounds Bounds, limit int, deadline time.Time) Result {
	began := time.Now()
	first := newWorld(&bounds)
	key, scratch := first.key(nil)
	seen := map[[16]byte]struct{}{key: {}}
	origins := []origin{{parent: -1}}
	level, ids := []*world{first}, []int32{0}
	r := Result{States: 1}
	finish := func() Result {
		r.Took = time.Since(began)
		return r
	}
	for depth := 1; len(level) > 0; depth++ {
		var next []*world
		var nextIDs []int32
		for at, w := range level {
			level[at] = nil
			for _, a := range w.enabled() {
				n := w.fork()
				n.do(a)
				n.check()
				r.Steps++
				if key, scratch = n.key(scratch); !remember(seen, key) && n.violation == nil {
					continue
				}
				id := int32(len(origins))
				origins = append(origins, origin{ids[at], a})
				next, nextIDs = append(next, n), append(nextIDs, id)
				r.States, r.Depth = r.States+1, depth
				if len(n.acked) > 0 {
					r.Acks++
				}
				if n.violation != nil {
					r.Violation, r.Trace = n.violation, replay(bounds, origins, id)
					return finish()
				}
				if limit > 0 && r.States >= limit {
					return finish()
				}
			}
			if at%256 == 0 && !deadline.IsZero() && time.Now().After(deadline) {
				return finish()
			}
		}
		level, ids = next, nextIDs
	}
	r.Exhaustive = true
	return finish()
}

func remember(seen map[[16]byte]struct{}, key [16]byte) bool {
	if _, known := seen[key]; known {
		return false
	}
	seen[key] = struct{}{}
	return true
}

// replay takes the steps to a state once more, with a pen.
func replay(bounds Bounds, origins []origin, id int32) []string {
	var actions []action
	for at := id; at > 0; at = origins[at].parent {
		actions = append(actions, origins[at].action)
	}
	w := newWorld(&bounds)
	var lines []string
	w.log = func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var trace []string
	for i := len(actions) - 1; i >= 0; i-- {
		lines = nil
		w.do(actions[i])
		w.check()
		for j, line := range lines {
			if j == 0 {
				line = fmt.Sprintf("%3d. %s", len(actions)-i, line)
			} else {
				line = "       " + line
			}
			trace = append(trace, line)
		}
	}
	return trace
}
