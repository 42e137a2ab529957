package mirror_test

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// destination is the mirror, its journal, and what its partitions hold.
type destination struct {
	w       *world
	s       *mirror.State
	journal []core.Entry
	fetches map[core.TopicID]mirror.FetchTopic
	facts   map[core.TopicID]image.MirrorTopic
	logs    map[core.PartitionID]*copied
	fresh   byte
	seen    mirror.Description
	named   map[core.PartitionID]bool // a stop was told where the source ended
}

// copied is one mirrored log. Its epoch is the adopted one.
type copied struct {
	log    []int
	epoch  core.LeaderEpoch
	fenced bool
	local  core.LeaderEpoch
	lme    core.LeaderEpoch
}

func newDestination(w *world) *destination {
	d := &destination{w: w, s: mirror.Machine().Init("m"), logs: map[core.PartitionID]*copied{}, named: map[core.PartitionID]bool{}}
	d.forget()
	d.do(mirror.CreateMirror{Mirror: "m", SourceCluster: "src", Config: map[string]string{"bootstrap.servers": "x:1"}})
	for _, t := range worldTopics {
		for i := int32(0); i < worldPartitions; i++ {
			d.logs[core.PartitionID{Topic: t, Index: i}] = &copied{epoch: core.NoEpoch, local: 10, lme: core.NoEpoch}
		}
		d.do(mirror.StartTopics{Topics: []mirror.StartTopic{{
			Source: mirror.SourceTopic{ID: t, Name: fmt.Sprint(t[0]), Partitions: worldPartitions},
			Type:   mirror.TypeSync, Fresh: d.draw(),
		}}})
	}
	return d
}

func (d *destination) draw() core.Incarnation {
	d.fresh++
	return core.Incarnation{d.fresh}
}

func (d *destination) forget() {
	d.fetches = map[core.TopicID]mirror.FetchTopic{}
	d.facts = map[core.TopicID]image.MirrorTopic{}
}

func (d *destination) do(cmd mirror.Command) {
	m := mirror.Machine()
	out := m.Decide(d.s, d.w.clock(), cmd)
	crash := d.w.faults && len(out.Events) > 0 && d.w.r.Intn(200) == 0
	if crash { // any prefix of what was decided may be on disk
		out.Events = out.Events[:d.w.r.Intn(len(out.Events)+1)]
	}
	for _, ev := range out.Events {
		if e, ok := m.Encode(ev); ok {
			d.journal = append(d.journal, e)
			d.w.note("D: %T%+v", ev, ev)
			d.noteStop(ev)
		}
		m.Apply(d.s, ev)
	}
	if crash {
		d.w.note("destination dies in %T, %d events are on disk", cmd, len(out.Events))
		d.restart()
		return
	}
	for _, e := range append(out.Early, out.Late...) {
		d.perform(e)
	}
}

// noteStop keeps which partitions a stop was told the end of, unless it said that the source stopped serving.
func (d *destination) noteStop(ev mirror.Event) {
	switch ev := ev.(type) {
	case mirror.StopUngated:
		for _, end := range ev.Ends {
			d.named[core.PartitionID{Topic: ev.Topic, Index: end.Partition}] = true
		}
	case mirror.StopDrained:
		for id := range d.named {
			if id.Topic == ev.Topic && ev.Text != "" {
				delete(d.named, id)
			}
		}
	}
}

// restart loses everything but the journal.
func (d *destination) restart() {
	d.w.note("destination restarts")
	m := mirror.Machine()
	d.s = m.Init("m")
	for _, e := range d.journal {
		ev, err := m.Decode(e)
		if err != nil {
			d.w.fail("%v", err)
		}
		m.Apply(d.s, ev)
	}
	d.forget()
	d.do(mirror.Republish{})
	d.do(mirror.Resume{})
}

// restore brings an older journal back: whatever was decided since is forgotten, the data is not (model K5).
func (d *destination) restore() {
	d.w.restored = true
	const added = 5 // a journal from before a topic was added does not know it at all: the operator adds or releases it
	keep := added + d.w.r.Intn(len(d.journal)-added+1)
	d.w.note("destination comes back with %d of %d entries", keep, len(d.journal))
	d.journal = d.journal[:keep]
	d.restart()
}

func (d *destination) perform(e mirror.Effect) {
	src := d.w.src
	switch e := e.(type) {
	case mirror.Publish:
		for _, f := range e.Facts {
			f := f.(image.MirrorTopicChanged)
			d.facts[f.ID] = f.Topic
			if f.Topic.State == image.MirrorStopped {
				d.w.opened[f.ID] = true
			}
		}
	case mirror.FetchTopic:
		d.fetches[e.Topic] = e
	case mirror.CreateLocalTopic:
		d.do(mirror.LocalTopicAnswered{Topic: e.Topic.ID})
	case mirror.SendRegister:
		about := fmt.Sprintf("Register(%d, echo %d) of %d", e.Generation, e.Echo, e.Topic[0])
		d.w.send(about, func() {
			src.ask(func(ref core.RequestID) registration.Command {
				return registration.RegisterTopic{
					Ref: ref, Key: worldKey, Topic: e.Topic, Name: e.Name, Generation: e.Generation, Echo: e.Echo, Recovery: e.Recovery,
					Incarnation: e.Incarnation, MinISR: e.MinISR, Path: []core.ClusterID{"dst"}, CanGate: true, Source: sourceOf(e.Name),
				}
			}, func(a registration.Effect) { d.registerAnswered(e, a.(registration.RegisterAnswered)) })
		})
	case mirror.SendUnregister:
		mode := registration.ModeDemote
		if e.Stop {
			mode = registration.ModeStop
		}
		d.w.send(fmt.Sprintf("Unregister(%d) of %d", e.Generation, e.Topic[0]), func() {
			if e.Deadline != 0 && d.w.now >= e.Deadline {
				return // withdrawn with its connection
			}
			src.ask(func(ref core.RequestID) registration.Command {
				return registration.UnregisterTopic{Ref: ref, Key: worldKey, Topic: e.Topic, Name: e.Name, Generation: e.Generation, Mode: mode, Source: sourceOf(e.Name)}
			}, func(a registration.Effect) { d.unregisterAnswered(e, a.(registration.UnregisterAnswered)) })
		})
	case mirror.FencePartition:
		c := d.logs[e.ID]
		if !c.fenced {
			c.fenced, c.lme = true, c.epoch
		}
		d.do(mirror.FenceAnswered{ID: e.ID, OK: true, LME: c.lme, LEO: core.Offset(len(c.log)), Epoch: c.local})
	case mirror.RaiseEpoch:
		c := d.logs[e.ID]
		c.local = max(c.local, e.Min)
		d.do(mirror.EpochAnswered{ID: e.ID, Epoch: c.local})
	case mirror.WritePidReset:
		d.do(mirror.ResetAnswered{ID: e.ID, OK: true})
	case mirror.Described:
		d.seen = e.Mirror
	case mirror.TopicsAnswered, mirror.Answered, mirror.WatchSource, mirror.ArmTimer:
	default:
		panic(e)
	}
}

func sourceOf(name string) registration.Source {
	return registration.Source{Known: true, Name: name, Partitions: worldPartitions}
}

func (d *destination) registerAnswered(e mirror.SendRegister, a registration.RegisterAnswered) {
	c := mirror.RegisterAnswered{
		Topic: e.Topic, Generation: e.Generation, Code: a.Code, Text: a.Text, Epoch: a.Epoch, Number: a.Number, Newest: a.Newest, Fresh: d.draw(),
	}
	for _, g := range a.Gates {
		c.Gates = append(c.Gates, mirror.GateStart(g))
	}
	d.w.send(fmt.Sprintf("answer to Register(%d) of %d: %v re %d", e.Generation, e.Topic[0], a.Code, a.Epoch), func() { d.do(c) })
}

func (d *destination) unregisterAnswered(e mirror.SendUnregister, a registration.UnregisterAnswered) {
	c := mirror.UnregisterAnswered{Topic: e.Topic, Generation: e.Generation, Code: a.Code, Text: a.Text, Newest: a.Newest, LEO: a.LEO, Fresh: d.draw()}
	d.w.send(fmt.Sprintf("answer to Unregister(%d) of %d: %v", e.Generation, e.Topic[0], a.Code), func() { d.do(c) })
}

// fetch is one round trip of one partition: adopt, append, report, and what the source says of its gate.
func (d *destination) fetch(p *part) {
	f, ok := d.fetches[p.id.Topic]
	c := d.logs[p.id]
	if !ok || f.Mode == mirror.FetchOff || c.fenced || d.w.faults && d.w.r.Intn(8) == 0 {
		return
	}
	sent := d.w.now - 2e6
	if c.epoch != p.epoch {
		n := 0
		for n < len(c.log) && n < len(p.log) && c.log[n] == p.log[n] {
			n++
		}
		c.log, c.epoch = c.log[:n], p.epoch
	}
	sync := f.Mode == mirror.FetchSync && p.gate != nil
	if sync {
		d.reportFloor(p, c)
	}
	below := p.hw
	if sync {
		below = len(p.log)
	}
	if len(c.log) < below {
		c.log = append(c.log, p.log[len(c.log):below]...)
	}
	if f.Mode == mirror.FetchSync && !sync {
		code, number := p.refusal()
		if number != 0 && d.w.r.Intn(2) == 0 {
			d.w.send("tagged RELEASED", func() {
				d.do(mirror.ReportReleased{Number: number, Topics: []core.TopicID{p.id.Topic}})
			})
		}
		d.do(mirror.ReportFailure{ID: p.id, Session: f.Session, Asked: sent, Code: code, Text: code.Name()})
	}
	d.do(mirror.ReportProgress{
		ID: p.id, Session: f.Session, Asked: sent, Sync: sync, SourceEpoch: p.epoch, Adopted: c.epoch, SourceHW: core.Offset(p.hw),
		LEO: core.Offset(len(c.log)), LocalEpoch: c.local, ISRSize: 3, MinISR: 2, Rate: 1 << 20,
	})
	if e, ok := p.evidence(sent); ok { // over the bus, whatever the fetch mode
		d.w.send(fmt.Sprintf("evidence of %s re %d", p.id, e.Epoch), func() { d.do(e) })
	}
}

// reportFloor is accepted in exactly the leader's epoch, of its registration and data (R3).
func (d *destination) reportFloor(p *part, c *copied) {
	fact := d.facts[p.id.Topic]
	if fact.Reporting && fact.Epoch == p.gate.Epoch && fact.Incarnation == p.gate.Incarnation {
		p.gate.floor = max(p.gate.floor, core.Offset(len(c.log)))
	}
}

func (d *destination) describe() []mirror.TopicDescription {
	d.do(mirror.Describe{})
	return d.seen.Topics
}
