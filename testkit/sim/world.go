package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lockstep/actors/core/invariants"
)

// Durations of the virtual clock, in ns.
const (
	us  = int64(1e3)
	ms  = int64(1e6)
	sec = int64(1e9)
)

// epoch is where every wall clock begins: Unix ms.
const epoch = int64(1_700_000_000_000)

// world is one run: one clock, one scheduler, all sites. Nothing in it may depend on the order of a map, on
// real time or on an address.
type world struct {
	seed    uint64
	options Options
	now     int64 // ns since the run began
	events  eventHeap
	seq     uint64
	sched   *rand.Rand
	trace   uint64 // running hash of everything that happened
	steps   int64
	reached int // events executed

	sites  []*site
	net    *network
	oracle *oracle
	load   *workload
	faults *faults

	viewed    []*replica   // that show another view since the event began
	holds     map[int]bool // destinations, by site, that an operator holds released
	held      int          // how often any was
	healedAt  int64
	healed    bool // no fault any more; liveness is demanded
	violation *invariants.Violation
	narrative []string
	tells     bool // keep the narrative
}

// event is something that happens at an instant; among equals prio, drawn from the seed, decides.
type event struct {
	at   int64
	prio uint32
	seq  uint64
	do   func()
}

func (a *event) before(b *event) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.prio != b.prio {
		return a.prio < b.prio
	}
	return a.seq < b.seq
}

// eventHeap is a heap of values, four children to a node: container/heap would box each.
type eventHeap []event

func (h *eventHeap) push(e event) {
	list := append(*h, e)
	i := len(list) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&list[up]) {
			break
		}
		list[i] = list[up]
		i = up
	}
	list[i] = e
	*h = list
}

func (h *eventHeap) pop() event {
	list := *h
	first, n := list[0], len(list)-1
	last := list[n]
	list[n] = event{}
	list = list[:n]
	*h = list
	i := 0
	for 4*i+1 < n {
		down := 4*i + 1
		for next := down + 1; next < min(4*i+5, n); next++ {
			if list[next].before(&list[down]) {
				down = next
			}
		}
		if !list[down].before(&last) {
			break
		}
		list[i] = list[down]
		i = down
	}
	if n > 0 {
		list[i] = last
	}
	return first
}

// after runs do d ns from now.
func (w *world) after(d int64, do func()) {
	w.seq++
	w.events.push(event{at: w.now + max(d, 0), prio: w.sched.Uint32(), seq: w.seq, do: do})
}

// run executes events until the instant, or until something is violated.
func (w *world) run(until int64) {
	for len(w.events) > 0 && w.events[0].at <= until && w.violation == nil {
		e := w.events.pop()
		w.now = e.at
		w.reached++
		w.mix(uint64(e.at))
		e.do()
		if len(w.viewed) > 0 {
			w.oracle.viewsHold()
		}
	}
	if w.violation == nil {
		w.now = max(w.now, until)
	}
}

func (w *world) mix(x uint64) { w.trace = (w.trace ^ x) * 0x9e3779b97f4a7c15 >> 1 }

// found ends the run: the first violation is the one that is explained.
func (w *world) found(id, format string, args ...any) {
	if w.violation == nil {
		w.violation = &invariants.Violation{ID: id, Text: fmt.Sprintf(format, args...)}
		w.say("VIOLATION %s", w.violation)
	}
}

const narrativeLines = 4000

func (w *world) say(format string, args ...any) {
	if !w.tells {
		return
	}
	line := fmt.Sprintf("%12s  %s", time.Duration(w.now).String(), fmt.Sprintf(format, args...))
	if len(w.narrative) >= narrativeLines {
		w.narrative = append(w.narrative[:0], w.narrative[narrativeLines/2:]...)
	}
	w.narrative = append(w.narrative, line)
}
