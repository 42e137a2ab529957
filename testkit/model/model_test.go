package model

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/testkit/binaries"
	"lockstep/testkit/rules"
)

// Within the bounds of the cheap scenarios every schedule keeps every promise. Switch a rule off (build
// tag mutants) and one of them shows a shortest schedule that does not.
func TestNoScheduleWithinSmallBoundsBreaksAPromise(t *testing.T) {
	for _, s := range Scenarios()[:3] {
		r := Search(s.Bounds, Limits{Deadline: time.Now().Add(time.Minute)})
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
			var first []sum
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
			w.owned = 0xff
			if after, _ := w.key(nil); after != before {
				t.Fatal("a step changed the state it started from")
			}
		}
		level = next
	}
}

// No rule has both a schedule that goes wrong without it and a reason why there is none, and what is named
// exists. A rule that has neither makes testkit model --rule all fail.
func TestRulesAreInsideOrOutside(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := rules.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range all {
		if !ofModel(r) {
			continue
		}
		names = append(names, r.Switch)
		scenario, inside := Counterexamples[r.Switch]
		if inside && Outside(r) != "" {
			t.Errorf("%s (%s): a scenario or a reason, not both", r.Switch, r.Ruling)
		}
		if inside && !slices.ContainsFunc(Scenarios(), func(s Scenario) bool { return s.Name == scenario }) {
			t.Errorf("%s: no scenario %q", r.Switch, scenario)
		}
	}
	for name := range Counterexamples {
		if !slices.Contains(names, name) {
			t.Errorf("no rule %s", name)
		}
	}
	for name := range outside {
		if !slices.Contains(names, name) {
			t.Errorf("no rule %s", name)
		}
	}
}

// The same for the control plane: no schedule claims what is not so, undoes a release or leaves a gate behind.
func TestNoScheduleOfTheControlPlaneBreaksAPromise(t *testing.T) {
	claimed := 0
	for _, s := range Scenarios() {
		if b := s.Pact; b == nil || !s.Quick || b.Records > 1 || b.SrcRestarts+b.DstRestarts+b.Restores > 0 {
			continue // testkit model --quick
		}
		r := s.Search(Limits{Deadline: time.Now().Add(time.Minute)})
		switch {
		case r.Violation != nil:
			t.Errorf("%s: %s\n%s", s.Name, r.Violation, strings.Join(r.Trace, "\n"))
		case !r.Exhaustive:
			t.Errorf("%s: not finished after %d states", s.Name, r.States)
		}
		claimed += r.Acks
	}
	if claimed < 50 {
		t.Errorf("%d states claim SYNC beside an acknowledged record: that proves nothing", claimed)
	}
}

func TestAClaimedStartIsClaimed(t *testing.T) {
	p := newPact(&PactBounds{Messages: 2, Evidence: 1, Commands: 4, StartsClaimed: true}, nil)
	if d, _ := p.described(); d.Effective != mirror.TypeSync || d.T.Clock == 0 || len(p.net)+len(p.proofs) > 0 {
		t.Errorf("the start shows %+v", d)
	}
}

// A step of the control plane leaves the state it starts from as it was: machines are copied in depth.
func TestStepsOfThePactLeaveTheirOrigin(t *testing.T) {
	bounds := PactBounds{Records: 1, Messages: 2, Evidence: 1, Releases: 1, Changes: 2, Elections: 1, SrcRestarts: 1, DstRestarts: 1, Ticks: 1, Commands: 4}
	level := []*pact{newPact(&bounds, nil)}
	for range 6 {
		var next []*pact
		for _, p := range level[:min(len(level), 30)] {
			p.srcNamed, p.dstNamed = nil, nil
			before, _ := p.key(nil)
			for _, a := range p.enabled() {
				n := p.fork()
				n.do(a)
				n.key(nil)
				next = append(next, n)
			}
			p.srcNamed, p.dstNamed = nil, nil
			if after, _ := p.key(nil); after != before {
				t.Fatal("a step changed the state it started from")
			}
		}
		level = next
	}
}

// A field that was renamed would silently tell states apart again.
func TestFieldsLeftOutOfAStateExist(t *testing.T) {
	known := map[string]bool{}
	var note func(reflect.Type)
	note = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Slice, reflect.Array:
			note(of.Elem())
		case reflect.Map, reflect.Pointer:
			note(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				known[of.String()+"."+of.Field(i).Name] = true
				note(of.Field(i).Type)
			}
		default:
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[highwater.State](), reflect.TypeFor[partition.State](), reflect.TypeFor[partition.View](),
		reflect.TypeFor[highwater.PublishFloor](), reflect.TypeFor[highwater.ReportFloor](), reflect.TypeFor[partition.MirrorAnswered]()} {
		note(of)
	}
	names := append(slices.Clone(unread), unreadAtOne...)
	for _, name := range forgotten {
		names = append(names, "highwater.soft."+name)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[registration.State](), reflect.TypeFor[mirror.State](), reflect.TypeFor[mirror.RegisterAnswered](), reflect.TypeFor[mirror.UnregisterAnswered]()} {
		note(of)
	}
	names = append(names, unreadInPact...)
	for _, name := range names {
		if !known[name] {
			t.Errorf("no field %s", name)
		}
	}
}
