package shell

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/protocol/perr"
)

// Failed is what a reply function gets when the machine will not answer: its actor panicked, lost its
// volume, was stopped, or had already stopped when it was asked (I54, I55).
type Failed struct {
	Code perr.Code // retriable
	Text string
}

// Ref is the address of one event-sourced actor. All methods are safe from any goroutine and never block.
//
// A message is accepted or refused as a whole: everything accepted is in the mailbox before the message
// that closes the actor, so nothing vanishes in a stopped mailbox (protoactor drops such messages
// without a dead letter).
type Ref[C any] struct {
	id      string
	system  *System
	pid     *actor.PID
	tickets *tickets

	mu     sync.RWMutex
	closed bool
}

// ID is the identity: PID, journal stream, log attribute.
func (r *Ref[C]) ID() string { return r.id }

// Durable is the newest durable sequence of the actor's stream.
func (r *Ref[C]) Durable() journal.Seq { return journal.Seq(r.tickets.durable.Load()) }

// Tell hands over a command that nobody waits for. A closed actor forgets it.
func (r *Ref[C]) Tell(cmd C) { r.post(tell[C]{cmd}) }

// Ask hands over a command whose machine answers with an effect that is a core.Reply. Exactly one of
// that effect or Failed reaches reply, on the actor's goroutine: it must not block. A closed actor
// answers Failed on the caller's goroutine.
func (r *Ref[C]) Ask(build func(core.RequestID) C, reply func(any)) core.RequestID {
	ref := r.system.NextRequest()
	r.AskAs(ref, build(ref), reply)
	return ref
}

// AskAs is Ask with a reference that the caller drew by System.NextRequest and built into cmd.
func (r *Ref[C]) AskAs(ref core.RequestID, cmd C, reply func(any)) {
	if !r.post(ask[C]{ref: ref, cmd: cmd, reply: reply}) {
		reply(stopped(r.id))
	}
}

// Cancel forgets the reply function of an earlier Ask, unless it has been answered, and hands over cmd,
// which tells the machine to forget it too.
func (r *Ref[C]) Cancel(ref core.RequestID, cmd C) { r.post(cancel[C]{ref: ref, cmd: cmd}) }

// Snapshot asks for a snapshot now, if anything was decided since the last one: what came before may then
// be recycled (D12).
func (r *Ref[C]) Snapshot() { r.post(snap{}) }

// Poison tells the actor that its journal is lost, as another actor on it has found out. One that has
// nothing queued there would never hear of it, and whoever waits for it would wait for ever.
func (r *Ref[C]) Poison(err error) {
	if r.tickets.settle(0, err) {
		r.system.actors.Root.Send(r.pid, durable{})
	}
}

// Close refuses everything from now on. What was accepted before is decided, made durable and answered;
// then what still waits fails, a snapshot is written, and done is called once the name may be used again.
// Only the first call closes; done of a later one is not called.
func (r *Ref[C]) Close(done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.system.actors.Root.Send(r.pid, finish{done})
	}
}

func (r *Ref[C]) post(message any) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return false
	}
	r.system.actors.Root.Send(r.pid, message)
	return true
}

func stopped(id string) Failed {
	return Failed{Code: perr.NotLeaderOrFollower, Text: id + " is stopped on this broker; refresh metadata and try again"}
}

// What travels in the mailbox of an actor with commands C.
type (
	tell[C any] struct{ cmd C }
	ask[C any]  struct {
		ref   core.RequestID
		cmd   C
		reply func(any)
	}
	cancel[C any] struct {
		ref core.RequestID
		cmd C
	}
	tick    struct{ at int64 }
	durable struct{}
	snap    struct{}
	finish  struct{ done func() }
)
