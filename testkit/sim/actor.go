package sim

import (
	"fmt"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/shell"
	"lockstep/journal"
	"lockstep/protocol/perr"
)

// actor drives one machine as actors/shell does: decide, apply at once, append without waiting, early
// effects now, late effects first in first out behind the newest ticket (D1).
type actor[S, C, E, F any] struct {
	spec *spec[S, C, E, F]
	box  *mailbox
	home *process
	hash uint64 // of its id

	state    *S // nil while a restart in place waits for what the instance before had queued (R12)
	issued   journal.Seq
	durable  journal.Seq
	told     journal.Seq // by the volume; the actor hears of it with its next message
	posted   bool
	err      error
	reported bool
	closed   bool
	starts   int
	late     []promise[F]
	handles  map[core.RequestID]func(any)
	armed    map[int64]bool
	closing  []func()
	retired  bool // its mailbox still drains, but it takes no message any more
	events   int

	entries   []core.Entry // of one decision; the store copies them
	onDone    func(journal.Seq, error)
	onSettled func()
}

type promise[F any] struct {
	seq     journal.Seq
	effects []F
}

// spec is shell.Spec without what only a real process has.
type spec[S, C, E, F any] struct {
	id      string
	machine core.Machine[S, C, E, F]
	store   store
	stream  string
	tick    C
	accept  func(C) bool
	timer   func(F) (int64, bool)
	perform func(F)
	observe func(E)
	compact func([]F) []F
	started func(s *S, again bool)
	lost    func(error)
}

// store is a volume or the control quorum.
type store interface {
	append(stream string, entries []core.Entry, done func(journal.Seq, error)) journal.Seq
	snapshot(stream string, state []byte)
	replay(stream string, snapshot func([]byte) error, entry func(journal.Seq, core.Entry) error) error
}

const panicText = "the partition restarts after an internal error; try again"

func spawn[S, C, E, F any](p *process, s spec[S, C, E, F]) *actor[S, C, E, F] {
	a := &actor[S, C, E, F]{spec: &s, box: p.newMailbox(s.id), home: p, hash: hashName(s.id), handles: map[core.RequestID]func(any){}, armed: map[int64]bool{}}
	a.onDone, a.onSettled = a.done, a.settled
	p.audits = append(p.audits, a.replayLaw)
	p.boxes = append(p.boxes, a.box)
	return a
}

// start replays. It runs once after spawn, and again after a panic.
func (a *actor[S, C, E, F]) start() {
	a.starts++
	a.replay()
	a.tryClose()
}

func (a *actor[S, C, E, F]) tell(cmd C) {
	if a.closed {
		return
	}
	a.box.post(func() {
		if !a.retired && a.alive() && (a.spec.accept == nil || a.spec.accept(cmd)) {
			a.decide(cmd)
		}
	})
}

// ask hands over a command; reply is called exactly once unless the process dies.
func (a *actor[S, C, E, F]) ask(build func(core.RequestID) C, reply func(any)) core.RequestID {
	ref := a.home.nextRequest()
	a.askAs(ref, build(ref), reply)
	return ref
}

func (a *actor[S, C, E, F]) askAs(ref core.RequestID, cmd C, reply func(any)) {
	if a.closed {
		reply(a.stopped())
		return
	}
	a.box.post(func() {
		switch {
		case a.retired:
			return
		case !a.alive() || a.spec.accept != nil && !a.spec.accept(cmd):
			reply(a.refusal())
			return
		}
		a.handles[ref] = reply
		a.decide(cmd)
	})
}

// cancel forgets the reply function of an earlier ask and hands over what tells the machine.
func (a *actor[S, C, E, F]) cancel(ref core.RequestID, cmd C) {
	if a.closed {
		return
	}
	a.post(func() {
		delete(a.handles, ref)
		if a.alive() {
			a.decide(cmd)
		}
	})
}

func (a *actor[S, C, E, F]) post(f func()) {
	a.box.post(func() {
		if !a.retired {
			f()
		}
	})
}

func (a *actor[S, C, E, F]) alive() bool { return a.state != nil && a.err == nil }

func (a *actor[S, C, E, F]) stopped() shell.Failed {
	return shell.Failed{Code: perr.NotLeaderOrFollower, Text: a.spec.id + " is stopped on this broker; refresh metadata and try again"}
}

func (a *actor[S, C, E, F]) refusal() shell.Failed {
	if a.err != nil {
		return shell.Failed{Code: perr.KafkaStorageError, Text: a.err.Error()}
	}
	return shell.Failed{Code: perr.NotLeaderOrFollower, Text: panicText}
}

func (a *actor[S, C, E, F]) replay() {
	if a.err != nil {
		a.lost()
		return
	}
	if a.durable < a.issued {
		return // settled comes back here
	}
	state, last := a.rebuild()
	a.issued, a.durable, a.told, a.state = last, last, last, state
	if a.spec.started != nil {
		a.spec.started(state, a.starts > 1)
	}
}

// rebuild replays the stream into a fresh state.
func (a *actor[S, C, E, F]) rebuild() (state *S, last journal.Seq) {
	state, last = a.spec.machine.Init(a.spec.id), a.issued
	err := a.spec.store.replay(a.spec.stream, func(snapshot []byte) (err error) {
		state, err = a.spec.machine.Restore(a.spec.id, snapshot)
		return err
	}, func(seq journal.Seq, entry core.Entry) error {
		ev, err := a.spec.machine.Decode(entry)
		if err != nil {
			return err
		}
		a.spec.machine.Apply(state, ev)
		last = seq
		return nil
	})
	if err != nil {
		a.home.site.world.found("I51", "%s cannot be replayed: %v", a.spec.id, err)
	}
	return state, last
}

func (a *actor[S, C, E, F]) decide(cmd C) {
	m := &a.spec.machine
	p := a.home
	p.site.world.mix(a.hash)
	out := m.Decide(a.state, p.clock(), cmd)
	entries := a.entries[:0]
	for _, ev := range out.Events {
		m.Apply(a.state, ev)
		if entry, ok := m.Encode(ev); ok {
			entries = append(entries, entry)
			if p.site.world.tells && entry.Kind != core.EntryBatch && strings.HasPrefix(a.spec.stream, "control/") {
				p.site.world.say("%s %s: %s", p.site.id, a.spec.id, clip(ev))
			}
		}
		if a.spec.observe != nil {
			a.spec.observe(ev)
		}
	}
	if len(entries) > 0 {
		a.entries = entries
		a.issued = a.spec.store.append(a.spec.stream, entries, a.onDone)
		a.events += len(entries)
		p.site.world.mix(uint64(a.issued))
	}
	a.perform(out.Early)
	if len(out.Late) > 0 {
		if a.issued > a.durable || len(a.late) > 0 {
			a.late = append(a.late, promise[F]{a.issued, out.Late})
		} else {
			a.perform(out.Late)
		}
	}
	if a.events >= p.site.world.options.SnapshotEvery {
		a.spec.store.snapshot(a.spec.stream, m.Snapshot(a.state))
		a.events = 0
	}
}

// done is the journal's word. The actor hears of it in its turn.
func (a *actor[S, C, E, F]) done(seq journal.Seq, err error) {
	a.told = max(a.told, seq)
	if err != nil && a.err == nil {
		a.err = err
	}
	if !a.posted {
		a.posted = true
		a.box.post(a.onSettled)
	}
}

func (a *actor[S, C, E, F]) settled() {
	if a.retired {
		return
	}
	a.posted = false
	a.durable = max(a.durable, a.told)
	if a.state == nil {
		a.replay()
		a.tryClose()
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
	if n > 1 && a.spec.compact != nil {
		effects = a.spec.compact(effects)
	}
	a.perform(effects)
	if a.err != nil {
		a.lost()
	}
	a.tryClose()
}

func (a *actor[S, C, E, F]) perform(effects []F) {
	for _, f := range effects {
		if reply, ok := any(f).(core.Reply); ok {
			ref := reply.ReplyTo()
			if handle := a.handles[ref]; handle != nil {
				delete(a.handles, ref)
				handle(f)
			}
			continue
		}
		if at, ok := a.spec.timer(f); ok {
			a.arm(at)
			continue
		}
		a.spec.perform(f)
	}
}

const timerGrain = 10 * ms

func (a *actor[S, C, E, F]) arm(at int64) {
	at = (at + timerGrain - 1) / timerGrain * timerGrain
	if a.armed[at] {
		return
	}
	a.armed[at] = true
	a.home.wake(at, func() {
		a.post(func() {
			delete(a.armed, at)
			if a.alive() {
				a.decide(a.spec.tick)
			}
		})
	})
}

// panicked is a failure inside the machine: the message is lost, all who wait are failed, and the next
// instance replays once the writer has nothing left of this one (R12).
func (a *actor[S, C, E, F]) panicked() {
	a.post(func() {
		if a.state == nil {
			return
		}
		a.abandon(shell.Failed{Code: perr.NotLeaderOrFollower, Text: panicText})
		a.state, a.armed = nil, map[int64]bool{}
		a.start()
	})
}

func (a *actor[S, C, E, F]) abandon(why shell.Failed) {
	handles := a.handles
	a.handles, a.late = map[core.RequestID]func(any){}, nil
	for _, ref := range sortedKeys(handles) {
		handles[ref](why)
	}
}

func (a *actor[S, C, E, F]) lost() {
	a.abandon(a.refusal())
	if !a.reported {
		a.reported = true
		a.spec.lost(a.err)
	}
}

// poison tells an actor that another one found its volume lost.
func (a *actor[S, C, E, F]) poison(err error) { a.done(0, err) }

// close refuses everything from now on and calls done when what was accepted before is on disk and answered.
func (a *actor[S, C, E, F]) close(done func()) {
	if a.closed {
		return
	}
	a.closed = true
	a.post(func() {
		a.closing = append(a.closing, done)
		a.tryClose()
	})
}

func (a *actor[S, C, E, F]) tryClose() {
	if len(a.closing) == 0 || a.err == nil && a.durable < a.issued {
		return
	}
	a.abandon(a.stopped())
	a.retired = true
	for _, done := range a.closing {
		done()
	}
}

// replayLaw is I49: what a replay of everything appended makes is what lives now.
func (a *actor[S, C, E, F]) replayLaw() {
	if a.state == nil || a.err != nil || a.closed { // a stream may be dropped while its actor still closes
		return
	}
	replayed, _ := a.rebuild()
	live, again := a.spec.machine.Snapshot(a.state), a.spec.machine.Snapshot(replayed)
	if string(live) != string(again) {
		a.home.site.world.found("I49", "%s: a replay of its stream is another state than the live one (%d and %d bytes)", a.spec.id, len(again), len(live))
	}
}

func (a *actor[S, C, E, F]) String() string {
	return fmt.Sprintf("%s at %d of %d", a.spec.id, a.durable, a.issued)
}

// clip is an event as a line of the narrative shows it.
func clip(ev any) string {
	line := fmt.Sprintf("%T%+v", ev, ev)
	if len(line) > 300 {
		line = line[:300] + "…"
	}
	return line
}
