package controller

import (
	"slices"
	"strconv"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
)

// Facts is everything a broker must be told to know what the controller knows: the beginning of its
// stream. brokers first, so that no image names a leader it has never heard of.
func (s *State) Facts() []image.Fact {
	facts := []image.Fact{image.ClusterNamed{Cluster: s.cluster, Incarnation: s.incarnation}}
	for _, id := range s.brokerIDs() {
		facts = append(facts, s.brokerFact(s.brokers[id], s.holdsLossy(id, everywhere)))
	}
	for _, t := range s.inOrder() {
		facts = append(facts, image.TopicChanged{Topic: s.told(t)})
	}
	for _, q := range s.quotasInOrder() {
		facts = append(facts, quotaFact(q))
	}
	for _, r := range s.brokerSetsInOrder() {
		facts = append(facts, settingsFact(r))
	}
	if all := s.acls.Selected(access.Everything()); len(all) > 0 {
		facts = append(facts, image.ACLsChanged{Added: all})
	}
	for _, c := range s.credentialsInOrder() {
		facts = append(facts, credentialFact(c))
	}
	return append(facts, s.featureFact())
}

func (s *State) featureFact() image.Fact {
	levels := map[string]int16{}
	for _, f := range s.features {
		levels[f.Feature] = f.Level
	}
	return image.FeaturesChanged{Levels: levels}
}

func everywhere(PartitionRecord) bool { return true }

func (s *State) brokerFact(b BrokerRecord, lossy bool) image.Fact {
	return image.BrokerChanged{Broker: image.Broker{ID: b.Broker, Live: b.Live, Lossy: lossy, Host: b.Host, Port: b.Port, Text: b.Text}}
}

// whole tells of the brokers among ids that have no LOSSY replica left in a partition that counts.
func (s *State) whole(ids []core.ReplicaID, counts func(PartitionRecord) bool) []image.Fact {
	var facts []image.Fact
	for _, id := range ids {
		if b, known := s.brokers[id]; known && !s.holdsLossy(id, counts) {
			facts = append(facts, s.brokerFact(b, false))
		}
	}
	return facts
}

func (s *State) told(t *topic) image.Topic {
	out := image.Topic{ID: t.id, Name: t.name, Config: map[string]string{}, Partitions: make([]image.Partition, len(t.partitions))}
	for _, r := range t.settings {
		out.Config[r.Name] = r.Value
	}
	for i, p := range t.partitions {
		out.Partitions[i] = s.toldPartition(t, p)
	}
	return out
}

func (s *State) toldPartition(t *topic, p PartitionRecord) image.Partition {
	r := s.moving[p.id()]
	return s.toldMoving(t, p, r)
}

// toldMoving is what brokers are told of a partition while r is under way.
func (s *State) toldMoving(t *topic, p PartitionRecord, r ReassignmentRecord) image.Partition {
	adding, removing := r.changes(p)
	return image.Partition{
		Replicas: p.Replicas, ISR: p.ISR, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
		LastUnclean: p.LastUnclean, MinISR: s.minISR(t, r.factor(p)), Text: p.Text,
		Adding: adding, Removing: removing,
	}
}

func (s *State) fact(p PartitionRecord) image.Fact {
	t := s.topics[p.Topic]
	return image.PartitionChanged{ID: core.PartitionID{Topic: p.Topic, Index: p.Index}, Partition: s.toldPartition(t, p)}
}

// minISR is min(setting, RF): a topic that asks for more copies than it has would refuse every write
// for ever (D26).
func (s *State) minISR(t *topic, rf int) int32 {
	want := max(1, rf-1)
	if s.defaults.MinISR > 0 {
		want = int(s.defaults.MinISR)
	}
	text, set := s.forAll("min.insync.replicas")
	if own, has := t.setting("min.insync.replicas"); has {
		text, set = own, true
	}
	if set {
		if n, err := strconv.Atoi(text); err == nil {
			want = n
		}
	}
	return int32(min(want, rf))
}

// uncleanAllowed reads the topic's own word, else what is set for all: the default is clean elections only.
func (s *State) uncleanAllowed(t *topic) bool {
	v, own := t.setting(uncleanSetting)
	if !own {
		v, _ = s.forAll(uncleanSetting)
	}
	return v == "true"
}

func without(ids []core.ReplicaID, id core.ReplicaID) []core.ReplicaID {
	return slices.DeleteFunc(slices.Clone(ids), func(x core.ReplicaID) bool { return x == id })
}
