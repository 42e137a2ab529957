package sim

import (
	"math/rand/v2"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/shell"
)

// handOver, finishReassignment and retire repeat the wiring of actors/broker.

func (p *process) handOver(e controller.HandOver) {
	if e.Leader == core.NoReplica {
		p.finishReassignment(e, func() {})
		return
	}
	if b := p.broker(e.Leader); b != nil {
		b.retire(e.ID, func(back func()) { p.finishReassignment(e, back) })
	}
}

func (p *process) finishReassignment(e controller.HandOver, done func()) {
	var logs []controller.ReplicaLog
	for _, b := range p.brokers {
		for _, l := range b.logs() {
			if l.ID == e.ID {
				logs = append(logs, l)
			}
		}
	}
	p.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.FinishReassignment{Ref: ref, ID: e.ID, Closed: e.Leader, Logs: logs}
	}, func(answer any) {
		if _, failed := answer.(shell.Failed); failed {
			p.wake(p.mono()+retryNs, func() { p.finishReassignment(e, done) })
			return
		}
		done()
	})
}

// retire closes a replica that is not to lead any more in its epoch.
func (b *broker) retire(id core.PartitionID, closed func(back func())) {
	r := b.replicas[id]
	if r == nil || !b.running || b.lost != nil {
		return
	}
	delete(b.replicas, id)
	b.dropping[id]++
	b.barred[id] = r.sentEpoch + 1
	b.finish(id, r, func() { closed(func() { b.back(id) }) })
}

// back lets a replica be made again, if it is still assigned.
func (b *broker) back(id core.PartitionID) {
	if b.dropping[id]--; b.dropping[id] == 0 {
		delete(b.dropping, id)
	}
	b.feed.box.post(func() {
		if b.feed.assigns(b.feed.image, id) && b.feed.assigns(b.home.newest, id) {
			b.feed.bring(id)
		}
	})
}

const reassignKind = "reassign"

// reassign moves one partition to as many brokers as it has, or cancels what moves it. Their number stays: with another
// one min.insync.replicas would be another at once, and leaders hear of it later.
func (f *faults) reassign(r *rand.Rand, s *site) {
	home := s.alive()
	if home == nil || !home.ready || len(home.newest.Topics) == 0 {
		return
	}
	topic := pick(r, sortedTopics(home.newest.Topics))
	parts := home.newest.Topics[topic].Partitions
	index := r.IntN(len(parts))
	e := controller.ReassignmentAlteration{ID: core.PartitionID{Topic: topic, Index: int32(index)}}
	if now := parts[index]; len(now.Adding) == 0 || chance(r, 0.7) {
		for _, at := range r.Perm(len(home.brokers))[:len(now.Replicas)-len(now.Removing)] {
			e.Target = append(e.Target, home.brokers[at].id)
		}
	}
	f.world.say("%s: %s is to be on %v", s.id, e.ID, e.Target)
	home.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.AlterReassignments{Ref: ref, Entries: []controller.ReassignmentAlteration{e}}
	}, func(any) {})
}
