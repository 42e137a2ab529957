package front

import (
	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// mirrorFetch is what a Fetch v20 says as a mirror: which partitions it reports floors of, and whether
// they are gated. The methods of a nil mirrorFetch are those of an ordinary consumer's fetch.
type mirrorFetch struct {
	front   *Front
	key     core.MirrorKey
	plain   bool // the peer speaks only the KIP: lists instead of floors
	reports map[core.PartitionID]report
	soon    bool // a list is behind: the peer must be able to send the next one
}

// report is the standing of one reported partition when the request arrived.
type report struct {
	epoch    core.RegistrationEpoch
	refusal  perr.Code // 952 or 953; None: registered, and read up to LEO
	released core.ReleaseNumber
	leaving  bool // released, and acks still wait for its floors (C4)
}

// takeReports hands the floors of a fetch to the leaders' HW actors. Only a key that this broker's image
// has registered counts; anybody else's report is ignored and denied per partition, and never lets the
// sender read above HW (C1, F47).
func (f *Front) takeReports(r *messages.FetchRequest, from Client) *mirrorFetch {
	if r.Version < 20 {
		return nil
	}
	m := &mirrorFetch{front: f, reports: map[core.PartitionID]report{}}
	for _, t := range r.MirrorReplicaInfo.Topics {
		for _, p := range t.Partitions {
			m.reports[core.PartitionID{Topic: t.TopicId, Index: p.Partition}] = report{refusal: perr.InvalidSyncRegistration}
		}
	}
	floors := r.MirrorReplicaInfo.Floors
	if floors == nil {
		m.takeLists(r, from)
		return m
	}
	m.key = core.MirrorKey{Cluster: core.ClusterID(floors.DestinationCluster), Mirror: core.MirrorName(floors.MirrorName)}
	img := f.broker.Image()
	for _, t := range floors.Topics {
		for _, p := range t.Partitions {
			id := core.PartitionID{Topic: t.TopicId, Index: p.Partition}
			standing := f.standing(img, m.key, t.TopicId, core.RegistrationEpoch(p.RegistrationEpoch))
			m.reports[id] = standing
			if standing.refusal == perr.None || standing.leaving {
				f.cluster.ReportFloor(id, floorOf(m.key, p))
			}
		}
	}
	return m
}

// reportsFloors tells a fetch that acks may hang on: whose it is must have the right to act for the cluster (F47).
func reportsFloors(r *messages.FetchRequest) bool {
	info := &r.MirrorReplicaInfo
	return r.Version >= 20 && (len(info.Topics) > 0 || info.Floors != nil && len(info.Floors.Topics) > 0)
}

// standing judges a registration epoch. The image decides; an epoch that it does not have is looked up in
// the ledger: known there, this broker will apply it soon (953); unknown there, it is void (952). Both end
// the mirror's read above HW, neither its async reads (C1, C5).
func (f *Front) standing(img *image.Image, key core.MirrorKey, topic core.TopicID, epoch core.RegistrationEpoch) report {
	var own image.Gate
	gating := false
	for _, g := range img.Sync[topic].Gates {
		if g.Key == key && (g.Epoch == epoch || epoch == unnamed && g.Plain) {
			own, gating = g, true
		}
	}
	entry, known := f.cluster.Registrations().Look(key, topic)
	// A mirror that was released hears of it at once, also while acks still wait for it (C4).
	leaving := gating && known && entry.Epoch == 0 && entry.Released != 0
	if gating {
		epoch = own.Epoch
	}
	if gating && !leaving {
		return report{epoch: epoch}
	}
	switch {
	case known && entry.Epoch != 0 && (entry.Epoch == epoch || epoch == unnamed) && tellPropagatingApart:
		return report{epoch: epoch, refusal: perr.MirrorRegistrationPropagating}
	case known && entry.Released != 0:
		told := registration.ReportTold{Key: key, Topic: topic, Number: entry.Released}
		f.cluster.Registration(func(core.RequestID) registration.Command { return told }, nil)
	default:
		f.log.Warn("a mirror reports under a registration that the ledger does not have", "mirror", key.String(),
			"topic", topic.String(), "registration_epoch", int64(epoch))
	}
	return report{epoch: epoch, refusal: perr.InvalidSyncRegistration, released: entry.Released, leaving: leaving}
}

// gates reports whether acknowledgements here wait, or are about to wait, for what this fetch reports.
func (m *mirrorFetch) gates() bool {
	if m == nil {
		return false
	}
	for _, r := range m.reports {
		if r.refusal == perr.None || r.refusal == perr.MirrorRegistrationPropagating || r.leaving {
			return true
		}
	}
	return false
}

// unnamed stands for the registration of a peer that speaks only the KIP, which names none.
const unnamed = core.RegistrationEpoch(-1)

func floorOf(key core.MirrorKey, p messages.ReplicaFloorsPartition) highwater.ReportFloor {
	return highwater.ReportFloor{
		Key:         key,
		Epoch:       core.RegistrationEpoch(p.RegistrationEpoch),
		SourceEpoch: core.LeaderEpoch(p.SourceEpoch),
		Incarnation: p.DataIncarnation,
		Floor:       core.Offset(p.Floor),
		ISRSize:     p.IsrSize,
		MinISR:      p.MinIsr,
		DestEpoch:   core.LeaderEpoch(p.DestinationEpoch),
		Seq:         p.Seq,
		Unsynced:    p.Unsynced,

		SourceIncarnation: p.SourceIncarnation,
	}
}

// bound is up to where this fetch may read a partition, or why it may not read it at all. It is judged
// again at each attempt: a registration that was released meanwhile ends the read above HW at once.
func (m *mirrorFetch) bound(id core.PartitionID, isolation int8) (partition.Position, perr.Code) {
	if m != nil {
		if r, reported := m.reports[id]; reported {
			if r.refusal == perr.None {
				r = m.front.standing(m.front.broker.Image(), m.key, id.Topic, m.named(r.epoch))
				m.reports[id] = r
			}
			if r.refusal != perr.None && denyUnregistered {
				return partition.PositionLEO, r.refusal
			}
			return partition.PositionLEO, perr.None
		}
	}
	if !mirrorsAloneReadAboveHW {
		return partition.PositionLEO, perr.None
	}
	if isolation == 1 {
		return partition.PositionLSO, perr.None
	}
	return partition.PositionHW, perr.None
}

// state adds what the leader states of its gates, also beside an error: a destination needs the
// cumulative unclean epoch before it adopts a source epoch (R11). Evidence about the gate itself is
// positive only and checked at this instant (C4). replica is nil when this broker does not lead.
func (m *mirrorFetch) state(out *answeredPartition, asked *askedPartition, id core.PartitionID, replica *broker.Replica) {
	if m == nil {
		return
	}
	if replica != nil && asked.CompareOffset >= 0 {
		out.ComparedCrc = m.front.tail(replica, core.Offset(asked.CompareOffset))
	}
	r := m.reports[id]
	out.ReleaseNumber = int64(r.released)
	if replica != nil {
		out.ForgottenBefore = int64(replica.View().Forgotten)
		out.Evidence = evidenceFor(m.front.cluster, replica, m.key, r.epoch)
	}
}

// tail says what batch ends at an offset of our log, whether it is committed or not: a mirror compares it with its own,
// since epochs alone do not tell a source that was restored from an older copy, which counts them again (R11).
func (f *Front) tail(replica *broker.Replica, at core.Offset) int64 {
	crc, err := replica.Tail(at)
	if err != nil {
		f.log.Error("reading a partition failed", "partition", replica.ID().String(), "offset", int64(at), "reason", err.Error())
	}
	return crc
}

// evidenceFor renders what the leader states of its gates at this instant; nil when the controller's
// newest word is another leader or another epoch.
func evidenceFor(c *broker.Cluster, r *broker.Replica, key core.MirrorKey, epoch core.RegistrationEpoch) *messages.PartitionEvidence {
	e, ok := c.Evidence(r.ID())
	view := r.View()
	if !ok || e.Epoch != view.Epoch {
		return nil
	}
	out := messages.NewPartitionEvidence()
	out.SourceEpoch, out.LastUncleanEpoch, out.HasWaiters = int32(e.Epoch), int32(e.LastUnclean), e.HasWaiters
	out.Era, out.Unsynced, out.Incarnation = int64(e.Era), e.Unsynced, e.Incarnation
	out.HighWatermark = int64(max(e.HW, view.HW)) // gates are published when they change, the view at every advance
	for _, g := range e.Gates {
		if g.Key == key && g.Epoch == epoch {
			out.Gating, out.RegistrationEpoch = true, int64(g.Epoch)
			out.GateStart, out.FloorAccepted = int64(g.GateStart), int64(g.Floor)
			out.TimeMs, out.TimeIndex = e.T.Clock, e.T.Index
			out.LeaseMs, out.Promised, out.Partitions = e.LeaseMs, e.Promised, e.Partitions
		}
	}
	return &out
}
