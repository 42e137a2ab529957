package broker

import (
	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/shell"
)

// AlterReassignments is answered with controller.ReassignmentsAnswered. Ref is filled in.
func (c *Cluster) AlterReassignments(cmd controller.AlterReassignments, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// handOver ends a reassignment. A leader that does not stay is closed first, as when its broker is stopped, so that the
// ends its successor is chosen by are those of replicas that hear nothing more from it.
func (c *Cluster) handOver(e controller.HandOver) {
	if e.Leader == core.NoReplica {
		c.finishReassignment(e, func() {})
		return
	}
	if b, ok := c.Broker(e.Leader); ok {
		b.retire(e.ID, func(back func()) { c.finishReassignment(e, back) })
	}
}

// finishReassignment asks until there is an answer: a leader is closed, and its partition waits.
func (c *Cluster) finishReassignment(e controller.HandOver, done func()) {
	logs := c.logsOf(e.ID)
	c.controller.Ask(func(ref core.RequestID) controller.Command {
		return controller.FinishReassignment{Ref: ref, ID: e.ID, Closed: e.Leader, Logs: logs}
	}, func(answer any) {
		if _, failed := answer.(shell.Failed); failed {
			c.system.Clock.Wake(c.Now().Mono+retryNs, func() { c.finishReassignment(e, done) })
			return
		}
		done()
	})
}

// logOf is how far one replica goes, nothing if it is not here.
func (b *Broker) logOf(id core.PartitionID) []controller.ReplicaLog {
	r, ok := b.Replica(id)
	if !ok || b.Err() != nil {
		return nil
	}
	v := r.View()
	return []controller.ReplicaLog{{ID: id, Replica: b.id, LastEpoch: lastEpoch(v.Epochs), LEO: v.LEO}}
}

// retire closes a replica and keeps it from being made again until back is called. After that it leads only in a later
// epoch, because what it promised is forgotten (R12). One that is not here, because its broker was stopped or lost its
// volume, is the controller's to speak of again.
func (b *Broker) retire(id core.PartitionID, closed func(back func())) {
	b.mu.Lock()
	r := b.replicas[id]
	if r == nil || !b.running || b.lost != nil {
		b.mu.Unlock()
		return
	}
	delete(b.replicas, id)
	b.dropping[id]++
	b.retiring[id] = nil
	b.stopping.add(1)
	r.telling.Lock()
	b.barred[id] = r.sentEpoch + 1
	r.telling.Unlock()
	b.mu.Unlock()
	b.finish(id, r, func() { closed(func() { b.back(id) }) })
}

// back lets a retired replica be made again, if it is still assigned.
func (b *Broker) back(id core.PartitionID) {
	b.mu.Lock()
	if b.dropping[id]--; b.dropping[id] == 0 {
		delete(b.dropping, id)
	}
	b.mu.Unlock()
	b.feed.dropped(id)
}
