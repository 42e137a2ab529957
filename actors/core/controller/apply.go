package controller

import (
	"slices"

	"lockstep/actors/core"
)

func apply(s *State, ev Event) {
	switch ev := ev.(type) {
	case ClusterRestarted:
		s.cluster, s.incarnation, s.defaults = ev.Cluster, ev.Incarnation, ev.Defaults
		clear(s.brokers) // a directory that is not given any more is a broker that is not there
		for _, b := range ev.Brokers {
			s.brokers[b.Broker] = b
		}
		s.setPartitions(ev.Partitions)
		for _, id := range ev.Forgotten {
			delete(s.deleted, id)
		}
	case BrokerChanged:
		s.brokers[ev.Broker.Broker] = ev.Broker
		s.setPartitions(ev.Partitions)
	case PartitionChanged:
		s.setPartitions([]PartitionRecord{ev.Partition})
	case TopicCreated:
		s.addTopic(ev.Topic)
		s.placed += int64(len(ev.Topic.Partitions))
	case TopicDeleted:
		if t := s.topics[ev.Topic]; t != nil {
			s.deleted[ev.Topic] = s.leftover(t)
			for i := range t.partitions {
				delete(s.moving, core.PartitionID{Topic: ev.Topic, Index: int32(i)})
			}
			delete(s.names, t.name)
			delete(s.topics, ev.Topic)
		}
	case PartitionsAdded:
		if t := s.topics[ev.Topic]; t != nil {
			t.partitions = append(slices.Clone(t.partitions), ev.Partitions...)
			s.placed += int64(len(ev.Partitions))
		}
	case TopicConfigured:
		if t := s.topics[ev.Topic]; t != nil {
			t.settings = ev.Settings
		}
	case BrokerConfigured:
		s.setBroker(ev.Settings)
	case FeaturesUpdated:
		s.features = ev.Features
	case ReassignmentChanged:
		s.setPartitions([]PartitionRecord{ev.Partition})
		s.setReassignment(ev.Reassignment)
	case QuotaAltered:
		s.setQuota(ev.Quota)
	case ACLsAltered:
		s.acls = s.acls.Changed(bindings(ev.Added), bindings(ev.Removed))
	case CredentialAltered:
		s.setCredential(ev.Credential)
	case ProducerIDsAllocated:
		s.prefix, s.nextID = ev.Prefix, ev.Next
	default:
		panic("controller: unknown event")
	}
}

func (s *State) addTopic(r TopicRecord) {
	s.topics[r.Topic] = &topic{id: r.Topic, name: r.Name, settings: r.Settings, partitions: slices.Clone(r.Partitions)}
	s.names[r.Name] = r.Topic
	delete(s.deleted, r.Topic) // a mirrored topic that is made again keeps its id
}

func (s *State) setPartitions(changed []PartitionRecord) {
	for _, p := range changed {
		if t, _, known := s.partition(core.PartitionID{Topic: p.Topic, Index: p.Index}); known {
			t.partitions[p.Index] = p
		}
	}
}
