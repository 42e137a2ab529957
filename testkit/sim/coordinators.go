package sim

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/orders"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
)

const mirrorStreams = "control/mirror/"

func never[F any](F) (int64, bool) { return 0, false }

// named gives a machine its own name instead of the actor's, as actors/broker does.
func named[S, C, E, F any](m core.Machine[S, C, E, F], name string) core.Machine[S, C, E, F] {
	init, restore := m.Init, m.Restore
	m.Init = func(string) *S { return init(name) }
	m.Restore = func(_ string, snapshot []byte) (*S, error) { return restore(name, snapshot) }
	return m
}

func (p *process) quorumLost(err error) { p.exit("control quorum lost: " + err.Error()) }

func (p *process) spawnController(replayed func(*controller.State)) {
	p.controller = spawn(p, spec[controller.State, controller.Command, controller.Event, controller.Effect]{
		id: "controller", machine: controller.Machine(), store: p.site.control, stream: "control/controller",
		timer: never[controller.Effect], perform: p.performController, lost: p.quorumLost,
		started: func(s *controller.State, _ bool) { replayed(s) },
	})
	p.controller.start()
}

func (p *process) performController(f controller.Effect) {
	switch e := f.(type) {
	case controller.Publish:
		p.publish(e.Facts)
		if _, first := e.Facts[0].(image.ClusterNamed); first && !p.attached {
			p.restarted()
		}
	case controller.ISRRefused:
		if r := p.replica(e.Leader, e.ID); r != nil {
			r.isrRefused(e)
		}
	case controller.DropReplica:
		if b := p.broker(e.Replica); b != nil {
			b.drop(e.ID)
		}
	case controller.CreatedTopic, controller.Done, controller.EpochRaised, controller.FeaturesAnswered, controller.ProducerIDs:
	case controller.HandOver:
		p.handOver(e)
	case controller.QuotasAnswered, controller.ReassignmentsAnswered, controller.ACLsCreated, controller.ACLsDeleted, controller.CredentialsAnswered:
	default:
		panic(fmt.Sprintf("sim: unknown controller effect %T", f))
	}
}

func (p *process) spawnRegistration() {
	p.registration = spawn(p, spec[registration.State, registration.Command, registration.Event, registration.Effect]{
		id: "registration", machine: named(registration.Machine(), string(p.site.id)), store: p.site.control, stream: "control/registration",
		tick: registration.Tick{}, lost: p.quorumLost,
		observe: func(ev registration.Event) { p.site.world.oracle.registrationEvent(p, ev) },
		timer:   func(f registration.Effect) (int64, bool) { t, ok := f.(registration.ArmTimer); return t.At, ok },
		perform: func(f registration.Effect) {
			switch e := f.(type) {
			case registration.Publish:
				p.site.world.oracle.handsOver(p, e.Facts)
				p.site.world.oracle.letsGo(p, e.Facts)
				p.publish(e.Facts)
			case registration.PublishLedger:
				p.ledger = e.Ledger
			case registration.NotifyReleased:
				p.inlet.released(e.Key, e.Number, e.Topics)
			case registration.NoteRelease:
				p.registration.tell(registration.ReleasePublished{Key: e.Key, Number: e.Number, Lease: p.site.world.options.Lease})
			case registration.NotifyLifted:
				p.inlet.lifted(e.Key, e.Topics)
			case registration.ArmTimer, registration.Described, registration.RegisterAnswered, registration.ReleaseAnswered, registration.SupersedeAnswered, registration.UnregisterAnswered:
			default:
				panic(fmt.Sprintf("sim: unknown registration effect %T", f))
			}
		},
	})
	p.registration.start()
}

// patience is how long a switchover may keep producers waiting (lockstep.switchover.timeout.ms).
const patience = 30 * sec

// source is what a Register or Unregister is judged by.
func (p *process) source(id core.TopicID) registration.Source {
	t, known := p.newest.Topic(id)
	if !known {
		return registration.Source{}
	}
	s := registration.Source{Known: true, Name: t.Name, Partitions: int32(len(t.Partitions)), Mirrored: orders.Role(p.newest, id) != partition.Writable}
	if m, mirrored := p.newest.Mirrors[id]; mirrored && !s.Mirrored {
		s.Era = m.Era
	}
	return s
}

func (p *process) spawnMirror(name core.MirrorName) *mirrorActor {
	var self *mirrorActor
	self = spawn(p, spec[mirror.State, mirror.Command, mirror.Event, mirror.Effect]{
		id: "mirror/" + string(name), machine: named(mirror.Machine(), string(name)), store: p.site.control, stream: mirrorStreams + string(name),
		tick: mirror.Tick{}, lost: p.quorumLost,
		observe: func(ev mirror.Event) { p.site.world.oracle.mirrorEvent(p, ev) },
		timer:   func(f mirror.Effect) (int64, bool) { t, ok := f.(mirror.ArmTimer); return t.At, ok },
		perform: func(f mirror.Effect) { p.performMirror(self, f) },
	})
	p.mirrors[name] = self
	self.start()
	return self
}

// mirrorTell hands over a command without an answer.
func (p *process) mirrorTell(name core.MirrorName, cmd mirror.Command) {
	if m := p.mirrors[name]; m != nil {
		m.tell(p.withLocal(cmd))
	}
}

func (p *process) performMirror(self *mirrorActor, f mirror.Effect) {
	switch e := f.(type) {
	case mirror.Publish:
		p.publish(e.Facts)
		for _, topic := range orders.Returned(p.newest, e.Facts) {
			p.registration.tell(registration.ReturnTopic{Topic: topic})
		}
	case mirror.CreateLocalTopic:
		p.createLocalTopic(self, e.Topic)
	case mirror.FencePartition:
		p.fencePartition(self, e)
	case mirror.RaiseEpoch:
		p.raiseEpoch(e.ID, e.Min, func(answer any) {
			switch a := answer.(type) {
			case controller.EpochRaised:
				self.tell(orders.EpochRaised(e.ID, a))
			case shell.Failed:
				self.tell(mirror.EpochAnswered{ID: e.ID, Code: a.Code, Text: a.Text})
			}
		})
	case mirror.WritePidReset:
		p.writePidReset(self, e)
	case mirror.WatchSource:
	case mirror.FetchTopic:
		if p.attached {
			p.fetchTopic(e)
		}
	case mirror.SendRegister:
		if p.attached {
			p.sendRegister(e)
		}
	case mirror.SendUnregister:
		if p.attached {
			p.sendUnregister(e)
		}
	case mirror.SendSupersede:
		if p.attached {
			p.sendSupersede(e)
		}
	case mirror.GrowLocalTopic:
		p.growLocalTopic(self, e)
	case mirror.RefreshSource:
		if m := p.fetchers[e.Mirror]; m != nil {
			m.box.post(m.refresh)
		}
	case mirror.Answered, mirror.ArmTimer, mirror.Described, mirror.TopicsAnswered:
	default:
		panic(fmt.Sprintf("sim: unknown mirror effect %T", f))
	}
}

func (p *process) raiseEpoch(id core.PartitionID, min core.LeaderEpoch, reply func(any)) {
	p.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.RaiseEpoch{Ref: ref, ID: id, Min: min}
	}, reply)
}

func (p *process) createLocalTopic(self *mirrorActor, t mirror.SourceTopic) {
	p.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.CreateTopic{Ref: ref, ID: t.ID, Name: t.Name, Partitions: t.Partitions, Replication: -1, Config: t.Config, Mirrored: true}
	}, func(answer any) {
		switch a := answer.(type) {
		case controller.CreatedTopic:
			self.tell(orders.TopicMade(t.ID, a))
		case shell.Failed:
			self.tell(mirror.LocalTopicAnswered{Topic: t.ID, Code: a.Code, Text: a.Text})
		}
	})
}

func (p *process) growLocalTopic(self *mirrorActor, e mirror.GrowLocalTopic) {
	p.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.CreatePartitions{Ref: ref, ID: e.Topic, Count: e.Count, Mirrored: true}
	}, func(answer any) {
		told := mirror.LocalTopicGrown{Topic: e.Topic, Count: e.Count}
		switch a := answer.(type) {
		case controller.Done:
			told.Code, told.Text = a.Code, a.Text
		case shell.Failed:
			told.Code, told.Text = a.Code, a.Text
		}
		self.tell(told)
	})
}

func (p *process) fencePartition(self *mirrorActor, e mirror.FencePartition) {
	leader := p.leader(e.ID)
	if leader == nil {
		self.tell(mirror.FenceAnswered{ID: e.ID, Text: fmt.Sprintf("partition %s has no leader", e.ID)})
		return
	}
	leader.ask(func(ref core.RequestID) partition.Command {
		return partition.FenceMirror{Ref: ref, Session: e.Session, Keep: e.Keep}
	}, func(answer any) {
		switch a := answer.(type) {
		case partition.MirrorFenced:
			if a.OK {
				p.site.world.oracle.fenced(p.site, e.ID, a.LEO)
			}
			self.tell(orders.Fenced(e.ID, a, leader.view.Epoch))
		case shell.Failed:
			self.tell(mirror.FenceAnswered{ID: e.ID, Text: a.Text})
		}
	})
}

func (p *process) writePidReset(self *mirrorActor, e mirror.WritePidReset) {
	leader := p.leader(e.ID)
	if leader == nil {
		self.tell(mirror.ResetAnswered{ID: e.ID, Text: fmt.Sprintf("partition %s has no leader", e.ID)})
		return
	}
	p.site.world.oracle.reset(p.site, e.ID, e.Keep)
	leader.ask(func(ref core.RequestID) partition.Command { return partition.WritePidReset{Ref: ref, Keep: e.Keep} }, func(answer any) {
		told := mirror.ResetAnswered{ID: e.ID}
		switch a := answer.(type) {
		case partition.PidResetWritten:
			told.OK = a.OK
		case shell.Failed:
			told.Text = a.Text
		}
		self.tell(told)
	})
}

// withLocal fills in what the sender of a command left zero.
func (p *process) withLocal(cmd mirror.Command) mirror.Command {
	return orders.Local{Fresh: p.fresh, Topic: p.localTopic}.Fill(cmd)
}

// fresh draws an incarnation.
func (p *process) fresh() (i core.Incarnation) {
	for k := range i {
		i[k] = byte(p.site.random.Uint32())
	}
	return i
}

func (p *process) localTopic(source mirror.SourceTopic) mirror.LocalTopic {
	return orders.LocalTopic(p.newest, source, func(id core.PartitionID) int64 {
		r := p.leader(id)
		if r == nil {
			return 0
		}
		return int64(r.view.LEO - r.view.LogStart)
	})
}
