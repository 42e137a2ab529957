package front

import (
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// listWait is how long a fetch may park whose list says that replicas are behind. Only the next fetch can say
// that they have caught up, and producers may wait for it (F45).
const listWait = 20 * time.Millisecond

// takeLists hands the lists of a peer that speaks only the KIP to the HW actors of the partitions that this
// broker leads (R14). Such a peer names no cluster and no registration: it is known by the mirror's name. Nothing
// orders its lists but the connection, so what one has left behind that ended is not believed: the peer may have
// said less on another since, because a replica joined that has less (F07).
func (m *mirrorFetch) takeLists(r *messages.FetchRequest, from Client) {
	m.key, m.plain = core.MirrorKey{Mirror: core.MirrorName(r.MirrorReplicaInfo.MirrorName)}, true
	img := m.front.broker.Image()
	gone := len(r.MirrorReplicaInfo.Topics) > 0 && from.ended != nil && from.ended() && listsOfOpenConnections
	entries := map[core.PartitionID]*askedPartition{}
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			entries[core.PartitionID{Topic: r.Topics[i].TopicId, Index: p.Partition}] = p
		}
	}
	for _, t := range r.MirrorReplicaInfo.Topics {
		for i := range t.Partitions {
			id := core.PartitionID{Topic: t.TopicId, Index: t.Partitions[i].Partition}
			standing := m.front.standing(img, m.key, id.Topic, unnamed)
			m.reports[id] = standing
			if own := entries[id]; (standing.refusal == perr.None || standing.leaving) && own != nil && !gone {
				m.takeList(id, standing.epoch, own, &t.Partitions[i])
			}
		}
	}
}

// takeList compares the fetch with the leader's log and passes on what it says. What stands in an epoch that is
// not the leader's says nothing of its log, neither good nor bad.
func (m *mirrorFetch) takeList(id core.PartitionID, epoch core.RegistrationEpoch, own *askedPartition, p *messages.FetchRequestMirroredTopicPartition) {
	topic, known := m.front.broker.Image().Topic(id.Topic)
	if !known {
		return
	}
	_, view, code := m.front.leaderHere(topic, id.Index)
	if code != perr.None || fenceEpoch(view, own.CurrentLeaderEpoch) != perr.None {
		return
	}
	list := highwater.ReportReplicas{
		Key: m.key, Epoch: epoch, SourceEpoch: core.LeaderEpoch(own.CurrentLeaderEpoch), LastFetched: core.LeaderEpoch(own.LastFetchedEpoch),
		Agrees: agrees(view, own), FetchOffset: core.Offset(own.FetchOffset), MinISR: p.MinISR,
	}
	for _, r := range p.ReplicaLastOffsets {
		list.Replicas = append(list.Replicas, highwater.ReplicaLEO{Replica: core.ReplicaID(r.ReplicaId), LEO: core.Offset(r.LastFetchOffset)})
		m.soon = m.soon || core.Offset(r.LastFetchOffset) < view.LEO
	}
	for _, member := range p.ISR {
		list.ISR = append(list.ISR, core.ReplicaID(member))
	}
	m.front.cluster.ReportReplicas(id, list)
}

// agrees is the divergence check of a fetch: the asker's log below its offset is ours.
func agrees(view partition.View, own *askedPartition) bool {
	at := core.Offset(own.FetchOffset)
	if own.LastFetchedEpoch < 0 || at < view.LogStart || at > view.LEO {
		return false
	}
	epoch, end := partition.EndOffsetForEpoch(view, core.LeaderEpoch(own.LastFetchedEpoch))
	return end != core.Unknown && int32(epoch) == own.LastFetchedEpoch && end >= at
}

// named is the registration epoch that the peer reads under, as it can name it.
func (m *mirrorFetch) named(epoch core.RegistrationEpoch) core.RegistrationEpoch {
	if m.plain {
		return unnamed
	}
	return epoch
}

// reportsAgain reports whether the peer has more to say soon, and can say it only in its next fetch.
func (m *mirrorFetch) reportsAgain() bool { return m != nil && m.soon }

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
