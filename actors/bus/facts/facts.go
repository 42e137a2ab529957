// Package facts turns what travels between clusters into the commands of machines and back. The bytes are
// the same on the bus and in a Fetch, so the commands are too: whichever comes first counts.
package facts

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// Floor is a published floor as it travels.
func Floor(id core.PartitionID, f highwater.PublishFloor) messages.ReplicaFloorsPartition {
	return messages.ReplicaFloorsPartition{Partition: id.Index, SourceEpoch: int32(f.SourceEpoch), RegistrationEpoch: int64(f.Epoch),
		DataIncarnation: f.Incarnation, Floor: int64(f.Floor), IsrSize: f.ISRSize, MinIsr: f.MinISR,
		DestinationEpoch: int32(f.DestEpoch), Seq: f.Seq, Unsynced: f.Unsynced, SourceIncarnation: f.SourceIncarnation}
}

// AddFloor appends a floor to m. Calls for one topic follow each other.
func AddFloor(m *messages.ReplicaFloors, id core.PartitionID, f highwater.PublishFloor) {
	n := len(m.Topics)
	if n == 0 || core.TopicID(m.Topics[n-1].TopicId) != id.Topic {
		m.Topics = append(m.Topics, messages.ReplicaFloorsTopic{TopicId: id.Topic})
		n++
	}
	m.Topics[n-1].Partitions = append(m.Topics[n-1].Partitions, Floor(id, f))
}

// Report is a floor as the HW actor of the source takes it. Nothing in it is trusted: the HW actor fences
// it by source epoch and incarnation, registration epoch and data incarnation (R3), and bounds it by its own log.
func Report(key core.MirrorKey, p *messages.ReplicaFloorsPartition) highwater.ReportFloor {
	return highwater.ReportFloor{Key: key, Epoch: core.RegistrationEpoch(p.RegistrationEpoch), SourceEpoch: core.LeaderEpoch(p.SourceEpoch),
		Incarnation: p.DataIncarnation, Floor: core.Offset(p.Floor), ISRSize: p.IsrSize, MinISR: p.MinIsr,
		DestEpoch: core.LeaderEpoch(p.DestinationEpoch), Seq: p.Seq, Unsynced: p.Unsynced, SourceIncarnation: p.SourceIncarnation}
}

// Evidence is what a source leader states, as the mirror's actor takes it. sent is when the request or
// floor that it answers left, in mono ns of the actors' clock; 0 when nobody knows, which proves no contact
// (F19).
func Evidence(id core.PartitionID, sent int64, e *messages.PartitionEvidence) mirror.ReportEvidence {
	return mirror.ReportEvidence{ID: id, Sent: sent, Epoch: core.RegistrationEpoch(e.RegistrationEpoch),
		SourceEpoch: core.LeaderEpoch(e.SourceEpoch), GateStart: core.Offset(e.GateStart), Floor: core.Offset(e.FloorAccepted),
		Era: core.Era(e.Era), T: mirror.ClaimTime{Clock: e.TimeMs, Index: e.TimeIndex},
		LeaseMs: e.LeaseMs, Promised: e.Promised, Partitions: e.Partitions}
}
