package controller

import "lockstep/actors/core/access"

func (s *State) snapshot() []byte {
	out := Snapshot{
		Cluster: s.cluster, Incarnation: s.incarnation, Defaults: s.defaults,
		Placed: s.placed, Prefix: s.prefix, Next: s.nextID, Features: s.features, Quotas: s.quotasInOrder(), Reassignments: s.movingInOrder(),
		BrokerSettings: s.brokerSetsInOrder(), ACLs: aclRecords(s.acls.Selected(access.Everything())), Credentials: s.credentialsInOrder(),
	}
	for _, id := range s.brokerIDs() {
		out.Brokers = append(out.Brokers, s.brokers[id])
	}
	for _, t := range s.inOrder() {
		out.Topics = append(out.Topics, t.record())
	}
	for _, id := range s.deletedIDs() {
		out.Deleted = append(out.Deleted, s.deleted[id])
	}
	return out.AppendTo(nil)
}

func restore(_ string, b []byte) (*State, error) {
	var in Snapshot
	if err := in.ReadFrom(b); err != nil {
		return nil, err
	}
	s := newState()
	s.cluster, s.incarnation, s.defaults = in.Cluster, in.Incarnation, in.Defaults
	s.placed, s.prefix, s.nextID, s.features = in.Placed, in.Prefix, in.Next, in.Features
	for _, b := range in.Brokers {
		s.brokers[b.Broker] = b
	}
	for _, t := range in.Topics {
		s.addTopic(t)
	}
	for _, q := range in.Quotas {
		s.setQuota(q)
	}
	s.acls = access.NewRules(bindings(in.ACLs))
	for _, c := range in.Credentials {
		s.setCredential(c)
	}
	for _, r := range in.BrokerSettings {
		s.setBroker(r)
	}
	for _, r := range in.Reassignments {
		s.setReassignment(r)
	}
	for _, d := range in.Deleted {
		s.deleted[d.Topic] = d
	}
	return s, nil
}

func (t *topic) record() TopicRecord {
	return TopicRecord{Topic: t.id, Name: t.name, Settings: t.settings, Partitions: t.partitions}
}
