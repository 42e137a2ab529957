// Package controller decides the metadata of one cluster: which brokers may lead, which topics exist,
// who leads what under which epoch, and which ISR is committed.
package controller

import (
	"cmp"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
)

// State is hard throughout: a function of the journaled events.
type State struct {
	cluster     core.ClusterID
	incarnation core.Incarnation
	defaults    DefaultsRecord
	brokers     map[core.ReplicaID]BrokerRecord
	topics      map[core.TopicID]*topic
	names       map[string]core.TopicID
	deleted     map[core.TopicID]DeletedRecord    // topics whose logs may still lie on volumes
	placed      int64                             // partitions ever placed: where the next topic's leaders start
	features    []FeatureRecord                   // changed by an operator, by name; others are at their highest level
	quotas      map[image.QuotaEntity]QuotaRecord // of clients
	acls        access.Rules
	credentials map[access.UserMechanism]CredentialRecord // of users, for SCRAM
	moving      map[core.PartitionID]ReassignmentRecord   // partitions whose replicas change, or changed
	brokerSets  map[core.ReplicaID]BrokerSettingsRecord   // of running brokers; NoReplica: of all
	prefix      int32                                     // upper 31 bits of producer ids; 0: none yet
	nextID      int64                                     // next producer id counter
}

// topic owns its partitions slice; the records' own slices are never mutated.
type topic struct {
	id         core.TopicID
	name       string
	settings   []SettingRecord // sorted by name
	partitions []PartitionRecord
}

func newState() *State {
	return &State{
		brokers: map[core.ReplicaID]BrokerRecord{},
		topics:  map[core.TopicID]*topic{},
		names:   map[string]core.TopicID{},
		deleted: map[core.TopicID]DeletedRecord{},
		moving:  map[core.PartitionID]ReassignmentRecord{},
		quotas:  map[image.QuotaEntity]QuotaRecord{},

		credentials: map[access.UserMechanism]CredentialRecord{},
		brokerSets:  map[core.ReplicaID]BrokerSettingsRecord{},
	}
}

func (s *State) partition(id core.PartitionID) (*topic, PartitionRecord, bool) {
	t := s.topics[id.Topic]
	if t == nil || id.Index < 0 || int(id.Index) >= len(t.partitions) {
		return nil, PartitionRecord{}, false
	}
	return t, t.partitions[id.Index], true
}

// inOrder lists topics by name, so that decisions do not depend on map order.
func (s *State) inOrder() []*topic {
	return slices.SortedFunc(maps.Values(s.topics), func(a, b *topic) int { return cmp.Compare(a.name, b.name) })
}

func (s *State) brokerIDs() []core.ReplicaID { return slices.Sorted(maps.Keys(s.brokers)) }

// holdsLossy reports whether broker id has a LOSSY replica in a partition that counts: only as long as
// it has one is the broker shown as LOSSY.
func (s *State) holdsLossy(id core.ReplicaID, counts func(PartitionRecord) bool) bool {
	for _, t := range s.topics {
		for _, p := range t.partitions {
			if slices.Contains(p.Lossy, id) && counts(p) {
				return true
			}
		}
	}
	return false
}

func (t *topic) setting(name string) (string, bool) { return lookUp(t.settings, name) }

func lookUp(sorted []SettingRecord, name string) (string, bool) {
	i, found := slices.BinarySearchFunc(sorted, name, func(r SettingRecord, n string) int { return cmp.Compare(r.Name, n) })
	if !found {
		return "", false
	}
	return sorted[i].Value, true
}

func brokerRecord(b image.Broker) BrokerRecord {
	return BrokerRecord{Broker: b.ID, Live: b.Live, Host: b.Host, Port: b.Port, Text: b.Text}
}

// ProducerPrefix is the upper 31 bits of the cluster's own producer ids, 0 before the first block.
func (s *State) ProducerPrefix() int32 { return s.prefix }
