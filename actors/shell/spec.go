package shell

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"lockstep/actors/core"
	"lockstep/journal"
)

// Spec says what one event-sourced actor is made of. Every function runs on the actor's goroutine and
// must not block.
type Spec[S, C, E, F any] struct {
	ID      string // identity: PID, log attribute; unique in the process
	Machine core.Machine[S, C, E, F]
	Journal journal.Journal
	Stream  journal.Stream
	Level   slog.Level // of the one line that each durable event is logged with
	Tick    C          // what a due timer is decided as
	// Accept may refuse a command that was sent to the instance before a panic. Optional; a refused Ask
	// is answered like any other while the actor restarts.
	Accept func(C) bool
	// Timer says at which mono instant an effect asks to be woken; ok is false for all other effects.
	Timer func(f F) (at int64, ok bool)
	// Perform does an effect that is neither a reply nor a timer.
	Perform func(f F)
	// Observe sees every event once it is applied, replays excepted: metrics are views of events. Optional.
	Observe func(E)
	// Compact may drop effects that later ones of the same release make pointless. Optional.
	Compact func(released []F) []F
	// Started is called after each replay, before the first command; again says that a panic led to it.
	Started func(s *S, again bool)
	// Lost is called once, with the error that the journal answered. The actor answers
	// KAFKA_STORAGE_ERROR from then on and never retries: what failed to sync may be half there (D4).
	Lost func(err error)
}

// Spawn starts the actor; its first act is the replay of its stream.
func Spawn[S, C, E, F any](system *System, spec Spec[S, C, E, F]) *Ref[C] {
	r := &Ref[C]{id: spec.ID, system: system, tickets: &tickets{}, pid: system.actors.NewLocalPID(spec.ID)}
	system.spawn(spec.ID, func() actor.Actor {
		return &machineActor[S, C, E, F]{spec: &spec, ref: r, handles: map[core.RequestID]func(any){}, armed: map[int64]bool{}}
	})
	return r
}
