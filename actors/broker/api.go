// Package broker holds the actors of one clusterd process: the logical brokers, their replicas, and the
// coordinators of the cluster. It spawns, supervises and looks up; it performs the effects that machines
// ask for; it carries facts from coordinators into the image of each broker. It decides nothing.
//
// Reply functions run on an actor's goroutine and must not block. Exactly one call is made per request:
// with the effect that answers it, or with shell.Failed.
package broker

import (
	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/journal"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// ID is the name of the cluster.
func (c *Cluster) ID() core.ClusterID { return c.options.Cluster }

// Now is the clock that the actors use; AppendBatch.Deadline is counted on its Mono.
func (c *Cluster) Now() core.Now { return c.system.Clock.Now() }

// Brokers are all logical brokers by id, stopped ones included.
func (c *Cluster) Brokers() []*Broker { return c.brokers }

// Broker looks one up.
func (c *Cluster) Broker(id core.ReplicaID) (*Broker, bool) {
	for _, b := range c.brokers {
		if b.id == id {
			return b, true
		}
	}
	return nil, false
}

// Newest is the image with every fact published so far. Brokers lag behind it: it serves checks of what
// is true now (C4), never answers to clients.
func (c *Cluster) Newest() *image.Image { return c.publisher.newest() }

// ControlQuorum is how far the volumes have the control streams. ok is false where those are on no quorum.
func (c *Cluster) ControlQuorum() (s journal.Standing, ok bool) {
	q, ok := c.options.Control.(interface{ Standing() journal.Standing })
	if !ok {
		return s, false
	}
	return q.Standing(), true
}

// CanGate reports whether mirrors are admitted to gate acknowledgements of this cluster.
func (c *Cluster) CanGate() bool {
	img := c.Newest()
	return !c.options.NoGating && img.Feature("mirror.version") > 0 && img.Feature("mirror.sync.version") > 0
}

// CreatePartitions is answered with controller.Done. Ref is filled in.
func (c *Cluster) CreatePartitions(cmd controller.CreatePartitions, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// AlterTopic is answered with controller.Done. Ref is filled in.
func (c *Cluster) AlterTopic(cmd controller.AlterTopic, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, c.electsUnclean(cmd.Set, cmd.DryRun, reply))
}

// AlterBroker is answered with controller.Done. Ref is filled in.
func (c *Cluster) AlterBroker(cmd controller.AlterBroker, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, c.electsUnclean(cmd.Set, cmd.DryRun, reply))
}

// electsUnclean is reply for a change of settings: one that allows unclean elections is answered once they were held.
func (c *Cluster) electsUnclean(set map[string]string, dryRun bool, reply func(any)) func(any) {
	if dryRun || !controller.AllowsUnclean(set) {
		return reply
	}
	return func(answer any) {
		if done, ok := answer.(controller.Done); !ok || done.Code != perr.None {
			reply(answer)
			return
		}
		var logs []controller.ReplicaLog
		for _, t := range c.Newest().Topics { // has the change, since its answer left behind what was published
			for i, p := range t.Partitions {
				if p.Leader == core.NoReplica {
					logs = append(logs, c.logsOf(core.PartitionID{Topic: t.ID, Index: int32(i)})...)
				}
			}
		}
		// The change stands, whatever becomes of this: it counts with the next broker that comes or goes.
		c.controller.Ask(func(ref core.RequestID) controller.Command { return controller.ElectUnclean{Ref: ref, Logs: logs} }, func(any) { reply(answer) })
	}
}

// AcceptLoss is answered with controller.Done. Ref and Logs are filled in.
func (c *Cluster) AcceptLoss(id core.PartitionID, reply func(any)) {
	logs := c.logsOf(id)
	c.controller.Ask(func(ref core.RequestID) controller.Command {
		return controller.AcceptLoss{Ref: ref, ID: id, Logs: logs}
	}, reply)
}

// ElectPreferred is answered with controller.Done. Ref and Logs are filled in.
func (c *Cluster) ElectPreferred(id core.PartitionID, reply func(any)) {
	logs := c.logsOf(id)
	c.controller.Ask(func(ref core.RequestID) controller.Command {
		return controller.ElectPreferred{Ref: ref, ID: id, Logs: logs}
	}, reply)
}

// logsOf is how far each replica of a partition goes, of those that are here. An operator may ask for the election of
// every partition there is at once, and each question is kept until its turn: it says nothing of the others.
func (c *Cluster) logsOf(id core.PartitionID) (logs []controller.ReplicaLog) {
	for _, b := range c.brokers {
		logs = append(logs, b.logOf(id)...)
	}
	return logs
}

// UpdateFeatures is answered with controller.FeaturesAnswered. Ref is filled in.
func (c *Cluster) UpdateFeatures(cmd controller.UpdateFeatures, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// AlterQuotas is answered with controller.QuotasAnswered. Ref is filled in.
func (c *Cluster) AlterQuotas(cmd controller.AlterQuotas, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// CreateACLs is answered with controller.ACLsCreated. Ref is filled in.
func (c *Cluster) CreateACLs(cmd controller.CreateACLs, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// DeleteACLs is answered with controller.ACLsDeleted. Ref is filled in.
func (c *Cluster) DeleteACLs(cmd controller.DeleteACLs, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// AlterCredentials is answered with controller.CredentialsAnswered. Ref is filled in.
func (c *Cluster) AlterCredentials(cmd controller.AlterCredentials, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// CreateTopic is answered with controller.CreatedTopic. Ref and, when zero, Fresh are filled in.
func (c *Cluster) CreateTopic(cmd controller.CreateTopic, reply func(any)) {
	if cmd.Fresh.IsZero() {
		cmd.Fresh = core.TopicID(randomID())
	}
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// DeleteTopic is answered with controller.Done. Ref is filled in.
func (c *Cluster) DeleteTopic(cmd controller.DeleteTopic, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// RaiseEpoch is answered with controller.EpochRaised. Ref is filled in.
func (c *Cluster) RaiseEpoch(cmd controller.RaiseEpoch, reply func(any)) {
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, reply)
}

// AllocateProducerIDs is answered with controller.ProducerIDs. Ref, Above and Prefix are filled in. For
// single ids use Broker.ProducerID.
func (c *Cluster) AllocateProducerIDs(cmd controller.AllocateProducerIDs, reply func(any)) {
	cmd.Prefix = randomPrefix()
	c.controller.Ask(func(ref core.RequestID) controller.Command { cmd.Ref = ref; return cmd }, func(answer any) {
		ids, ok := answer.(controller.ProducerIDs)
		if used := c.highestProducerID(ids.First); ok && used >= ids.First {
			cmd.Above = used
			c.AllocateProducerIDs(cmd, reply)
			return
		}
		if ok {
			c.mu.Lock()
			c.prefix = int32(ids.First >> 32)
			c.mu.Unlock()
		}
		reply(answer)
	})
}

// ProducerPrefix is what every producer id of this cluster begins with (D24); -1 until the first block was
// drawn, which Start does.
func (c *Cluster) ProducerPrefix() int32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.prefix
}

// StopBroker fences a broker and closes its replicas; answered with controller.Done. Its volume stays open
// as a voter of the control quorum. Its listener is the daemon's to close first.
func (c *Cluster) StopBroker(id core.ReplicaID, reply func(any)) {
	c.stopBroker(id, "stopped by an operator", reply)
}

// StartBroker undoes StopBroker, reopening a poisoned volume first; answered with controller.Done.
func (c *Cluster) StartBroker(id core.ReplicaID, reply func(any)) { c.startBroker(id, reply) }

// ReportFloor hands a destination's report to the HW actor of the partition's newest leader. A partition
// without a live leader forgets it: it is repeated.
func (c *Cluster) ReportFloor(id core.PartitionID, report highwater.ReportFloor) {
	if r, ok := c.Leader(id); ok {
		r.highwater.Tell(report)
	}
}

// ReportReplicas does the same with the list of a peer that speaks only the KIP (R14).
func (c *Cluster) ReportReplicas(id core.PartitionID, report highwater.ReportReplicas) {
	if r, ok := c.Leader(id); ok {
		r.highwater.Tell(report)
	}
}

// ID is the broker's id within its cluster.
func (b *Broker) ID() core.ReplicaID { return b.id }

// Image is what this broker knows of the cluster now: released facts, immutable.
func (b *Broker) Image() *image.Image { return b.feed.image.Load() }

// Layers are where this broker finds its settings in an image, those of t too unless it is nil.
func (b *Broker) Layers(img *image.Image, t *image.Topic) controller.Layers {
	l := controller.Layers{Broker: img.Settings[b.id], Cluster: img.Settings[core.NoReplica], Static: b.cluster.options.Settings}
	if t != nil {
		l.Topic = t.Config
	}
	return l
}

// HoldImage keeps new facts from this broker until it is called with false: the lag between brokers is
// part of the specification, and tests hold it back (D9).
func (b *Broker) HoldImage(hold bool) { b.feed.setHold(hold) }

// Replica looks up this broker's replica of a partition. A stopped broker has none.
func (b *Broker) Replica(id core.PartitionID) (*Replica, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, ok := b.replicas[id]
	return r, ok
}

// Replicas are all replicas of this broker, in no order.
func (b *Broker) Replicas() []*Replica {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := make([]*Replica, 0, len(b.replicas))
	for _, r := range b.replicas {
		list = append(list, r)
	}
	return list
}

// ProducerID draws one producer id from the broker's block (D24). reply gets -1 and a text when the
// controller could not be asked; the client may retry.
func (b *Broker) ProducerID(reply func(id int64, text string)) { b.producerIDs.next(reply) }

// ID names the partition.
func (r *Replica) ID() core.PartitionID { return r.id }

// Broker is where the replica lives.
func (r *Replica) Broker() core.ReplicaID { return r.broker.id }

// View is what readers may know: released facts only.
func (r *Replica) View() partition.View { return *r.view.Load() }

// Gates is what the leader last published of its gates. For evidence use Evidence, which checks it.
func (r *Replica) Gates() highwater.PublishGates { return *r.gates.Load() }

// Floor is the newest floor that this destination leader published, for the next fetch to carry. ok is
// false while there is none.
func (r *Replica) Floor() (floor highwater.PublishFloor, ok bool) {
	if f := r.floor.Load(); f != nil {
		return *f, true
	}
	return highwater.PublishFloor{}, false
}

// Read returns whole batches that end below below, starting with the one that holds from, up to max
// bytes but always the first: from the tail cache when it has them, else from the journal. Callers bound
// below by View and do not change the bytes, which others read too. Safe from any goroutine; it may block
// on the disk.
func (r *Replica) Read(from, below core.Offset, max int) ([]journal.StoredBatch, error) {
	return r.read(from, below, max)
}

// What Tail says of an offset beside the CRC of a batch.
const (
	NoTail    = -1 // the offset is not in the log
	OtherTail = -2 // it is, and no batch ends there
)

// Tail is the CRC of the batch whose last record is at an offset, or NoTail or OtherTail. Two logs with the same batch
// in the same place have the same history (R11). A batch that compaction has written again says nothing of that: NoTail. Safe from any goroutine; it may block on the disk. An error comes with
// NoTail.
func (r *Replica) Tail(at core.Offset) (int64, error) {
	view := r.View()
	if at < view.LogStart || at >= view.LEO {
		return NoTail, nil
	}
	stored, err := r.read(at, view.LEO, 0)
	if err != nil || len(stored) == 0 {
		return NoTail, err
	}
	b, _, err := batch.Parse(stored[0].Bytes)
	switch {
	case err != nil:
		return NoTail, err
	case b.Cleaned() && cleanedIsNotCompared:
		return NoTail, nil
	case stored[0].Last != at:
		return OtherTail, nil
	default:
		return int64(b.Checksum()), nil
	}
}

// FindTimestamp returns the first batch with MaxTimestamp >= ts at or above from, if any.
func (r *Replica) FindTimestamp(from core.Offset, ts int64) (journal.StoredBatch, bool, error) {
	return r.store.FindTimestamp(r.stream, from, ts)
}

// Tell hands over a command without an answer.
func (r *Replica) Tell(cmd partition.Command) { r.partition.Tell(cmd) }

// Ask hands over a command and returns its reference at once. Batches are refused with shell.Failed while
// the volume is full.
func (r *Replica) Ask(build func(core.RequestID) partition.Command, reply func(any)) core.RequestID {
	ref := r.broker.cluster.system.NextRequest()
	cmd := build(ref)
	switch cmd.(type) {
	case partition.AppendBatch, partition.AppendMirrored, partition.WriteMarker:
		// Before anything is appended: a full volume refuses, it does not poison.
		if err := r.store.Admit(); err != nil {
			if lost := r.store.Err(); lost != nil {
				r.broker.volumeLost(lost)
			}
			reply(shell.Failed{Code: perr.KafkaStorageError, Text: err.Error()})
			return ref
		}
	default: // appends nothing that a caller could be refused
	}
	r.partition.AskAs(ref, cmd, reply)
	return ref
}

// Unpark forgets a parked fetch and its reply function. The wake-up may already be on its way.
func (r *Replica) Unpark(ref core.RequestID) {
	r.partition.Cancel(ref, partition.UnparkFetch{Ref: ref})
}
