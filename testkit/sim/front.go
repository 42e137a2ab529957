package sim

import (
	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// leaderHere is a broker's replica of a partition if it leads it, as clusterd/front judges it.
func (b *broker) leaderHere(id core.PartitionID) (*replica, perr.Code) {
	if p, known := b.feed.image.Partition(id); !known || p.Leader == core.NoReplica && b.replicas[id] == nil {
		return nil, perr.UnknownTopicOrPartition
	}
	r := b.replicas[id]
	if r == nil || !r.view.IsLeader {
		return nil, perr.NotLeaderOrFollower
	}
	return r, perr.None
}

func fenceEpoch(v partition.View, current core.LeaderEpoch) perr.Code {
	switch {
	case current < 0 || current == v.Epoch:
		return perr.None
	case current < v.Epoch:
		return perr.FencedLeaderEpoch
	default:
		return perr.UnknownLeaderEpoch
	}
}

// produce hands one batch to the leader's actor; reply is what a client sees: AckProduce, RefuseProduce or
// shell.Failed.
func (b *broker) produce(id core.PartitionID, one batch.Batch, acks int16, timeout int64, client string, weak partition.WeakAcks, reply func(replica *replica, answer any)) {
	r, code := b.leaderHere(id)
	if code != perr.None {
		reply(nil, partition.RefuseProduce{Code: code})
		return
	}
	deadline := b.home.mono() + timeout*9/10
	r.ask(func(ref core.RequestID) partition.Command {
		return partition.AppendBatch{Ref: ref, Batch: one, Acks: acks, Deadline: deadline, Client: client, Weak: weak}
	}, func(answer any) {
		reply(r, answer)
	})
}

// ended is what OffsetForLeaderEpoch, ListOffsets and a dry fetch say of one partition together.
type ended struct {
	code      perr.Code
	endEpoch  core.LeaderEpoch
	endOffset core.Offset
	start     core.Offset
	stated    bool
	unclean   core.LeaderEpoch
	source    core.Incarnation
}

// end answers the divergence check; each of its requests is fenced with the epoch asked for.
func (b *broker) end(id core.PartitionID, current, last core.LeaderEpoch) ended {
	e := ended{endEpoch: core.NoEpoch, unclean: core.NoEpoch}
	r, code := b.leaderHere(id)
	if code == perr.None {
		code = fenceEpoch(r.view, current)
	}
	if e.code = code; code != perr.None {
		return e
	}
	if last != core.NoEpoch {
		e.endEpoch, e.endOffset = partition.EndOffsetForEpoch(r.view, last)
		if e.endEpoch < 0 || e.endOffset < 0 {
			e.endEpoch, e.endOffset = core.NoEpoch, 0
		}
	}
	e.start = r.view.LogStart
	if evidence := b.home.evidenceFor(r, core.MirrorKey{}, 0); evidence != nil && core.LeaderEpoch(evidence.SourceEpoch) == current {
		e.stated, e.unclean, e.source = true, core.LeaderEpoch(evidence.LastUncleanEpoch), evidence.Incarnation
	}
	return e
}

// register answers a Register as the front does.
func (p *process) register(key core.MirrorKey, c mirror.SendRegister, path []core.ClusterID, answer func(any)) {
	p.registration.ask(func(ref core.RequestID) registration.Command {
		return registration.RegisterTopic{Ref: ref, Key: key, Topic: c.Topic, Name: c.Name, Generation: c.Generation, Echo: c.Echo,
			Recovery: c.Recovery, Incarnation: c.Incarnation, MinISR: c.MinISR, Partitions: c.Partitions, Path: path, CanGate: true, Source: p.source(c.Topic)}
	}, func(reply any) {
		p.answers(key, c.Topic, c.Generation, reply)
		a := mirror.RegisterAnswered{Topic: c.Topic, Generation: c.Generation}
		switch e := reply.(type) {
		case registration.RegisterAnswered:
			a.Code, a.Text, a.Epoch, a.Number, a.Held, a.Newest, a.Era = e.Code, e.Text, e.Epoch, e.Number, e.Held, e.Newest, e.Era
			for _, g := range e.Gates {
				a.Gates = append(a.Gates, mirror.GateStart{Partition: g.Partition, LeaderEpoch: g.LeaderEpoch, Start: g.Start})
			}
		case shell.Failed:
			a.Code, a.Text = perr.CoordinatorNotAvailable, e.Text
		}
		answer(a)
	})
}

func (p *process) unregister(key core.MirrorKey, c mirror.SendUnregister, answer func(any)) {
	mode := registration.ModeDemote
	if c.Stop {
		mode = registration.ModeStop
	}
	p.registration.ask(func(ref core.RequestID) registration.Command {
		return registration.UnregisterTopic{Ref: ref, Key: key, Topic: c.Topic, Name: c.Name, Generation: c.Generation, Mode: mode, Source: p.source(c.Topic)}
	}, func(reply any) {
		p.answers(key, c.Topic, c.Generation, reply)
		a := mirror.UnregisterAnswered{Topic: c.Topic, Generation: c.Generation}
		switch e := reply.(type) {
		case registration.UnregisterAnswered:
			a.Code, a.Text, a.Newest, a.LEO = e.Code, e.Text, e.Newest, e.LEO
		case shell.Failed:
			a.Code, a.Text = perr.CoordinatorNotAvailable, e.Text
		}
		answer(a)
	})
}

// supersede answers a switchover, or the news of a failover.
func (p *process) supersede(key core.MirrorKey, c mirror.SendSupersede, answer func(any)) {
	mode := registration.ModeSwitchover
	if c.Failover {
		mode = registration.ModeFailover
	}
	p.registration.ask(func(ref core.RequestID) registration.Command {
		return registration.SupersedeTopic{Ref: ref, Key: key, Topic: c.Topic, Name: c.Name, Generation: c.Generation, Mode: mode, Era: c.Era,
			Source: p.source(c.Topic), Patience: patience}
	}, func(reply any) {
		p.answers(key, c.Topic, c.Generation, reply)
		a := mirror.SupersedeAnswered{Topic: c.Topic, Generation: c.Generation}
		switch e := reply.(type) {
		case registration.SupersedeAnswered:
			a.Code, a.Text, a.Outcome, a.Era, a.Newest = e.Code, e.Text, mirror.Outcome(e.Outcome), e.Era, e.Newest
			for _, end := range e.Ends {
				a.Ends = append(a.Ends, mirror.End{Partition: end.Partition, LEO: end.LEO})
			}
		case shell.Failed:
			a.Code, a.Text = perr.CoordinatorNotAvailable, e.Text
		}
		answer(a)
	})
}

// path names this cluster and everything that gates the topic behind it (C11).
func (p *process) path(topic core.TopicID) []core.ClusterID {
	path := []core.ClusterID{p.site.id}
	for _, g := range p.newest.Sync[topic].Gates {
		path = append(path, g.Key.Cluster)
	}
	return path
}

// answers lets the oracle know which commands the ledger has on disk.
func (p *process) answers(key core.MirrorKey, topic core.TopicID, g core.Generation, reply any) {
	w := p.site.world
	d := w.siteNamed(key.Cluster)
	switch e := reply.(type) {
	case registration.RegisterAnswered:
		if e.Newest == 0 && e.Code != perr.UnknownTopicId {
			w.oracle.answered(d, topic, g)
		}
	case registration.UnregisterAnswered:
		if e.Newest == 0 && e.Code != perr.UnknownTopicId {
			w.oracle.answered(d, topic, g)
		}
	}
}
