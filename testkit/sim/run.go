package sim

import (
	"fmt"
	"strconv"

	"lockstep/actors/core/invariants"
	"lockstep/actors/core/mirror"
)

// Replay is all that a run is a function of, beside the code.
type Replay struct {
	Seed    uint64
	Ticks   int64    // ms of the phase with faults
	Dropped []string // faults left out, by kind or by name
}

// Result is what a run came to.
type Result struct {
	Replay
	Options   Options
	Violation *invariants.Violation
	At        int64 // ns when it ended
	Trace     uint64
	Steps     int64
	Counts    Counts
	Faults    map[string]int
	Plan      []planned
	Narrative []string
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Run plays one seed: faults for Ticks ms, then none, and everything that should work must.
func Run(r Replay, narrate bool) (result Result) {
	w := &world{seed: r.Seed, options: draw(r.Seed), sched: stream(r.Seed, "scheduler"), tells: narrate, holds: map[int]bool{}}
	result = Result{Replay: r, Options: w.options}
	w.oracle = newOracle(w)
	w.net = newNetwork(w)
	w.load = &workload{world: w}
	for i, n := range w.options.Brokers {
		s := newSite(w, i, n)
		s.drift, s.offset = w.options.Drift[i], w.options.Offset[i]
		w.sites = append(w.sites, s)
		if i > 0 {
			l := w.net.connect(s, w.sites[0], w.options.RTT[i-1])
			l.loss, l.twice, l.late = w.options.Loss, w.options.Twice, w.options.Late
		}
	}
	until := r.Ticks * ms
	w.faults = newFaults(w, until, r.Dropped)
	defer func() {
		if p := recover(); p != nil {
			if w.violation == nil && !narrate {
				panic(fmt.Sprintf("seed %#x at %d ns: %v", r.Seed, w.now, p))
			}
			w.found("I55", "a machine panicked: %v", p)
		}
		result.Violation, result.At, result.Trace, result.Steps = w.violation, w.now, w.trace, w.steps
		result.Counts, result.Faults, result.Plan, result.Narrative = w.oracle.counts, w.faults.done, w.faults.plan, w.narrative
	}()
	for _, s := range w.sites {
		s.boot()
	}
	w.setUp()
	w.run(until)
	w.heal()
	return result
}

const (
	settleTime = 240 * sec // a mirror that was refused over and over waits up to a minute before it asks again
	settleStep = 2 * sec
)

// heal ends all faults and demands that everything comes to its end (I65).
func (w *world) heal() {
	if w.violation != nil {
		return
	}
	w.say("all faults end")
	w.healed, w.healedAt = true, w.now
	for _, key := range sortedLinks(w.net.links) {
		l := w.net.links[key]
		l.hole, l.cutUntil, l.loss, l.late, l.twice = [2]int64{}, 0, 0, 0, 0
		l.natsDown = min(l.natsDown, w.now+2*sec)
	}
	for _, s := range w.sites {
		s.control.slow = 0
		for _, d := range s.volumes {
			d.slow = 0
		}
		s.boot()
		p := s.alive()
		if p == nil {
			continue
		}
		p.pausedUntil = 0
		for _, b := range p.boxes {
			b.slow, b.stuck = 0, 0
		}
		for _, b := range p.brokers {
			b.feed.hold(false)
			if b.lost != nil {
				b.restart()
			}
		}
	}
	for _, d := range w.sites[1:] {
		w.unhold(d)
		w.recoverOrphans(d)
	}
	if w.sites[0].gone { // whatever was promised is shown by opening every copy
		for _, d := range w.sites[1:] {
			w.after(0, func() { w.open(d, false, mirror.VerbStop) })
		}
	}
	end := w.now + settleTime
	why := "-"
	for w.violation == nil {
		w.run(w.now + settleStep)
		if w.violation != nil {
			return
		}
		if why = w.unsettled(); why == "" {
			break
		}
		if w.now >= end {
			w.found("I65", "%d s after all faults ended: %s", settleTime/sec, why)
			return
		}
	}
	w.drain()
}

// unsettled says what is not yet as it should be, "" if everything is.
func (w *world) unsettled() string {
	for _, s := range w.sites {
		if s.gone {
			continue
		}
		p := s.serving()
		if p == nil {
			return fmt.Sprintf("%s does not serve", s.id)
		}
		for _, id := range sortedTopics(p.newest.Topics) {
			t := p.newest.Topics[id]
			for i, part := range t.Partitions {
				if len(part.Adding)+len(part.Removing) > 0 || len(part.ISR) != len(part.Replicas) {
					return fmt.Sprintf("%s: ISR of %s/%d is %v of %v", s.id, id, i, part.ISR, part.Replicas)
				}
			}
		}
		for _, name := range sortedKeys(p.mirrors) {
			for _, t := range describe(p.mirrors[name], p).Topics {
				want := mirror.Sync
				if t.Phase == mirror.Stopped {
					continue
				}
				if t.Desired != mirror.TypeSync {
					want = mirror.Async
				}
				if source := w.sites[0].serving(); source != nil {
					if _, there := source.newest.Topic(t.Topic); !there || source.newest.Sync[t.Topic].Fence.Moved {
						continue
					}
				}
				if t.Phase != want || want == mirror.Sync && (t.Partial || t.Unconfirmed) {
					return fmt.Sprintf("%s: topic %s is %s (%s)", s.id, t.Topic, t.State, t.ErrorMessage)
				}
			}
		}
	}
	return ""
}

// drain lets producers finish what they have and consumers see it, then compares everything.
func (w *world) drain() {
	w.load.stopped = true
	end := w.now + 180*sec
	for w.violation == nil {
		w.run(w.now + settleStep)
		left := w.waiting()
		if left == "" {
			break
		}
		if w.now > end {
			w.found("I65", "three minutes after all faults ended %s", left)
		}
	}
	if w.violation != nil {
		return
	}
	w.oracle.claims()
	for _, s := range w.sites {
		if s.gone {
			continue
		}
		w.oracle.checkSite(s, "the end of the run")
		for _, audit := range s.proc.audits {
			audit()
		}
	}
	w.oracle.orphans()
	w.oracle.weaklyStamped()
	w.oracle.audit()
	w.oracle.duplicates()
}

// waiting says who has not got what is theirs, "" if everybody has.
func (w *world) waiting() string {
	for _, p := range w.load.producers {
		if len(p.flying) > 0 && !p.site.gone {
			return fmt.Sprintf("producer %d still waits for an answer of %s", p.index, p.site.id)
		}
	}
	for _, s := range w.sites {
		if s.gone {
			continue
		}
		if left := w.oracle.unseen(s); left != "" {
			return left
		}
	}
	return ""
}
