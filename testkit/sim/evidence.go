package sim

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
	"lockstep/protocol/messages"
)

func reportGate(id core.PartitionID, e highwater.GateApplied) registration.Command {
	return registration.ReportGate{Key: e.Key, ID: id, Epoch: e.Epoch, LeaderEpoch: e.LeaderEpoch, GateStart: e.GateStart}
}

func reportUngated(id core.PartitionID, old highwater.GateState, leo core.Offset) registration.Command {
	return registration.ReportUngated{Key: old.Key, ID: id, Epoch: old.Epoch, LEO: leo}
}

// evidence repeats broker.Cluster.Evidence: T is read before the checks (model G5).
func (p *process) evidence(id core.PartitionID) (t mirror.ClaimTime, e highwater.PublishGates, ok bool) {
	t = mirror.ClaimTime{Clock: p.clock().Wall, Index: int64(p.controller.durable)}
	leader := p.leader(id)
	if leader == nil {
		return t, e, false
	}
	gates := leader.gates
	now, known := p.newest.Partition(id)
	if !known || now.Leader != leader.broker.id || now.LeaderEpoch != gates.Epoch {
		return t, e, false
	}
	e = gates
	e.Gates = make([]highwater.GateState, 0, len(gates.Gates))
	for _, g := range gates.Gates {
		if p.ledger.Confirms(g.Key, id.Topic, g.Epoch) {
			e.Gates = append(e.Gates, g)
		}
	}
	return t, e, true
}

// evidenceFor renders it for one registration, as clusterd/front does; nil when there is nothing to state.
func (p *process) evidenceFor(r *replica, key core.MirrorKey, epoch core.RegistrationEpoch) *messages.PartitionEvidence {
	t, e, ok := p.evidence(r.id)
	if !ok || e.Epoch != r.view.Epoch {
		return nil
	}
	out := messages.NewPartitionEvidence()
	out.SourceEpoch, out.LastUncleanEpoch, out.HasWaiters = int32(e.Epoch), int32(e.LastUnclean), e.HasWaiters
	out.Era, out.Incarnation = int64(p.era(r.id.Topic)), p.newest.Incarnation
	out.HighWatermark = int64(max(e.HW, r.view.HW))
	for _, g := range e.Gates {
		if g.Key == key && g.Epoch == epoch {
			state(&out, g, t)
			out.Partitions = p.partitions(r.id.Topic)
		}
	}
	return &out
}

// era is under which this cluster takes a topic's writes.
func (p *process) era(topic core.TopicID) core.Era {
	return max(p.newest.Sync[topic].Era, p.newest.Mirrors[topic].Era)
}

// reportFence tells the ledger how far a fenced partition is drained, as broker.Replica does.
func (r *replica) reportFence() {
	p := r.broker.home
	if r.view.Fence == 0 || !r.view.IsLeader {
		return
	}
	if now, known := p.newest.Partition(r.id); !known || now.Leader != r.broker.id || now.LeaderEpoch != r.view.Epoch {
		return
	}
	report := registration.ReportFenced{ID: r.id, Number: r.view.Fence, LeaderEpoch: r.view.Epoch, LEO: r.view.LEO}
	if r.gates.Epoch == r.view.Epoch {
		for _, g := range r.gates.Gates {
			report.Floors = append(report.Floors, registration.GateFloor{Key: g.Key, Epoch: g.Epoch, Floor: g.Floor})
		}
	}
	p.registration.tell(report)
}

func (p *process) partitions(topic core.TopicID) int32 {
	t, known := p.newest.Topic(topic)
	if !known {
		return 0
	}
	return int32(len(t.Partitions))
}

func state(out *messages.PartitionEvidence, g highwater.GateState, t mirror.ClaimTime) {
	out.Gating, out.RegistrationEpoch = true, int64(g.Epoch)
	out.GateStart, out.FloorAccepted = int64(g.GateStart), int64(g.Floor)
	out.TimeMs, out.TimeIndex = t.Clock, t.Index
}
