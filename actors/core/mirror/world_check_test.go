package mirror_test

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// checkAdmission: a release is undone only by a Register that echoes the newest one that covers the topic (I37).
func (w *world) checkAdmission(ev registration.Event) {
	switch ev := ev.(type) {
	case registration.MirrorReleased:
		w.note("S: released %d, whole %v, %v", ev.Number, ev.Whole, ev.Topics)
		for _, t := range worldTopics {
			if covers(ev, t) {
				w.releases[t] = ev.Number
			}
		}
	case registration.TopicRegistered:
		w.note("S: registered %d under %d, generation %d, echo %d", ev.Topic[0], ev.Epoch, ev.Generation, ev.Content.Echo)
		if ev.Content.Echo > 0 {
			w.answered[ev.Topic] = max(w.answered[ev.Topic], ev.Content.Echo)
		}
		if n := w.releases[ev.Topic]; w.answered[ev.Topic] < n {
			w.fail("I37: release %d was undone by Register(%d, echo %d)", n, ev.Generation, ev.Content.Echo)
		}
	case registration.TopicUnregistered:
		w.note("S: unregistered %d, generation %d", ev.Topic[0], ev.Generation)
		if w.opened[ev.Topic] {
			w.fail("W7: the source was un-gated after topic %d had opened here", ev.Topic[0])
		}
		w.src.stops[ev.Topic] = ev.Content.Mode == int8(registration.ModeStop)
	}
}

func covers(ev registration.MirrorReleased, t core.TopicID) bool {
	for _, id := range ev.Topics {
		if id == t {
			return true
		}
	}
	return ev.Whole
}

// check holds at every instant.
func (w *world) check() {
	w.checkAcks()
	for _, d := range w.dst.describe() {
		if d.Effective == mirror.TypeSync && d.Desired != mirror.TypeSync {
			w.fail("I36: topic %s is SYNC and wants %s", d.Name, d.Desired)
		}
		if d.Effective == mirror.TypeSync && d.Armed != worldPartitions {
			w.fail("C1: topic %s is SYNC with %d partitions armed", d.Name, d.Armed)
		}
		w.checkGate(d)
		if d.T.Clock == 0 {
			continue
		}
		for _, a := range w.src.acks {
			if a.id.Topic != d.Topic || a.clock > d.T.Clock {
				continue
			}
			if c := w.dst.logs[a.id]; int(a.at) >= len(c.log) || c.log[a.at] != a.value {
				w.fail("I35: offset %d of %s was acknowledged at %d, T is %d, and the copy ends at %d", a.at, a.id, a.clock, d.T.Clock, len(c.log))
			}
		}
	}
}

// checkGate: a claim that is confirmed means that every leader gates, unless an operator has released since.
func (w *world) checkGate(d mirror.TopicDescription) {
	if d.Effective != mirror.TypeSync || d.Unconfirmed || d.Partial {
		return
	}
	if w.releases[d.Topic] > max(d.Release, w.answered[d.Topic]) || w.restored {
		return
	}
	if !w.src.ledger.Confirms(worldKey, d.Topic, d.Epoch) {
		w.fail("claim without gate: topic %s is SYNC under %d, the ledger says %+v", d.Name, d.Epoch, w.src.described(d.Topic))
	}
	for _, p := range w.src.sorted() {
		if p.id.Topic == d.Topic && (p.gate == nil || p.gate.Epoch != d.Epoch) {
			w.fail("claim without gate: leader %d of %s does not gate under %d", p.epoch, p.id, d.Epoch)
		}
	}
}

// checkAcks: nothing acknowledged is ever lost by the source itself, or the world is wrong.
func (w *world) checkAcks() {
	for _, a := range w.src.acks {
		if p := w.src.parts[a.id]; int(a.at) >= len(p.log) || p.log[a.at] != a.value {
			w.fail("the source lost an acknowledged record: the world is broken")
		}
	}
}

// checkRest holds when faults have ended: what the operator wants is what is (I65), nothing waits, and no
// source gates on a mirror that does not report (I40).
func (w *world) checkRest() {
	for _, d := range w.dst.describe() {
		reg := w.src.described(d.Topic)
		switch {
		case d.Phase == mirror.Stopped:
		case d.Phase == mirror.Stopping:
			w.fail("topic %s still stops (%s)", d.Name, d.Step)
		case d.Desired == mirror.TypeSync && d.Phase != mirror.Sync:
			w.fail("I65: topic %s wants SYNC and is %s (%s)", d.Name, d.Phase, d.ErrorMessage)
		case d.Desired == mirror.TypeSync && (!reg.Registered || reg.Epoch != d.Epoch):
			w.fail("topic %s is SYNC under %d, the ledger says %+v", d.Name, d.Epoch, reg)
		case d.Desired == mirror.TypeAsync && reg.Registered:
			w.fail("I40: orphan gate: topic %s is %s, the ledger says %+v", d.Name, d.Phase, reg)
		}
	}
	for _, p := range w.src.sorted() {
		if p.hw != len(p.log) && !w.opened[p.id.Topic] { // a withdrawn Unregister leaves the source waiting: that is its fence
			w.fail("I65: producers of %s still wait at %d of %d", p.id, p.hw, len(p.log))
		}
	}
}

func runWorld(t *testing.T, first, seeds int64, steps int, profile func(*world)) (worlds []*world) {
	if testing.Short() {
		seeds /= 4
	}
	for seed := first; seed < first+seeds; seed++ {
		w := newWorld(t, seed)
		profile(w)
		for range steps {
			w.step()
		}
		w.settle()
		w.checkRest()
		worlds = append(worlds, w)
	}
	return worlds
}

// I35 to I41, claim implies gate, no release silently undone, no orphan gate at rest, and what is wanted is
// reached (I65).
func TestWorldKeepsEveryClaimUnderFaults(t *testing.T) {
	var promoted, released int
	for _, w := range runWorld(t, 0, 40, 500, func(*world) {}) {
		for _, line := range w.log {
			if strings.Contains(line, "TopicPromoted") {
				promoted++
			}
			if strings.Contains(line, "S: released") {
				released++
			}
		}
	}
	if !testing.Short() && (promoted < 50 || released < 50) {
		t.Fatalf("%d promotions and %d releases: the world does not exercise what it checks", promoted, released)
	}
}

// The same with busy operators and messages that arrive again and again: commands must not act out of order.
func TestWorldOrdersCommands(t *testing.T) {
	runWorld(t, 1000, 40, 800, func(w *world) { w.stubborn = true })
}

// The same with a destination that comes back from an older journal (model K5).
func TestWorldSurvivesARestoredDestination(t *testing.T) {
	runWorld(t, 2000, 20, 400, func(w *world) { w.restores, w.stubborn = true, true })
}

// Stops at any instant: they end, no Unregister acts after the copy has opened (model W7), and whatever the source
// acknowledged up to its un-gating is in the copy when the source named its ends (model W5).
func TestWorldStops(t *testing.T) {
	answered := 0
	for _, w := range runWorld(t, 3000, 70, 400, func(w *world) { w.stops = true }) {
		for _, a := range w.src.acks {
			ended, known := w.ungated[a.id]
			if !known || a.clock > ended || !w.opened[a.id.Topic] || !w.dst.named[a.id] {
				continue
			}
			answered++
			if c := w.dst.logs[a.id]; int(a.at) >= len(c.log) || c.log[a.at] != a.value {
				w.fail("W5: offset %d of %s was acknowledged before un-gating and is not in the copy", a.at, a.id)
			}
		}
	}
	if !testing.Short() && answered < 20 {
		t.Fatalf("only %d acknowledged records of answered stops", answered)
	}
}
