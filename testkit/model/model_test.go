package model

import (
	"strings"
	"testing"
	"time"
)

// Within the bounds of the cheap scenarios every schedule keeps every promise. Switch a rule off (build
// tag mutants) and one of them shows a shortest schedule that does not.
func TestNoScheduleWithinSmallBoundsBreaksAPromise(t *testing.T) {
	for _, s := range Scenarios()[:3] {
		r := Search(s.Bounds, 0, time.Now().Add(time.Minute))
		switch {
		case r.Violation != nil:
			t.Errorf("%s: %s\n%s", s.Name, r.Violation, strings.Join(r.Trace, "\n"))
		case !r.Exhaustive:
			t.Errorf("%s: not finished after %d states", s.Name, r.States)
		case r.Acks == 0:
			t.Errorf("%s: no state acknowledges anything: it proves nothing", s.Name)
		}
	}
}

// A state must have one name, whatever it shares memory with, and a step must leave its origin alone.
func TestStepsLeaveTheStateTheyStartFrom(t *testing.T) {
	bounds := Scenarios()[1].Bounds
	level := []*world{newWorld(&bounds)}
	for range 6 {
		var next []*world
		for _, w := range level[:min(len(level), 40)] {
			before, _ := w.key(nil)
			var first [][16]byte
			for _, a := range w.enabled() {
				n := w.fork()
				n.do(a)
				key, _ := n.key(nil)
				first, next = append(first, key), append(next, n)
			}
			for i, a := range w.enabled() {
				n := w.fork()
				n.do(a)
				if key, _ := n.key(nil); key != first[i] {
					t.Fatalf("%s leads to two states", w.describe(a))
				}
			}
			w.form()
			for i := range w.n {
				for j := range w.cl[i].brokers {
					w.cl[i].brokers[j].form()
				}
			}
			if after, _ := w.key(nil); after != before {
				t.Fatal("a step changed the state it started from")
			}
		}
		level = next
	}
}
