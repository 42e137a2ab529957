package transaction

import (
	"testing"

	"lockstep/protocol/perr"
)

// KIP-98: one producer at a time; what an older one has open is aborted under an epoch that it does not have.
func TestAnOlderProducerIsFenced(t *testing.T) {
	w := newWorld(t)
	old := w.init("a")
	w.add(old, part(0, 0))
	ref := w.next()
	w.do(InitProducerID{Ref: ref, ID: "a", Fresh: w.fresh, TimeoutMs: 60_000, ExpectedID: -1})
	if m := w.markers[0].(WriteMarker); m.Commit || m.Epoch != old.epoch+1 || w.code(ref) != unanswered {
		t.Fatalf("%+v, answered %v", m, w.code(ref))
	}
	w.settle(MarkerCommitted)
	a, _ := reply[Initialized](w, ref)
	if a.Code != 0 || a.ProducerID != old.pid || a.Epoch != old.epoch+2 {
		t.Fatalf("%+v", a)
	}
	if code := w.add(old, part(0, 0)); code != perr.ProducerFenced {
		t.Errorf("add: %v", code)
	}
	for _, bump := range []bool{true, false} {
		if end := w.end(old, true, bump); w.code(end) != perr.ProducerFenced {
			t.Errorf("end, bump %v: %v", bump, w.code(end))
		}
	}
	if _, code := w.reinit(old); code != perr.ProducerFenced {
		t.Errorf("init: %v", code)
	}
	if code := w.add(producer{"a", 1, 0}, part(0, 0)); code != perr.InvalidProducerIdMapping {
		t.Errorf("another producer id: %v", code) // F49
	}
	if code := w.add(producer{"b", old.pid, 0}, part(0, 0)); code != perr.InvalidProducerIdMapping {
		t.Errorf("an unknown id: %v", code)
	}
}

func TestAProducerGoesOnAfterAnError(t *testing.T) { // KIP-360
	w := newWorld(t)
	p := w.init("a")
	next, code := w.reinit(p)
	if code != 0 || next.epoch != p.epoch+1 {
		t.Fatalf("%+v %v", next, code)
	}
	if retry, code := w.reinit(p); code != 0 || retry != next {
		t.Fatalf("a retry: %+v %v", retry, code)
	}
	w.init("a")
	if _, code := w.reinit(next); code != perr.ProducerFenced {
		t.Fatalf("after a successor: %v", code)
	}
}

// What an end is answered with is the end's own, also when a successor waited for it longer: its epoch is nobody else's.
func TestAnEndIsNotAnsweredWithASuccessorsEpoch(t *testing.T) {
	for _, own := range []bool{true, false} {
		w := newWorld(t)
		p := w.init("a")
		w.add(p, part(0, 0))
		if own {
			w.end(p, false, true) // the first try, whose answer is not heard
		}
		successor := w.next()
		w.do(InitProducerID{Ref: successor, ID: "a", Fresh: w.fresh, TimeoutMs: 60_000, ExpectedID: -1})
		end := w.end(p, false, true)
		w.settle(MarkerCommitted)
		next, _ := reply[Initialized](w, successor)
		told, _ := reply[Ended](w, end)
		if next.Code != 0 || told.Code != 0 || told.Epoch != p.epoch+1 || next.Epoch != p.epoch+2 {
			t.Fatalf("own %v: the successor has %+v, the end is answered with %+v", own, next, told)
		}
		if code := w.add(producer{"a", told.ProducerID, told.Epoch}, part(0, 0)); code != perr.ProducerFenced {
			t.Fatalf("own %v: the predecessor writes on: %v", own, code)
		}
	}
}

// A producer that was fenced and wants to go on is told so, and what its successor has open stays open.
func TestAFencedProducerEndsNothingOfItsSuccessor(t *testing.T) {
	w := newWorld(t)
	old := w.init("a")
	p := w.init("a")
	w.add(p, part(0, 0))
	if _, code := w.reinit(old); code != perr.ProducerFenced || w.phase("a") != Ongoing {
		t.Fatalf("told %v, and the transaction is %s", code, w.phase("a"))
	}
	end := w.end(p, true, true)
	w.settle(MarkerCommitted)
	if w.code(end) != 0 {
		t.Fatal(w.code(end))
	}
}
