package model

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
	"lockstep/protocol/perr"
)

// tellLedger is the shell of the source's ledger.
func (p *pact) tellLedger(cmd registration.Command) {
	out := ledgers.Decide(p.src, core.Now{Mono: p.now, Wall: p.sourceClock()}, cmd)
	if len(out.Events) > 0 {
		p.src = deepCopy(p.src)
	}
	for _, ev := range out.Events {
		ledgers.Apply(p.src, ev)
		p.noteLedger(ev)
	}
	for _, e := range append(slices.Clone(out.Early), out.Late...) {
		p.performLedger(e)
	}
}

// noteLedger is I37: a release is undone only by a Register that echoes it.
func (p *pact) noteLedger(ev registration.Event) {
	switch ev := ev.(type) {
	case registration.MirrorReleased:
		p.release, p.told = ev.Number, p.now
		p.say("   the ledger releases the mirror, number %d", ev.Number)
	case registration.TopicRegistered:
		p.say("   the ledger registers it: epoch %d, generation %d, echo %d", ev.Epoch, ev.Generation, ev.Content.Echo)
		p.answered = max(p.answered, ev.Content.Echo)
		if p.answered < p.release {
			p.found("I37", "release %d was undone by Register(%d, echo %d)", p.release, ev.Generation, ev.Content.Echo)
		}
	case registration.TopicUnregistered:
		p.say("   the ledger unregisters it: generation %d", ev.Generation)
	default: // no release is made or undone
	}
}

func (p *pact) performLedger(e registration.Effect) {
	switch e := e.(type) {
	case registration.Publish:
		for _, f := range e.Facts {
			if f, ok := f.(image.RegistrationsChanged); ok && f.ID == pactTopic {
				p.leader.queue = append(slices.Clone(p.leader.queue), f.Registrations)
			}
		}
	case registration.PublishLedger:
		p.ledger = e.Ledger
	case registration.NoteRelease:
		p.tellLedger(registration.ReleasePublished{Key: e.Key, Number: e.Number, Lease: pactLease})
	case registration.NotifyReleased:
		p.send(message{toMirror: mirror.ReportReleased{Number: e.Number, Topics: e.Topics}})
	case registration.RegisterAnswered:
		c := mirror.RegisterAnswered{Topic: pactTopic, Generation: core.Generation(e.Ref), Code: e.Code, Epoch: e.Epoch, Number: e.Number, Newest: e.Newest}
		for _, g := range e.Gates {
			c.Gates = append(c.Gates, mirror.GateStart(g))
		}
		p.send(message{toMirror: c})
	case registration.UnregisterAnswered:
		p.send(message{toMirror: mirror.UnregisterAnswered{Topic: pactTopic, Generation: core.Generation(e.Ref), Code: e.Code, Newest: e.Newest, LEO: e.LEO}})
	case registration.ReleaseAnswered, registration.Described, registration.ArmTimer:
	case registration.NotifyLifted, registration.SupersedeAnswered:
		panic(fmt.Sprintf("model: %T, but nothing is held or handed over here", e))
	default:
		panic(fmt.Sprintf("model: %T", e))
	}
}

// tellMirror is the shell of the destination's mirror.
func (p *pact) tellMirror(cmd mirror.Command) {
	out := mirrors.Decide(p.dst, p.clock(), cmd)
	if len(out.Events) > 0 {
		p.dst = deepCopy(p.dst)
	}
	if p.tear > 0 && len(out.Events) > 0 {
		p.dieIn(out)
		return
	}
	for _, ev := range out.Events {
		mirrors.Apply(p.dst, ev)
		if _, durable := mirrors.Encode(ev); durable {
			p.say("   the mirror journals %T%+v", ev, ev)
		}
	}
	for _, e := range append(slices.Clone(out.Early), out.Late...) {
		p.performMirror(e)
	}
}

// dieIn ends the destination's process in the middle of a decision: what is early has happened, some events
// are on disk, and what is late never happens.
func (p *pact) dieIn(out core.Outcome[mirror.Event, mirror.Effect]) {
	kept := min(int(p.tear)-1, len(out.Events))
	p.tear = 0
	p.say("   the mirror dies, %d of %d events are on disk", kept, len(out.Events))
	for _, e := range out.Early {
		p.performMirror(e)
	}
	for _, ev := range out.Events[:kept] {
		mirrors.Apply(p.dst, ev)
	}
	p.restartMirror()
}

func (p *pact) performMirror(e mirror.Effect) {
	switch e := e.(type) {
	case mirror.Publish:
		for _, f := range e.Facts {
			topic := f.(image.MirrorTopicChanged).Topic
			p.copied.reporting, p.copied.epoch, p.copied.incarnation = topic.Reporting, topic.Epoch, topic.Incarnation
		}
	case mirror.FetchTopic:
		p.copied.mode, p.copied.session = e.Mode, e.Session
	case mirror.CreateLocalTopic:
		p.tellMirror(mirror.LocalTopicAnswered{Topic: e.Topic.ID})
	case mirror.SendRegister:
		p.send(message{toSource: registration.RegisterTopic{
			Ref: core.RequestID(e.Generation), Key: pactKey, Topic: e.Topic, Name: e.Name, Generation: e.Generation, Echo: e.Echo, Recovery: e.Recovery,
			Incarnation: e.Incarnation, MinISR: e.MinISR, Path: []core.ClusterID{"dst"}, CanGate: true, Source: registration.Source{Known: true, Name: "t", Partitions: 1},
		}})
	case mirror.SendUnregister:
		p.send(message{toSource: registration.UnregisterTopic{
			Ref: core.RequestID(e.Generation), Key: pactKey, Topic: e.Topic, Name: e.Name, Generation: e.Generation, Source: registration.Source{Known: true, Name: "t", Partitions: 1},
		}})
	case mirror.TopicsAnswered, mirror.Answered, mirror.WatchSource, mirror.ArmTimer, mirror.Described:
	case mirror.FencePartition, mirror.GrowLocalTopic, mirror.RaiseEpoch, mirror.RefreshSource, mirror.SendSupersede, mirror.WritePidReset:
		panic(fmt.Sprintf("model: %T, but nothing grows, stops or is handed over here", e))
	default:
		panic(fmt.Sprintf("model: %T", e))
	}
}

// send puts a message on the network; the oldest is lost beyond the bound. A message that is there already
// arrives as often as it likes.
func (p *pact) send(m message) {
	list, most := &p.net, p.bounds.Messages
	if _, proof := m.toMirror.(mirror.ReportEvidence); proof {
		list, most = &p.proofs, p.bounds.Evidence
	}
	form := p.forms.text(m)
	if slices.ContainsFunc(*list, func(old message) bool { return p.forms.text(old) == form }) {
		return
	}
	all := append(slices.Clone(*list), m)
	*list = all[max(0, len(all)-most):]
}

func (p *pact) deliver(m message) {
	if m.toSource != nil {
		p.tellLedger(m.toSource)
		return
	}
	was, _ := p.described()
	p.tellMirror(drawn(m.toMirror))
	if notice, ok := m.toMirror.(mirror.ReportReleased); ok && notice.Number <= p.answered && was.Release >= notice.Number {
		if is, _ := p.described(); was.Effective == mirror.TypeSync && is.Effective != mirror.TypeSync {
			p.found("K3", "the notice of release %d, which a Register had answered, demotes a topic that is SYNC", notice.Number)
		}
	}
}

// drawn adds the incarnation that the sender draws for a destination that turns out to be restored.
func drawn(c mirror.Command) mirror.Command {
	switch c := c.(type) {
	case mirror.RegisterAnswered:
		c.Fresh = core.Incarnation{2, byte(c.Newest)}
		return c
	case mirror.UnregisterAnswered:
		c.Fresh = core.Incarnation{2, byte(c.Newest)}
		return c
	default:
		return c
	}
}

// hear lets the leader's image catch up by one step.
func (p *pact) hear() {
	l := &p.leader
	l.gates, l.queue = l.queue[0], slices.Clone(l.queue[1:])
	was := l.gate
	l.gate = gateHeld{}
	for _, g := range l.gates.Gates {
		if was.on && was.gate.Epoch == g.Epoch {
			l.gate = was
			continue
		}
		p.gateBegins(g)
	}
	if was.on && (!l.gate.on || l.gate.gate.Epoch != was.gate.Epoch) {
		p.acknowledge() // un-gating acknowledges what waited
		p.tellLedger(registration.ReportUngated{Key: pactKey, ID: pactPart, Epoch: was.gate.Epoch, LEO: core.Offset(len(l.records))})
	}
}

func (p *pact) gateBegins(g image.Gate) {
	l := &p.leader
	l.gate = gateHeld{on: true, gate: g, start: core.Offset(len(l.records)), floor: core.Unknown}
	p.tellLedger(registration.ReportGate{Key: pactKey, ID: pactPart, Epoch: g.Epoch, LeaderEpoch: l.epoch, GateStart: l.gate.start})
}

func (p *pact) hearAll() {
	for len(p.leader.queue) > 0 {
		p.hear()
	}
}

// acknowledge takes HW as far as the gate allows.
func (p *pact) acknowledge() {
	l := &p.leader
	to := p.reach()
	if l.hw < to && !l.gate.on && p.bounds.AfterLease {
		// F19: without us nothing is acknowledged while we may still show SYNC.
		if d, ok := p.described(); ok && d.Effective == mirror.TypeSync && !d.Unconfirmed && !d.Partial {
			p.found("F19", "record %d is acknowledged without the destination, which shows %q", l.records[l.hw], d.State)
		}
	}
	for ; l.hw < to; l.hw++ {
		p.acked = append(slices.Clone(p.acked), promise{l.hw, l.records[l.hw], p.sourceClock() + 1})
		p.say("   record %d at offset %d is ACKED", l.records[l.hw], l.hw)
	}
}

func (p *pact) reach() int8 {
	to := int8(len(p.leader.records))
	if g := p.leader.gate; g.on {
		to = min(to, int8(g.floor))
	}
	return to
}

// fetch is one round trip: adopt, copy, report, and what the source says of its gate (C1, C4).
func (p *pact) fetch() {
	l, c := &p.leader, &p.copied
	if c.mode == mirror.FetchOff {
		return
	}
	if c.adopted != l.epoch {
		n := 0
		for n < len(c.records) && n < len(l.records) && c.records[n] == l.records[n] {
			n++
		}
		c.records, c.adopted = c.records[:n:n], l.epoch
	}
	sync := c.mode == mirror.FetchSync && l.gate.on
	if sync && c.reporting && c.epoch == l.gate.gate.Epoch && c.incarnation == l.gate.gate.Incarnation {
		l.gate.floor = max(l.gate.floor, core.Offset(len(c.records))) // of exactly this registration and data (R2, R3)
	}
	below := int(l.hw)
	if sync {
		below = len(l.records)
	}
	if len(c.records) < below {
		c.records = append(slices.Clone(c.records), l.records[len(c.records):below]...)
	}
	if c.mode == mirror.FetchSync && !sync {
		p.refuse()
	}
	p.tellMirror(mirror.ReportProgress{
		ID: pactPart, Session: c.session, Asked: p.now, Sync: sync, SourceEpoch: l.epoch, Adopted: l.epoch, SourceHW: core.Offset(l.hw),
		LEO: core.Offset(len(c.records)), LocalEpoch: 10, ISRSize: 2, MinISR: 1, Rate: 1 << 20,
	})
	if l.gate.on {
		// T first, then the check: a release in between ends it (C4).
		t := mirror.ClaimTime{Clock: p.sourceClock(), Index: int64(len(p.acked))}
		if p.ledger.Confirms(pactKey, pactTopic, l.gate.gate.Epoch) {
			p.send(message{toMirror: mirror.ReportEvidence{ID: pactPart, Sent: p.now, Epoch: l.gate.gate.Epoch, SourceEpoch: l.epoch, GateStart: l.gate.start, Floor: l.gate.floor, T: t}})
		}
	}
}

// refuse is what a sync fetch of an un-gated partition meets: 953 while the ledger knows the registration,
// else 952 with the release's number beside it.
func (p *pact) refuse() {
	entry, _ := p.ledger.Look(pactKey, pactTopic)
	code := perr.InvalidSyncRegistration
	if entry.Epoch != 0 {
		code = perr.MirrorRegistrationPropagating
	} else if entry.Released != 0 {
		p.send(message{toMirror: mirror.ReportReleased{Number: entry.Released, Topics: []core.TopicID{pactTopic}}})
	}
	p.tellMirror(mirror.ReportFailure{ID: pactPart, Session: p.copied.session, Asked: p.now, Code: code, Text: code.Name()})
}
