package broker

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
)

// Evidence is what a source may tell destinations about one partition, checked at the instant T (C4).
type Evidence struct {
	T           mirror.ClaimTime
	Epoch       core.LeaderEpoch
	HW          core.Offset
	HasWaiters  bool
	LastUnclean core.LeaderEpoch
	Era         core.Era // under which this cluster takes the topic's writes
	// Gates that the leader applies and the ledger confirms. A mirror that is not among them is told
	// nothing: evidence is positive only (F13).
	Gates []highwater.GateState
	// LeaseMs is how long a release after the lease withholds acks here; Promised: every release does (C4).
	LeaseMs  int64
	Promised bool
	// Partitions is how many the topic has. One that is made after T takes no ack before T.
	Partitions int32
	Unsynced   bool // this cluster runs with durability=os (R14)
	// Incarnation is of this process: what a destination adopted of another one says nothing here (R3).
	Incarnation core.Incarnation
}

// Evidence composes it. ok is false when the partition has no leader in the controller's newest epoch
// that has published its gates.
//
// T is read before the checks. An ack outside the gate needs a release that is durable, in the ledger
// and in an image, in this order, or a newer epoch: either shows in a check made after T, so T vouches
// for nothing that was acknowledged without us (model G5).
func (c *Cluster) Evidence(id core.PartitionID) (e Evidence, ok bool) {
	t := mirror.ClaimTime{Clock: c.Now().Wall, Index: int64(c.controller.Durable())}
	leader, found := c.Leader(id)
	if !found {
		return Evidence{}, false
	}
	gates := leader.Gates()
	p, known := c.Newest().Partition(id)
	if !known || checkEpochForEvidence && (p.Leader != leader.Broker() || p.LeaderEpoch != gates.Epoch) {
		return Evidence{}, false
	}
	e = Evidence{T: t, Epoch: gates.Epoch, HW: gates.HW, HasWaiters: gates.HasWaiters, LastUnclean: gates.LastUnclean}
	e.Incarnation = c.Newest().Incarnation
	e.Era = max(c.Newest().Sync[id.Topic].Era, c.Newest().Mirrors[id.Topic].Era)
	if topic, known := c.Newest().Topic(id.Topic); known {
		e.Partitions = int32(len(topic.Partitions))
	}
	ledger := c.Registrations()
	e.LeaseMs, e.Promised, e.Unsynced = ledger.Lease, ledger.Promised, c.options.Mirrors.Unsynced
	for _, g := range gates.Gates {
		if !checkLedgerForEvidence || ledger.Confirms(g.Key, id.Topic, g.Epoch) {
			e.Gates = append(e.Gates, g)
		}
	}
	return e, true
}
