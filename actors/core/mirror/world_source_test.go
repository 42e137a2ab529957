package mirror_test

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
	"lockstep/protocol/perr"
)

var worldKey = core.MirrorKey{Cluster: "dst", Mirror: "m"}

// source is the ledger, its journal, and the leaders.
type source struct {
	w       *world
	s       *registration.State
	journal []core.Entry
	ledger  registration.Ledger
	parts   map[core.PartitionID]*part
	replies map[core.RequestID]func(registration.Effect)
	ref     core.RequestID
	acks    []ack
	stops   map[core.TopicID]bool
}

// ack is one acknowledged record.
type ack struct {
	id    core.PartitionID
	at    core.Offset
	value int
	clock int64 // of the source
}

// part is one partition of the source: one leader at a time, whose image may lag.
type part struct {
	w       *world
	id      core.PartitionID
	epoch   core.LeaderEpoch
	log     []int // values by offset
	hw      int
	queue   []image.Registrations
	applied image.Registrations
	gate    *gate
}

type gate struct {
	image.Gate
	start core.Offset
	floor core.Offset
}

func newSource(w *world) *source {
	s := &source{w: w, s: registration.Machine().Init("src"), parts: map[core.PartitionID]*part{}, replies: map[core.RequestID]func(registration.Effect){}, stops: map[core.TopicID]bool{}}
	for _, t := range worldTopics {
		for i := int32(0); i < worldPartitions; i++ {
			id := core.PartitionID{Topic: t, Index: i}
			s.parts[id] = &part{w: w, id: id, epoch: 1}
		}
	}
	return s
}

func (s *source) sorted() (list []*part) {
	for _, t := range worldTopics {
		for i := int32(0); i < worldPartitions; i++ {
			list = append(list, s.parts[core.PartitionID{Topic: t, Index: i}])
		}
	}
	return list
}

// do decides, journals and performs; while faults last the process may die before or after the disk.
func (s *source) do(cmd registration.Command) {
	m := registration.Machine()
	out := m.Decide(s.s, s.w.sourceClock(), cmd)
	crash := s.w.faults && len(out.Events) > 0 && s.w.r.Intn(60) == 0
	if crash { // any prefix of what was decided may be on disk
		out.Events = out.Events[:s.w.r.Intn(len(out.Events)+1)]
	}
	for _, ev := range out.Events {
		if e, ok := m.Encode(ev); ok {
			s.journal = append(s.journal, e)
			s.w.checkAdmission(ev)
		}
		m.Apply(s.s, ev)
	}
	if crash {
		s.w.note("source dies in %T, %d events are on disk", cmd, len(out.Events))
		s.restart()
		return
	}
	for _, e := range append(out.Early, out.Late...) {
		s.perform(e)
	}
}

func (s *source) perform(e registration.Effect) {
	switch e := e.(type) {
	case registration.Publish:
		for _, f := range registrationsOf(e.Facts) {
			for _, p := range s.sorted() {
				if p.id.Topic == f.ID {
					p.queue = append(p.queue, f.Registrations)
				}
			}
		}
	case registration.PublishLedger:
		s.ledger = e.Ledger
	case registration.NotifyReleased:
		s.w.send(fmt.Sprintf("notice RELEASED(%d)", e.Number), func() {
			s.w.dst.do(mirror.ReportReleased{Number: e.Number, Topics: e.Topics})
		})
	case core.Reply:
		if reply := s.replies[e.ReplyTo()]; reply != nil {
			delete(s.replies, e.ReplyTo())
			reply(e.(registration.Effect))
		}
	case registration.ArmTimer:
	default:
		panic(e)
	}
}

func (s *source) ask(build func(core.RequestID) registration.Command, reply func(registration.Effect)) {
	s.ref++
	s.replies[s.ref] = reply
	s.do(build(s.ref))
}

// restart loses everything but the journal; every leader gets a new epoch and an image with all registrations.
func (s *source) restart() {
	s.w.note("source restarts")
	m := registration.Machine()
	s.s = m.Init("src")
	for _, e := range s.journal {
		ev, err := m.Decode(e)
		if err != nil {
			s.w.fail("%v", err)
		}
		m.Apply(s.s, ev)
	}
	s.replies = map[core.RequestID]func(registration.Effect){}
	s.ledger = registration.Ledger{}
	for _, p := range s.sorted() {
		p.queue, p.applied, p.gate = nil, image.Registrations{}, nil
		p.epoch++
	}
	s.do(registration.Resume{Topics: worldTopics})
	for _, p := range s.sorted() {
		p.applyAll()
	}
}

func (s *source) release(topics ...core.TopicID) {
	s.ask(func(ref core.RequestID) registration.Command {
		return registration.ReleaseMirror{Ref: ref, Mirror: "m", Topics: topics}
	}, func(e registration.Effect) {
		s.w.note("release %v answered %+v", topics, e.(registration.ReleaseAnswered).Number)
	})
}

// described is one key as the ledger tells it.
func (s *source) described(topic core.TopicID) registration.Registration {
	var found registration.Registration
	s.ask(func(ref core.RequestID) registration.Command { return registration.Describe{Ref: ref} }, func(e registration.Effect) {
		for _, r := range e.(registration.Described).Ledger.Registrations {
			if r.Topic == topic && r.Key == worldKey {
				found = r
			}
		}
	})
	return found
}

// stopped reports whether the newest command of the destination was the Unregister of a stop.
func (s *source) stopped(topic core.TopicID) bool { return s.stops[topic] }

func (p *part) produce() {
	p.log = append(p.log, int(p.w.now/1e6))
}

// advance acknowledges what the gates allow.
func (p *part) advance() {
	hw := len(p.log)
	if p.gate != nil {
		hw = min(hw, int(p.gate.floor))
	}
	for ; p.hw < hw; p.hw++ {
		p.w.src.acks = append(p.w.src.acks, ack{p.id, core.Offset(p.hw), p.log[p.hw], p.w.sourceClock().Wall})
	}
}

// applyFact lets the leader's image catch up by one step.
func (p *part) applyFact() {
	if len(p.queue) == 0 {
		return
	}
	p.applied, p.queue = p.queue[0], slices.Clone(p.queue[1:])
	was := p.gate
	p.gate = nil
	for _, g := range p.applied.Gates {
		if was != nil && was.Epoch == g.Epoch {
			p.gate = was
			continue
		}
		p.gate = &gate{Gate: g, start: core.Offset(len(p.log)), floor: core.Unknown}
		p.w.src.do(registration.ReportGate{Key: g.Key, ID: p.id, Epoch: g.Epoch, LeaderEpoch: p.epoch, GateStart: p.gate.start})
	}
	if was != nil && (p.gate == nil || p.gate.Epoch != was.Epoch) {
		p.advance() // un-gating acknowledges what waited
		if p.w.src.stopped(p.id.Topic) {
			p.w.ungated[p.id] = p.w.sourceClock().Wall
		}
		p.w.src.do(registration.ReportUngated{Key: was.Key, ID: p.id, Epoch: was.Epoch, LEO: core.Offset(len(p.log))})
	}
}

func (p *part) applyAll() {
	for len(p.queue) > 0 {
		p.applyFact()
	}
}

// elect gives the partition another leader: clean, so what was acknowledged is there, and what was not may be gone.
// The election carries every registration published before it (D9).
func (p *part) elect() {
	p.w.note("election of %s", p.id)
	p.applyAll()
	p.epoch++
	p.log = p.log[:p.hw+p.w.r.Intn(len(p.log)-p.hw+1)]
	if g := p.gate; g != nil {
		p.gate = &gate{Gate: g.Gate, start: core.Offset(len(p.log)), floor: core.Unknown}
		p.w.src.do(registration.ReportGate{Key: g.Key, ID: p.id, Epoch: g.Epoch, LeaderEpoch: p.epoch, GateStart: p.gate.start})
	}
}

// evidence is what may be told of this leader's gate: T first, then the check (C4).
func (p *part) evidence(sent int64) (mirror.ReportEvidence, bool) {
	if p.gate == nil {
		return mirror.ReportEvidence{}, false
	}
	clock := p.w.sourceClock().Wall
	if !p.w.src.ledger.Confirms(p.gate.Key, p.id.Topic, p.gate.Epoch) {
		return mirror.ReportEvidence{}, false
	}
	return mirror.ReportEvidence{
		ID: p.id, Sent: sent, Epoch: p.gate.Epoch, SourceEpoch: p.epoch, GateStart: p.gate.start, Floor: p.gate.floor,
		T: mirror.ClaimTime{Clock: clock, Index: int64(len(p.w.src.journal))},
	}, true
}

// refusal is what a sync fetch of an un-gated partition gets (C1).
func (p *part) refusal() (perr.Code, core.ReleaseNumber) {
	e, _ := p.w.src.ledger.Look(worldKey, p.id.Topic)
	if e.Epoch != 0 {
		return perr.MirrorRegistrationPropagating, 0
	}
	return perr.InvalidSyncRegistration, e.Released
}
