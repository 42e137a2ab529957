package broker

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/orders"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
	"lockstep/journal"
	"lockstep/protocol/perr"
)

// Registration asks the ledger of this source cluster. Source is filled in from the newest image. A nil
// reply makes it a tell, with reference 0.
func (c *Cluster) Registration(build func(core.RequestID) registration.Command, reply func(any)) {
	if reply == nil {
		c.registration.Tell(c.withSource(build(0)))
		return
	}
	c.registration.Ask(func(ref core.RequestID) registration.Command { return c.withSource(build(ref)) }, reply)
}

// Registrations is the ledger as released last: what evidence, sync fetches and reports of unknown
// registrations are checked against.
func (c *Cluster) Registrations() registration.Ledger { return *c.ledger.Load() }

func (c *Cluster) withSource(cmd registration.Command) registration.Command {
	switch r := cmd.(type) {
	case registration.RegisterTopic:
		r.Source = c.source(r.Topic)
		return r
	case registration.UnregisterTopic:
		r.Source = c.source(r.Topic)
		return r
	case registration.ReleaseMirror:
		r.Lease = c.lease()
		return r
	case registration.SupersedeTopic:
		r.Source, r.Patience = c.source(r.Topic), c.patience()
		return r
	default:
		return cmd
	}
}

func (c *Cluster) source(id core.TopicID) registration.Source {
	img := c.Newest()
	t, known := img.Topic(id)
	if !known {
		return registration.Source{}
	}
	s := registration.Source{Known: true, Name: t.Name, Partitions: int32(len(t.Partitions)), Mirrored: orders.Role(img, id) != partition.Writable,
		Unsynced: c.options.Mirrors.Unsynced, ProvenOnly: t.Config[mirror.MinClassSetting] == mirror.ClassProven.Setting()}
	if m, mirrored := img.Mirrors[id]; mirrored && !s.Mirrored {
		s.Era = m.Era
	}
	return s
}

// patience is how long a switchover may keep producers waiting here (lockstep.switchover.timeout.ms).
func (c *Cluster) patience() int64 {
	if ms := c.options.SwitchoverMs; ms > 0 {
		return ms * 1e6
	}
	return DefaultSwitchoverMs * 1e6
}

// lease is how long a release after the lease withholds acks (lockstep.claim.lease.ms), in ns.
func (c *Cluster) lease() int64 {
	if ms := c.options.Mirrors.LeaseMs; ms > 0 {
		return ms * 1e6
	}
	return mirror.DefaultLeaseMs * 1e6
}

// resumed is the ledger's first command after a replay.
func (c *Cluster) resumed(topics []core.TopicID) registration.Resume {
	return registration.Resume{Topics: topics, Patience: c.patience(), Lease: c.lease(), Promise: c.options.PromiseRelease}
}

// Mirror asks or tells (nil reply, reference 0) one mirror of this destination cluster. Local topics and
// fresh incarnations are filled in where they are zero. A mirror that was never created answers as such,
// and no actor is made by a misspelt name.
func (c *Cluster) Mirror(name core.MirrorName, build func(core.RequestID) mirror.Command, reply func(any)) {
	ref := core.RequestID(0)
	if reply != nil {
		ref = c.system.NextRequest()
	}
	cmd := c.withLocal(build(ref))
	m := c.mirror(name, cmd)
	switch {
	case m == nil && reply != nil:
		c.answerUnknown(name, cmd, reply)
	case m == nil:
	case reply == nil:
		m.Tell(cmd)
	default:
		m.AskAs(ref, cmd, reply)
	}
}

// Mirrors lists the mirrors that were ever created here and not forgotten, by name.
func (c *Cluster) Mirrors() []core.MirrorName {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.mirrors))
}

func (c *Cluster) tellMirror(name core.MirrorName, cmd mirror.Command) {
	c.mu.RLock()
	m := c.mirrors[name]
	c.mu.RUnlock()
	if m != nil {
		m.Tell(cmd)
	}
}

// mirror looks a mirror up; CreateMirror makes one when the machine would take the command.
func (c *Cluster) mirror(name core.MirrorName, cmd mirror.Command) *shell.Ref[mirror.Command] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.mirrors[name]; m != nil {
		return m
	}
	if _, create := cmd.(mirror.CreateMirror); !create || len(c.decideAlone(name, cmd).Events) == 0 {
		return nil
	}
	m := c.spawnMirror(name)
	c.mirrors[name] = m
	return m
}

func (c *Cluster) decideAlone(name core.MirrorName, cmd mirror.Command) core.Outcome[mirror.Event, mirror.Effect] {
	machine := mirror.Machine()
	return machine.Decide(machine.Init(string(name)), c.Now(), cmd)
}

// answerUnknown lets an empty machine answer: only it knows the right code for each command.
func (c *Cluster) answerUnknown(name core.MirrorName, cmd mirror.Command, reply func(any)) {
	out := c.decideAlone(name, cmd)
	for _, f := range append(out.Early, out.Late...) {
		if r, ok := f.(core.Reply); ok {
			reply(r)
			return
		}
	}
	reply(shell.Failed{Code: perr.UnknownServerError, Text: fmt.Sprintf("mirror %s does not exist", name)})
}

func (c *Cluster) spawnMirror(name core.MirrorName) *shell.Ref[mirror.Command] {
	var self *shell.Ref[mirror.Command]
	ready := make(chan struct{})
	self = shell.Spawn(c.system, shell.Spec[mirror.State, mirror.Command, mirror.Event, mirror.Effect]{
		ID: "mirror/" + string(name), Machine: namedAs(mirror.Machine(), string(name)), Journal: c.options.Control, Stream: journal.Stream(mirrorStreams + string(name)),
		Level: slog.LevelInfo, Tick: mirror.Tick{},
		Timer:   func(f mirror.Effect) (int64, bool) { t, ok := f.(mirror.ArmTimer); return t.At, ok },
		Perform: func(f mirror.Effect) { c.performMirror(self, f) },
		Observe: c.observeMirror(name),
		Started: func(_ *mirror.State, again bool) {
			if again {
				<-ready
				self.Tell(mirror.Republish{Defaults: c.options.Mirrors})
				self.Tell(mirror.Resume{Defaults: c.options.Mirrors})
			}
		},
		Lost: c.quorumLost,
	})
	close(ready)
	return self
}

func (c *Cluster) performMirror(self *shell.Ref[mirror.Command], f mirror.Effect) {
	o := c.outside.Load()
	switch e := f.(type) {
	case mirror.Publish:
		c.publisher.publish(e.Facts)
		for _, topic := range orders.Returned(c.Newest(), e.Facts) {
			c.registration.Tell(registration.ReturnTopic{Topic: topic})
		}
	case mirror.CreateLocalTopic:
		c.createLocalTopic(self, e.Topic)
	case mirror.GrowLocalTopic:
		c.CreatePartitions(controller.CreatePartitions{ID: e.Topic, Count: e.Count, Mirrored: true}, func(answer any) {
			switch a := answer.(type) {
			case controller.Done:
				self.Tell(mirror.LocalTopicGrown{Topic: e.Topic, Count: e.Count, Code: a.Code, Text: a.Text})
			case shell.Failed:
				self.Tell(mirror.LocalTopicGrown{Topic: e.Topic, Count: e.Count, Code: a.Code, Text: a.Text})
			}
		})
	case mirror.RefreshSource:
		if o != nil {
			o.fetchers.Refresh(e.Mirror)
		}
	case mirror.FencePartition:
		c.fencePartition(self, e)
	case mirror.RaiseEpoch:
		c.RaiseEpoch(controller.RaiseEpoch{ID: e.ID, Min: e.Min}, func(answer any) {
			switch a := answer.(type) {
			case controller.EpochRaised:
				self.Tell(orders.EpochRaised(e.ID, a))
			case shell.Failed:
				self.Tell(mirror.EpochAnswered{ID: e.ID, Code: a.Code, Text: a.Text})
			}
		})
	case mirror.WritePidReset:
		c.writePidReset(self, e)
	case mirror.WatchSource:
		if o != nil {
			o.fetchers.Watch(e)
		}
	case mirror.FetchTopic:
		if o != nil {
			o.fetchers.Fetch(e)
		}
	case mirror.SendRegister:
		if o != nil {
			o.bus.Register(e)
		}
	case mirror.SendUnregister:
		if o != nil {
			o.bus.Unregister(e)
		}
	case mirror.SendSupersede:
		if o != nil {
			o.bus.Supersede(e)
		}
	case mirror.Answered, mirror.ArmTimer, mirror.Described, mirror.TopicsAnswered:
		panic(fmt.Sprintf("broker: %T is routed by the shell", f))
	default:
		panic(fmt.Sprintf("broker: unknown mirror effect %T", f))
	}
}

func (c *Cluster) createLocalTopic(self *shell.Ref[mirror.Command], t mirror.SourceTopic) {
	cmd := controller.CreateTopic{ID: t.ID, Name: t.Name, Partitions: t.Partitions, Replication: -1, Config: t.Config, Mirrored: true}
	c.CreateTopic(cmd, func(answer any) {
		switch a := answer.(type) {
		case controller.CreatedTopic:
			self.Tell(orders.TopicMade(t.ID, a))
		case shell.Failed:
			self.Tell(mirror.LocalTopicAnswered{Topic: t.ID, Code: a.Code, Text: a.Text})
		}
	})
}

func (c *Cluster) fencePartition(self *shell.Ref[mirror.Command], e mirror.FencePartition) {
	leader, ok := c.Leader(e.ID)
	if !ok {
		self.Tell(mirror.FenceAnswered{ID: e.ID, Text: fmt.Sprintf("partition %s has no leader", e.ID)})
		return
	}
	leader.Ask(func(ref core.RequestID) partition.Command {
		return partition.FenceMirror{Ref: ref, Session: e.Session, Keep: e.Keep}
	}, func(answer any) {
		switch a := answer.(type) {
		case partition.MirrorFenced:
			self.Tell(orders.Fenced(e.ID, a, leader.View().Epoch))
		case shell.Failed:
			self.Tell(mirror.FenceAnswered{ID: e.ID, Text: a.Text})
		}
	})
}

func (c *Cluster) writePidReset(self *shell.Ref[mirror.Command], e mirror.WritePidReset) {
	leader, ok := c.Leader(e.ID)
	if !ok {
		self.Tell(mirror.ResetAnswered{ID: e.ID, Text: fmt.Sprintf("partition %s has no leader", e.ID)})
		return
	}
	leader.Ask(func(ref core.RequestID) partition.Command {
		return partition.WritePidReset{Ref: ref, Keep: e.Keep}
	}, func(answer any) {
		told := mirror.ResetAnswered{ID: e.ID}
		switch a := answer.(type) {
		case partition.PidResetWritten:
			told.OK = a.OK
		case shell.Failed:
			told.Text = a.Text
		}
		self.Tell(told)
	})
}

// withLocal fills in what the sender of a command left zero.
func (c *Cluster) withLocal(cmd mirror.Command) mirror.Command {
	return orders.Local{Defaults: c.options.Mirrors, Fresh: func() core.Incarnation { return core.Incarnation(randomID()) }, Topic: c.LocalTopic}.Fill(cmd)
}

// LocalTopic is what stands here under a source topic's name, or else its id, in the newest image.
func (c *Cluster) LocalTopic(source mirror.SourceTopic) mirror.LocalTopic {
	return orders.LocalTopic(c.Newest(), source, func(id core.PartitionID) int64 {
		r, ok := c.Leader(id)
		if !ok {
			return 0
		}
		v := r.View()
		return int64(v.LEO - v.LogStart)
	})
}
