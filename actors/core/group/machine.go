package group

import (
	"cmp"
	"maps"
	"slices"

	"lockstep/actors/core"
)

// Machine is one shard of groups.
func Machine() core.Machine[State, Command, Event, Effect] {
	return core.Machine[State, Command, Event, Effect]{
		Name:     "group",
		Init:     func(string) *State { return newState() },
		Decide:   decide,
		Apply:    apply,
		Encode:   encode,
		Decode:   func(e core.Entry) (Event, error) { return DecodeEvent(e.Payload) },
		Snapshot: func(s *State) []byte { return s.snapshot() },
		Restore:  restore,
	}
}

func encode(ev Event) (core.Entry, bool) {
	d, durable := ev.(DurableEvent)
	if !durable {
		return core.Entry{}, false
	}
	return core.Entry{Kind: core.EntryEvent, Payload: EncodeEvent(d)}, true
}

func (s *State) snapshot() []byte {
	out := Snapshot{Age: s.age, Configured: s.configRecords()}
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		c := s.groups[name]
		out.Groups = append(out.Groups, GroupRecord{Group: name, Generation: c.generation, Assigned: c.assigned,
			ProtocolType: c.protocolType, Protocol: c.protocol, Leader: c.leader, Members: c.members, Offsets: c.sorted(),
			EmptyAge: c.emptyAge})
	}
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		if g := s.groups[name].consumers; g != nil {
			out.Consumers = append(out.Consumers, g.record(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.pending)) {
		out.Pending = append(out.Pending, TxnGroupRecord{Group: name, Offsets: s.pending[name].list()})
	}
	return out.AppendTo(nil)
}

func restore(_ string, b []byte) (*State, error) {
	var in Snapshot
	if err := in.ReadFrom(b); err != nil {
		return nil, err
	}
	s := newState()
	s.age = in.Age
	for _, g := range in.Groups {
		c := s.hard(g.Group)
		c.generation, c.assigned, c.protocolType, c.protocol = g.Generation, g.Assigned, g.ProtocolType, g.Protocol
		c.leader, c.members, c.emptyAge = g.Leader, g.Members, g.EmptyAge
		for _, o := range g.Offsets {
			s.put(c, o)
		}
	}
	for _, g := range in.Configured {
		s.configured(g)
	}
	for _, g := range in.Consumers {
		s.restoreConsumers(g)
	}
	for _, g := range in.Pending {
		for _, r := range g.Offsets {
			s.hold(g.Group, r)
		}
	}
	return s, nil
}

func (c *committed) sorted() []OffsetRecord {
	return slices.SortedFunc(maps.Values(c.offsets), func(a, b OffsetRecord) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}
