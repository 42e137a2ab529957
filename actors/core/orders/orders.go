// Package orders is what a broker's image says to the replicas of that broker: who leads, in which role,
// and what the high watermark waits for. Pure, so that a simulated broker gives the same orders.
package orders

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
)

// Role is what a leader does with the log of a topic.
func Role(img *image.Image, topic core.TopicID) partition.Role {
	m, mirrored := img.Mirrors[topic]
	switch {
	case !mirrored || m.State == image.MirrorStopped:
		return partition.Writable
	case m.State == image.MirrorStopping:
		return partition.Stopping
	default:
		return partition.Mirroring
	}
}

// Lead is the seat of the leader that p names.
func Lead(img *image.Image, id core.PartitionID, p image.Partition) partition.Lead {
	m := img.Mirrors[id.Topic]
	fence := img.Sync[id.Topic].Fence
	lead := partition.Lead{Epoch: p.LeaderEpoch, Role: Role(img, id.Topic), Replicas: p.Replicas, Fence: partition.Fence{Number: fence.Number, Code: fence.Code, Text: fence.Text, Final: fence.Moved}}
	if lead.Role != partition.Writable {
		lead.Mirror, lead.Session, lead.Opening = m.Mirror, m.Session, m.Opening
	}
	return lead
}

// Applied is what the high watermark of the leader that p names must know of the image.
func Applied(img *image.Image, id core.PartitionID, p image.Partition) highwater.AppliedImage {
	a := highwater.AppliedImage{
		Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: p.ISR, MinISR: p.MinISR,
		Version: img.Version, LastUnclean: p.LastUnclean, Released: img.Sync[id.Topic].Released,
		Incarnation: img.Incarnation,
	}
	for _, replica := range p.Replicas {
		if !img.Brokers[replica].Live {
			a.Fenced = append(a.Fenced, replica)
		}
	}
	for _, g := range img.Sync[id.Topic].Gates {
		a.Gates = append(a.Gates, highwater.Gate{Key: g.Key, Epoch: g.Epoch, Incarnation: g.Incarnation, MinISR: g.MinISR, Plain: g.Plain, Missing: g.Partitions > 0 && id.Index >= g.Partitions})
	}
	if t, known := img.Topic(id.Topic); known {
		a.StrictLedger = t.Config["lockstep.ledger"] == "strict"
	}
	switch Role(img, id.Topic) {
	case partition.Writable:
		a.Mode = highwater.Leading
	case partition.Mirroring:
		a.Mode = highwater.Mirroring
	case partition.Stopping:
		a.Mode = highwater.Stopping
	}
	if m, mirrored := img.Mirrors[id.Topic]; mirrored && a.Mode != highwater.Leading {
		a.MirrorOf = highwater.MirrorOf{Mirror: m.Mirror, PinnedISR: m.PinnedISR, Incarnation: m.Incarnation, Reporting: m.Reporting, Epoch: m.Epoch, RepeatNs: m.RepeatNs}
	}
	return a
}

// Touched lists the partitions that facts say something about, each once: in the order of the facts, and
// within a fact about a whole broker by topic id.
func Touched(facts []image.Fact, before, now *image.Image) []core.PartitionID {
	var list []core.PartitionID
	seen := map[core.PartitionID]bool{}
	add := func(id core.PartitionID) {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	whole := func(topic core.TopicID) {
		for _, img := range []*image.Image{before, now} {
			if t, ok := img.Topic(topic); ok {
				for i := range t.Partitions {
					add(core.PartitionID{Topic: topic, Index: int32(i)})
				}
			}
		}
	}
	for _, fact := range facts {
		switch f := fact.(type) {
		case image.ClusterNamed, image.FeaturesChanged, image.QuotaChanged, image.SettingsChanged, image.ACLsChanged, image.CredentialChanged:
		case image.BrokerChanged: // leaders learn whom the controller would refuse in an ISR
			for _, id := range sorted(now) {
				for i, p := range now.Topics[id].Partitions {
					if slices.Contains(p.Replicas, f.Broker.ID) {
						add(core.PartitionID{Topic: id, Index: int32(i)})
					}
				}
			}
		case image.TopicChanged:
			whole(f.Topic.ID)
		case image.PartitionChanged:
			add(f.ID)
		case image.TopicGone:
			whole(f.ID)
		case image.MirrorTopicChanged:
			whole(f.ID)
		case image.RegistrationsChanged:
			whole(f.ID)
		default:
			panic("orders: unknown fact")
		}
	}
	return list
}

func sorted(img *image.Image) []core.TopicID {
	ids := make([]core.TopicID, 0, len(img.Topics))
	for id := range img.Topics {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b core.TopicID) int { return slices.Compare(a[:], b[:]) })
	return ids
}
