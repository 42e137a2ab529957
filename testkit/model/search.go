package model

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
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

// Limits say when to give up.
type Limits struct {
	States   int       // 0: never
	Deadline time.Time // zero: never
	Workers  int       // 0: one per processor
}

type origin struct {
	parent int32
	action action
}

// seen is what has been visited, in shards so that workers seldom wait for each other.
type seen [64]struct {
	sync.Mutex
	keys map[sum]struct{}
}

func newSeen() *seen {
	s := &seen{}
	for i := range s {
		s[i].keys = map[sum]struct{}{}
	}
	return s
}

// add reports whether key is new.
func (s *seen) add(key sum) bool {
	shard := &s[key[0]%64]
	shard.Lock()
	defer shard.Unlock()
	if _, known := shard.keys[key]; known {
		return false
	}
	shard.keys[key] = struct{}{}
	return true
}

// search is one breadth-first exploration, level by level: the first violation is a nearest one.
type search struct {
	limits  Limits
	seen    *seen
	origins []origin
	states  atomic.Int64
	steps   atomic.Int64
	acks    atomic.Int64
	stop    atomic.Bool
}

// reached is a state of the next level.
type reached struct {
	w      *world
	parent int32
	action action
}

// Search explores everything within bounds and limits.
func Search(bounds Bounds, limits Limits) Result {
	began := time.Now()
	first := newWorld(&bounds)
	key, _ := first.key(nil)
	s := &search{limits: limits, seen: newSeen(), origins: []origin{{parent: -1}}}
	if s.limits.Workers == 0 {
		s.limits.Workers = runtime.GOMAXPROCS(0)
	}
	s.seen.add(key)
	s.states.Store(1)
	level, firstID := []*world{first}, int32(0)
	var r Result
	for len(level) > 0 && !s.stop.Load() && r.Violation == nil {
		next := s.expand(level, firstID)
		if len(next) == 0 {
			break
		}
		r.Depth++
		level, firstID = make([]*world, 0, len(next)), int32(len(s.origins))
		for _, one := range next {
			id := int32(len(s.origins))
			s.origins = append(s.origins, origin{one.parent, one.action})
			level = append(level, one.w)
			if one.w.violation != nil && r.Violation == nil {
				r.Violation, r.Trace = one.w.violation, replay(bounds, s.origins, id)
			}
		}
	}
	r.States, r.Steps, r.Acks = int(s.states.Load()), int(s.steps.Load()), int(s.acks.Load())
	r.Exhaustive = r.Violation == nil && !s.stop.Load()
	r.Took = time.Since(began)
	return r
}

// expand takes every step from a level; firstID is the number of its first state.
func (s *search) expand(level []*world, firstID int32) []reached {
	const chunk = 64
	var at atomic.Int64
	found := make([][]reached, s.limits.Workers)
	var all sync.WaitGroup
	for n := range s.limits.Workers {
		all.Go(func() {
			var scratch []byte
			for !s.stop.Load() {
				from := int(at.Add(chunk)) - chunk
				if from >= len(level) {
					return
				}
				for i := from; i < min(from+chunk, len(level)); i++ {
					found[n], scratch = s.from(level[i], firstID+int32(i), found[n], scratch)
					level[i] = nil
				}
				if !s.limits.Deadline.IsZero() && time.Now().After(s.limits.Deadline) {
					s.stop.Store(true)
				}
			}
		})
	}
	all.Wait()
	next := found[0]
	for _, more := range found[1:] {
		next = append(next, more...)
	}
	return next
}

func (s *search) from(w *world, id int32, found []reached, scratch []byte) ([]reached, []byte) {
	for _, a := range w.enabled() {
		n := w.fork()
		n.do(a)
		n.check()
		s.steps.Add(1)
		var key sum
		if key, scratch = n.key(scratch); !s.seen.add(key) && n.violation == nil {
			continue
		}
		found = append(found, reached{n, id, a})
		if len(n.acked) > 0 {
			s.acks.Add(1)
		}
		if states := int(s.states.Add(1)); s.limits.States > 0 && states >= s.limits.States {
			s.stop.Store(true)
			return found, scratch
		}
	}
	return found, scratch
}

// replay takes the steps to a state once more, with a pen.
func replay(bounds Bounds, origins []origin, id int32) []string {
	var actions []action
	for at := id; at > 0; at = origins[at].parent {
		actions = append(actions, origins[at].action)
	}
	w := newWorld(&bounds)
	w.key(nil)
	var lines []string
	w.log = func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var trace []string
	for i := len(actions) - 1; i >= 0; i-- {
		lines = nil
		w.do(actions[i])
		w.check()
		w.key(nil)
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
