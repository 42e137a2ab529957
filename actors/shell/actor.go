package shell

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/protocol/perr"
)

const (
	eventsPerSnapshot = 10_000            // D12
	timerGrain        = int64(10_000_000) // ns: a purgatory of ten thousand waiters arms hundreds of timers, not thousands
	panicText         = "the partition restarts after an internal error; try again"
)

// machineActor drives one machine: decide, apply at once, append without waiting, early effects now,
// late effects first in first out behind the newest ticket (D1). One instance lives from a (re)start to
// the next; only tickets survive it.
type machineActor[S, C, E, F any] struct {
	spec *Spec[S, C, E, F]
	ref  *Ref[C]

	state   *S          // nil until replayed
	durable journal.Seq // what this instance has been told; late effects are released by it
	late    []promise[F]
	handles map[core.RequestID]func(any) // outside the machine, so that they outlive its panic (D2)
	armed   map[int64]bool
	events  int // since the newest snapshot
}

// promise is what may be done once everything up to seq is on disk.
type promise[F any] struct {
	seq     journal.Seq
	effects []F
}

// Receive handles one message. Nothing in it waits.
func (a *machineActor[S, C, E, F]) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.durable, _ = a.ref.tickets.read()
		a.ref.tickets.starts++
		a.replay()
		a.tryFinish(c)
	case *actor.Restarting:
		// The failing message is lost to protoactor: without this its asker would wait for ever (I54).
		a.abandon(Failed{Code: perr.NotLeaderOrFollower, Text: panicText})
	case tell[C]:
		if a.alive() && a.accepts(m.cmd) {
			a.decide(m.cmd)
		}
	case ask[C]:
		if !a.alive() || !a.accepts(m.cmd) {
			m.reply(a.refusal())
			return
		}
		a.handles[m.ref] = m.reply
		a.decide(m.cmd)
	case cancel[C]:
		delete(a.handles, m.ref)
		if a.alive() {
			a.decide(m.cmd)
		}
	case tick:
		delete(a.armed, m.at)
		if a.alive() {
			a.decide(a.spec.Tick)
		}
	case durable:
		a.ref.tickets.posted.Store(false)
		a.settled(c)
	case snap:
		if a.alive() && a.events > 0 {
			a.snapshot()
		}
	case finish:
		a.ref.tickets.finishing = append(a.ref.tickets.finishing, m.done)
		a.tryFinish(c)
	case *actor.Stopping:
	case *actor.Stopped: // the name is free again
		a.ref.system.forget(a.ref.pid)
		for _, done := range a.ref.tickets.finishing {
			done()
		}
	default:
		panic(fmt.Sprintf("shell: %s received %T", a.ref.id, m))
	}
}

// alive is false between a panic and the completed replay, and for ever after a volume error.
func (a *machineActor[S, C, E, F]) alive() bool {
	if a.state == nil {
		return false
	}
	_, err := a.ref.tickets.read()
	return err == nil
}

func (a *machineActor[S, C, E, F]) accepts(cmd C) bool {
	return a.spec.Accept == nil || a.spec.Accept(cmd)
}

func (a *machineActor[S, C, E, F]) refusal() Failed {
	if _, err := a.ref.tickets.read(); err != nil {
		return storageFailed(a.ref.id, err)
	}
	return Failed{Code: perr.NotLeaderOrFollower, Text: panicText}
}

func storageFailed(id string, err error) Failed {
	return Failed{Code: perr.KafkaStorageError, Text: fmt.Sprintf("the volume under %s failed: %v", id, err)}
}

// replay rebuilds the state, unless the writer still holds entries of the instance before.
func (a *machineActor[S, C, E, F]) replay() {
	t := a.ref.tickets
	if _, err := t.read(); err != nil {
		a.lost(err)
		return
	}
	if a.durable < t.issued {
		return // settled comes back here
	}
	state := a.spec.Machine.Init(a.ref.id)
	last := t.issued
	err := a.spec.Journal.Replay(a.spec.Stream,
		func(snapshot []byte) (err error) {
			state, err = a.spec.Machine.Restore(a.ref.id, snapshot)
			return err
		},
		func(seq journal.Seq, entry core.Entry) error {
			ev, err := a.spec.Machine.Decode(entry)
			if err != nil {
				return err
			}
			a.spec.Machine.Apply(state, ev)
			a.events++
			last = seq
			return nil
		})
	if err != nil {
		t.settle(0, fmt.Errorf("replay of %s: %w", a.spec.Stream, err))
		_, err := t.read()
		a.lost(err)
		return
	}
	t.issued, a.durable = last, last
	t.durable.Store(int64(last))
	a.state = state
	if a.spec.Started != nil {
		a.spec.Started(state, t.starts > 1)
	}
}

func (a *machineActor[S, C, E, F]) decide(cmd C) {
	m := &a.spec.Machine
	out := m.Decide(a.state, a.ref.system.Clock.Now(), cmd)
	var entries []core.Entry
	for _, ev := range out.Events {
		m.Apply(a.state, ev)
		if entry, ok := m.Encode(ev); ok {
			entries = append(entries, entry)
			a.log(ev, entry)
		}
		if a.spec.Observe != nil {
			a.spec.Observe(ev)
		}
	}
	if len(entries) > 0 {
		if seq := a.spec.Journal.Append(a.spec.Stream, entries, a.done); seq > a.ref.tickets.issued {
			a.ref.tickets.issued = seq
		}
		a.events += len(entries)
	}
	a.perform(out.Early)
	if len(out.Late) > 0 {
		if seq := a.ref.tickets.issued; seq > a.durable || len(a.late) > 0 {
			a.late = append(a.late, promise[F]{seq, out.Late})
		} else {
			a.perform(out.Late)
		}
	}
	if a.events >= eventsPerSnapshot {
		a.snapshot()
	}
}

// done runs on the writer's goroutine.
func (a *machineActor[S, C, E, F]) done(seq journal.Seq, err error) {
	if a.ref.tickets.settle(seq, err) {
		a.ref.system.actors.Root.Send(a.ref.pid, durable{})
	}
}

// settled releases what became durable, or gives the actor up.
func (a *machineActor[S, C, E, F]) settled(c actor.Context) {
	seq, err := a.ref.tickets.read()
	a.durable = max(a.durable, seq)
	if a.state == nil {
		a.replay()
		a.tryFinish(c)
		return
	}
	n, size := 0, 0
	for ; n < len(a.late) && a.late[n].seq <= a.durable; n++ {
		size += len(a.late[n].effects)
	}
	var effects []F
	if n == 1 {
		effects = a.late[0].effects
	} else if n > 1 {
		effects = make([]F, 0, size)
		for _, p := range a.late[:n] {
			effects = append(effects, p.effects...)
		}
	}
	a.late = a.late[n:]
	if n > 1 && a.spec.Compact != nil {
		effects = a.spec.Compact(effects)
	}
	a.perform(effects)
	if err != nil {
		a.lost(err)
	}
	a.tryFinish(c)
}

func (a *machineActor[S, C, E, F]) perform(effects []F) {
	for _, f := range effects {
		if reply, ok := any(f).(core.Reply); ok {
			ref := reply.ReplyTo()
			if handle := a.handles[ref]; handle != nil {
				delete(a.handles, ref)
				handle(f)
			}
			continue
		}
		if at, ok := a.spec.Timer(f); ok {
			a.arm(at)
			continue
		}
		a.spec.Perform(f)
	}
}

func (a *machineActor[S, C, E, F]) arm(at int64) {
	at = (at + timerGrain - 1) / timerGrain * timerGrain
	if a.armed[at] {
		return
	}
	a.armed[at] = true
	a.ref.system.Clock.Wake(at, func() { a.ref.system.actors.Root.Send(a.ref.pid, tick{at}) })
}

// lost fails everybody and tells the owner, once over all restarts.
func (a *machineActor[S, C, E, F]) lost(err error) {
	a.abandon(storageFailed(a.ref.id, err))
	if t := a.ref.tickets; !t.reported {
		t.reported = true
		a.spec.Lost(err)
	}
}

// abandon fails all who wait and forgets what was promised.
func (a *machineActor[S, C, E, F]) abandon(why Failed) {
	handles := a.handles
	a.handles, a.late = map[core.RequestID]func(any){}, nil
	for _, handle := range handles {
		handle(why)
	}
}

func (a *machineActor[S, C, E, F]) snapshot() {
	a.spec.Journal.Snapshot(a.spec.Stream, a.spec.Machine.Snapshot(a.state), nil)
	a.events = 0
}

// tryFinish completes a Close once everything accepted before it is on disk and answered.
func (a *machineActor[S, C, E, F]) tryFinish(c actor.Context) {
	t := a.ref.tickets
	_, err := t.read()
	if len(t.finishing) == 0 || err == nil && a.durable < t.issued {
		return
	}
	a.abandon(stopped(a.ref.id))
	if err == nil && a.state != nil && a.events > 0 {
		a.snapshot()
	}
	c.Stop(c.Self())
}

// log writes the one line of a durable event. Record batches are named, not printed.
func (a *machineActor[S, C, E, F]) log(ev E, entry core.Entry) {
	logger, ctx := a.ref.system.Logger, context.Background()
	if !logger.Enabled(ctx, a.spec.Level) {
		return
	}
	name := fmt.Sprintf("%T", ev)
	attrs := []slog.Attr{slog.String("actor", a.ref.id)}
	if entry.Kind == core.EntryBatch {
		attrs = append(attrs, slog.Int64("base", int64(entry.Base)), slog.Int64("last", int64(entry.Last)), slog.Int("bytes", len(entry.Payload)))
	} else {
		attrs = append(attrs, slog.String("event", brief(ev)))
	}
	logger.LogAttrs(ctx, a.spec.Level, strings.TrimPrefix(name, "*"), attrs...)
}
