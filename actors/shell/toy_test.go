package shell

import (
	"encoding/binary"
	"log/slog"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/memory"
)

// The toy machine adds numbers. Sum is hard, seen is soft.
type (
	toyState struct {
		sum  int64
		seen int64
	}
	toyCommand interface{ isToyCommand() }
	addNumber  struct {
		ref core.RequestID
		n   int64
	}
	askSum    struct{ ref core.RequestID } // answered late without an event
	peek      struct{ ref core.RequestID } // answered early
	blowUp    struct{ ref core.RequestID }
	parkAsker struct{ ref core.RequestID } // never answered by the machine
	wakeAt    struct{ at int64 }
	toyTick   struct{}

	toyEvent    interface{ isToyEvent() }
	numberAdded struct{ n int64 }
	askerSeen   struct{}

	toyEffect interface{ isToyEffect() }
	sumIs     struct {
		ref core.RequestID
		sum int64
	}
	announce struct{ sum int64 }
	timerAt  struct{ at int64 }
	ticked   struct{}
)

func (addNumber) isToyCommand() {}
func (askSum) isToyCommand()    {}
func (peek) isToyCommand()      {}
func (blowUp) isToyCommand()    {}
func (parkAsker) isToyCommand() {}
func (wakeAt) isToyCommand()    {}
func (toyTick) isToyCommand()   {}
func (numberAdded) isToyEvent() {}
func (askerSeen) isToyEvent()   {}
func (sumIs) isToyEffect()      {}
func (announce) isToyEffect()   {}
func (timerAt) isToyEffect()    {}
func (ticked) isToyEffect()     {}

func (e sumIs) ReplyTo() core.RequestID { return e.ref }

func toyMachine() core.Machine[toyState, toyCommand, toyEvent, toyEffect] {
	type outcome = core.Outcome[toyEvent, toyEffect]
	return core.Machine[toyState, toyCommand, toyEvent, toyEffect]{
		Name: "toy",
		Init: func(string) *toyState { return &toyState{} },
		Decide: func(s *toyState, _ core.Now, cmd toyCommand) outcome {
			switch c := cmd.(type) {
			case addNumber:
				sum := s.sum + c.n
				return outcome{Events: []toyEvent{numberAdded{c.n}}, Early: []toyEffect{announce{sum}}, Late: []toyEffect{sumIs{c.ref, sum}}}
			case askSum:
				return outcome{Events: []toyEvent{askerSeen{}}, Late: []toyEffect{sumIs{c.ref, s.sum}}}
			case peek:
				return outcome{Early: []toyEffect{sumIs{c.ref, s.sum}}}
			case blowUp:
				panic("blown up")
			case parkAsker:
				return outcome{}
			case wakeAt:
				return outcome{Early: []toyEffect{timerAt{c.at}}}
			case toyTick:
				return outcome{Late: []toyEffect{ticked{}}}
			default:
				panic("unknown command")
			}
		},
		Apply: func(s *toyState, ev toyEvent) {
			switch e := ev.(type) {
			case numberAdded:
				s.sum += e.n
			case askerSeen:
				s.seen++
			default:
				panic("unknown event")
			}
		},
		Encode: func(ev toyEvent) (core.Entry, bool) {
			e, ok := ev.(numberAdded)
			if !ok {
				return core.Entry{}, false
			}
			return core.Entry{Kind: core.EntryEvent, Payload: binary.BigEndian.AppendUint64(nil, uint64(e.n))}, true
		},
		Decode: func(e core.Entry) (toyEvent, error) {
			return numberAdded{int64(binary.BigEndian.Uint64(e.Payload))}, nil
		},
		Snapshot: func(s *toyState) []byte { return binary.BigEndian.AppendUint64(nil, uint64(s.sum)) },
		Restore: func(_ string, b []byte) (*toyState, error) {
			return &toyState{sum: int64(binary.BigEndian.Uint64(b))}, nil
		},
	}
}

// world is one toy actor and what it did to the world.
type world struct {
	t       *testing.T
	clock   *ManualClock
	system  *System
	journal *memory.Journal
	ref     *Ref[toyCommand]
	done    chan toyEffect // what Perform was given
	starts  chan startOf
	lost    chan error
	exits   chan string
}

type startOf struct {
	sum   int64
	again bool
}

func newWorld(t *testing.T, j *memory.Journal) *world {
	w := &world{t: t, journal: j, clock: NewManualClock(core.Now{Mono: 1, Wall: 1_000_000}),
		done: make(chan toyEffect, 100_000), starts: make(chan startOf, 10), lost: make(chan error, 10), exits: make(chan string, 10)}
	w.system = NewSystem(w.clock, slog.New(slog.DiscardHandler))
	w.system.Exit = func(reason string) { w.exits <- reason }
	w.ref = w.spawn("toy")
	return w
}

func (w *world) spawn(id string) *Ref[toyCommand] {
	return Spawn(w.system, Spec[toyState, toyCommand, toyEvent, toyEffect]{
		ID: id, Machine: toyMachine(), Journal: w.journal, Stream: journal.Stream("control/" + id), Tick: toyTick{},
		Timer:   func(f toyEffect) (int64, bool) { at, ok := f.(timerAt); return at.at, ok },
		Perform: func(f toyEffect) { w.done <- f },
		Started: func(s *toyState, again bool) { w.starts <- startOf{s.sum, again} },
		Lost:    func(err error) { w.lost <- err },
	})
}

func (w *world) ask(build func(core.RequestID) toyCommand) chan any {
	answer := make(chan any, 1)
	w.ref.Ask(build, func(reply any) { answer <- reply })
	return answer
}

func (w *world) add(n int64) chan any {
	return w.ask(func(ref core.RequestID) toyCommand { return addNumber{ref, n} })
}

// sum reads the applied state, and is a barrier behind everything sent before.
func (w *world) sum() int64 {
	return (<-w.ask(func(ref core.RequestID) toyCommand { return peek{ref} })).(sumIs).sum
}

func (w *world) silent(answers ...chan any) {
	w.t.Helper()
	for i, answer := range answers {
		select {
		case got := <-answer:
			w.t.Fatalf("answer %d came early: %v", i, got)
		default:
		}
	}
}

func (w *world) sumAfterRestart() {
	for {
		if (<-w.starts).again {
			return
		}
	}
}

func countEntries(n *int) func(journal.Seq, core.Entry) error {
	return func(journal.Seq, core.Entry) error { *n++; return nil }
}
