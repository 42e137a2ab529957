package broker

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/orders"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
)

func (r *Replica) performPartition(f partition.Effect) {
	c := r.broker.cluster
	switch e := f.(type) {
	case partition.TellHighWatermark:
		r.tellHighWatermark(e.Command)
	case partition.TellReplica:
		if join, joins := e.Command.(partition.JoinLeader); joins {
			r.askToJoin(e.To, join)
		} else if other, ok := c.replica(e.To, r.id); ok {
			other.partition.Tell(e.Command)
		}
	case partition.ReportDurable:
		r.reportDurable(e)
	case partition.ReadLeaderLog:
		r.broker.io.Post(func() { r.catchUp(e) })
	case partition.QuarantineRange:
		r.broker.io.Post(func() { r.quarantine(e) })
	case partition.PublishView:
		r.publishView(e.View)
		r.reportFence()
	case partition.CacheBatch:
		r.tail.add(e.Batch)
	case partition.DropCache:
		r.tail.dropFrom(e.From)
	case partition.DropCacheHead:
		r.tail.dropBelow(e.Below)
	case partition.AckProduce, partition.ArmTimer, partition.MarkerWritten, partition.MirrorAnswered, partition.MirrorFenced, partition.PidResetWritten,
		partition.ProducersDescribed, partition.RecordsDeleted, partition.CleaningPrepared, partition.BatchesCleaned, partition.RefuseProduce, partition.WakeFetch:
		panic(fmt.Sprintf("broker: %T is routed by the shell", f))
	default:
		panic(fmt.Sprintf("broker: unknown partition effect %T", f))
	}
}

// askToJoin reaches a leader also before its own broker has heard that there is such a replica.
func (r *Replica) askToJoin(leader core.ReplicaID, join partition.JoinLeader) {
	b, known := r.broker.cluster.Broker(leader)
	p, exists := r.broker.cluster.Newest().Partition(r.id)
	if !known || !exists || !b.assigned(p) {
		return
	}
	if other := b.ensure(r.id); other != nil {
		other.join(join)
	}
}

// publishView replaces what readers see. A leader shows at once what an earlier leader of this process has
// shown, which its own ledger may still have to write down: HW does not go back for the milliseconds between
// (I14).
func (r *Replica) publishView(v partition.View) {
	if v.IsLeader && v.Role != partition.Mirroring {
		v = v.Shown(r.known.shown.upTo(v.LEO))
		r.known.shown.raise(v.HW)
	}
	r.view.Store(&v)
	r.lagging.shown(v)
}

// tellHighWatermark begins and ends terms on the way. A leader's HW starts at what any ledger of the
// process, or any earlier leader of it, has let out, as far as its log goes: HW is never a reason to
// take back an ack.
func (r *Replica) tellHighWatermark(cmd highwater.Command) {
	switch started := cmd.(type) {
	case highwater.LeaderStarted:
		r.floor.Store(nil)
		if lossLowersHW {
			r.known.acked.lower(started.LEO)
			r.known.shown.lower(started.LEO)
		}
		// A mirror's log may have been cut since: what it may show, its source says again.
		if known := r.known.acked.upTo(started.LEO); known > started.HW && (started.Mode != highwater.Mirroring || !mirrorsForgetTheirHW) {
			started.HW = known
			r.partition.Tell(partition.Advanced{Epoch: started.Epoch, HW: known})
		}
		r.highwater.Tell(started)
		r.tellImage()
	case highwater.StepDown:
		r.floor.Store(nil)
		r.highwater.Tell(cmd)
	default:
		r.highwater.Tell(cmd)
	}
}

func (r *Replica) reportDurable(e partition.ReportDurable) {
	self := r.broker.id
	r.reported.Store(&e)
	report := highwater.ReportReplica{Replica: self, Epoch: e.Epoch, Term: e.Term, LEO: e.LEO}
	if e.Leader == self {
		r.highwater.Tell(report)
		return
	}
	if leader, ok := r.broker.cluster.replica(e.Leader, r.id); ok {
		leader.highwater.Tell(report)
		leader.partition.Tell(partition.ReplicaReported{Replica: self, Epoch: e.Epoch, Term: e.Term, LEO: e.LEO})
	}
}

func (r *Replica) performHighWatermark(f highwater.Effect) {
	c := r.broker.cluster
	switch e := f.(type) {
	case highwater.Advance:
		if r.view.Load().Role != partition.Mirroring || !mirrorsForgetTheirHW {
			r.known.acked.raise(e.HW)
		}
		r.confirmed(len(e.Confirmed))
		r.partition.Tell(partition.Advanced(e))
	case highwater.Show:
		r.partition.Tell(partition.Shown(e))
	case highwater.Refuse:
		r.partition.Tell(partition.Refused{Epoch: e.Epoch, Refs: e.Refs, Code: e.Code, Text: e.Text})
	case highwater.ChangeAdmission:
		r.partition.Tell(partition.AdmissionChanged{Epoch: e.Epoch, Code: e.Code, Text: e.Text, Gated: e.Gated, Closed: e.Closed, R: e.R, H: e.H})
	case highwater.ProposeISR:
		c.controller.Tell(controller.ChangeISR{ID: r.id, Leader: r.broker.id, Epoch: e.Epoch, PartitionEpoch: e.PartitionEpoch, ISR: e.ISR})
	case highwater.PublishFloor:
		r.floor.Store(&e)
		c.withBus(func(b Bus) { b.PublishFloor(r.id, e) })
	case highwater.PublishGates:
		r.publishGates(e)
	case highwater.GateApplied:
		c.registration.Tell(registration.ReportGate{Key: e.Key, ID: r.id, Epoch: e.Epoch, LeaderEpoch: e.LeaderEpoch, GateStart: e.GateStart})
	case highwater.ConfirmAddition:
		c.registration.Tell(registration.ReportAddition{Key: e.Key, ID: r.id, Epoch: e.Epoch})
	case highwater.NoteStamp:
		r.highwater.Tell(highwater.StampDurable{Number: e.Number})
	case highwater.ArmTimer:
		panic(fmt.Sprintf("broker: %T is routed by the shell", f))
	default:
		panic(fmt.Sprintf("broker: unknown high watermark effect %T", f))
	}
}

// publishGates also tells the ledger of gates that this leader no longer applies: a stop waits for it (F17).
func (r *Replica) publishGates(e highwater.PublishGates) {
	c, before := r.broker.cluster, r.gates.Swap(&e)
	if before.Epoch == e.Epoch {
		for _, old := range before.Gates {
			if !orders.Applies(e, old) {
				c.registration.Tell(registration.ReportUngated{Key: old.Key, ID: r.id, Epoch: old.Epoch, LEO: r.View().LEO})
			}
		}
	}
	r.reportFence()
	c.withBus(func(b Bus) { b.GatesChanged(r.id) })
}

// reportFence tells the ledger how far a fenced partition is drained: its LEO, final since the fence, and the floors
// accepted in the same epoch. The view and the gates come from two actors; whichever is released last sees both.
func (r *Replica) reportFence() {
	c, v, g := r.broker.cluster, r.View(), r.Gates()
	if v.Fence == 0 || !v.IsLeader {
		return
	}
	if p, known := c.Newest().Partition(r.id); !known || p.Leader != r.broker.id || p.LeaderEpoch != v.Epoch {
		return
	}
	if c.holdsUpHandover(r, v) {
		return
	}
	report := registration.ReportFenced{ID: r.id, Number: v.Fence, LeaderEpoch: v.Epoch, LEO: v.LEO}
	if g.Epoch == v.Epoch {
		for _, gate := range g.Gates {
			report.Floors = append(report.Floors, registration.GateFloor{Key: gate.Key, Epoch: gate.Epoch, Floor: gate.Floor})
		}
	}
	c.registration.Tell(report)
}
