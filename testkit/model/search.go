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

// state is one state of a model. It is not changed once it is in the search: do is called on forks.
type state[S any] interface {
	enabled() []action
	fork() S
	do(action)
	check()
	key(scratch []byte) (sum, []byte)
	broken() *invariants.Violation
	promised() bool // something is acknowledged: a search without such states proves nothing
}

// search is one breadth-first exploration, level by level: the first violation is a nearest one.
type search[S state[S]] struct {
	limits  Limits
	seen    *seen
	origins []origin
	states  atomic.Int64
	steps   atomic.Int64
	acks    atomic.Int64
	stop    atomic.Bool
}

// reached is a state of the next level.
type reached[S any] struct {
	w      S
	parent int32
	action action
}

// Search explores everything within bounds and limits.
func Search(bounds Bounds, limits Limits) Result {
	return explore(func(log func(string, ...any)) *world {
		w := newWorld(&bounds)
		w.log = log
		return w
	}, limits)
}

func explore[S state[S]](start func(log func(string, ...any)) S, limits Limits) Result {
	began := time.Now()
	first := start(nil)
	key, _ := first.key(nil)
	s := &search[S]{limits: limits, seen: newSeen(), origins: []origin{{parent: -1}}}
	if s.limits.Workers == 0 {
		s.limits.Workers = runtime.GOMAXPROCS(0)
	}
	s.seen.add(key)
	s.states.Store(1)
	level, firstID := []S{first}, int32(0)
	var r Result
	for len(level) > 0 && !s.stop.Load() && r.Violation == nil {
		next := s.expand(level, firstID)
		if len(next) == 0 {
			break
		}
		r.Depth++
		level, firstID = make([]S, 0, len(next)), int32(len(s.origins))
		for _, one := range next {
			id := int32(len(s.origins))
			s.origins = append(s.origins, origin{one.parent, one.action})
			level = append(level, one.w)
			if v := one.w.broken(); v != nil && r.Violation == nil {
				r.Violation, r.Trace = v, replay(start, s.origins, id)
			}
		}
	}
	r.States, r.Steps, r.Acks = int(s.states.Load()), int(s.steps.Load()), int(s.acks.Load())
	r.Exhaustive = r.Violation == nil && !s.stop.Load()
	r.Took = time.Since(began)
	return r
}

// expand takes every step from a level; firstID is the number of its first state.
func (s *search[S]) expand(level []S, firstID int32) []reached[S] {
	const chunk = 64
	var at atomic.Int64
	found := make([][]reached[S], s.limits.Workers)
	var all sync.WaitGroup
	for n := range s.limits.Workers {
		all.Go(func() {
			var scratch []byte
			var none S
			for !s.stop.Load() {
				from := int(at.Add(chunk)) - chunk
				if from >= len(level) {
					return
				}
				for i := from; i < min(from+chunk, len(level)); i++ {
					found[n], scratch = s.from(level[i], firstID+int32(i), found[n], scratch)
					level[i] = none
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

func (s *search[S]) from(w S, id int32, found []reached[S], scratch []byte) ([]reached[S], []byte) {
	for _, a := range w.enabled() {
		n := w.fork()
		n.do(a)
		n.check()
		s.steps.Add(1)
		var key sum
		if key, scratch = n.key(scratch); !s.seen.add(key) && n.broken() == nil {
			continue
		}
		found = append(found, reached[S]{n, id, a})
		if n.promised() {
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
func replay[S state[S]](start func(log func(string, ...any)) S, origins []origin, id int32) []string {
	var actions []action
	for at := id; at > 0; at = origins[at].parent {
		actions = append(actions, origins[at].action)
	}
	var lines []string
	w := start(func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	w.key(nil)
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
