package registration

import (
	"maps"
	"slices"

	"lockstep/actors/core"
)

func (s *State) snapshot() []byte {
	out := Snapshot{LastEpoch: s.lastEpoch}
	for _, k := range slices.SortedFunc(maps.Keys(s.mirrors), compareMirrors) {
		m := s.mirrors[k]
		out.Mirrors = append(out.Mirrors, MirrorRecord{Cluster: k.Cluster, Mirror: k.Mirror, Number: m.number, Marker: m.marker, Owner: m.owner, Hold: m.hold, Lifted: m.lifted})
	}
	for _, k := range s.keys() {
		e := s.entries[k]
		out.Entries = append(out.Entries, EntryRecord{
			Cluster: k.Mirror.Cluster, Mirror: k.Mirror.Mirror, Topic: k.Topic, Name: e.name, Partitions: e.partitions,
			Registered: e.registered, Epoch: e.epoch, Incarnation: e.incarnation, MinISR: e.minISR,
			Generation: e.generation, Numbered: e.numbered, Content: e.content,
			Marker: e.marker, Admitted: e.admitted, Gates: e.gates, Plain: e.plain, Hold: e.hold, Lifted: e.lifted, Leaving: e.leaving,
		})
	}
	out.Dropped = slices.SortedFunc(maps.Keys(s.dropped), func(a, b core.TopicID) int { return slices.Compare(a[:], b[:]) })
	out.Fences, out.Promised = s.fences, s.promised
	for _, t := range s.moving() {
		out.Successions = append(out.Successions, s.successions[t])
	}
	return out.AppendTo(nil)
}

func restore(cluster string, b []byte) (*State, error) {
	var in Snapshot
	if err := in.ReadFrom(b); err != nil {
		return nil, err
	}
	s := newState(cluster)
	s.lastEpoch = in.LastEpoch
	for _, m := range in.Mirrors {
		s.mirrors[core.MirrorKey{Cluster: m.Cluster, Mirror: m.Mirror}] = mirror{number: m.Number, marker: m.Marker, owner: m.Owner, hold: m.Hold, lifted: m.Lifted}
	}
	for _, e := range in.Entries {
		s.entries[key(e.Cluster, e.Mirror, e.Topic)] = entry{
			name: e.Name, partitions: e.Partitions,
			registered: e.Registered, epoch: e.Epoch, incarnation: e.Incarnation, minISR: e.MinISR,
			generation: e.Generation, numbered: e.Numbered, content: e.Content,
			marker: e.Marker, admitted: e.Admitted, gates: e.Gates, plain: e.Plain, hold: e.Hold, lifted: e.Lifted, leaving: e.Leaving,
		}
	}
	s.fences, s.promised = in.Fences, in.Promised
	for _, r := range in.Successions {
		s.successions[r.Topic] = r
	}
	for _, t := range in.Dropped {
		s.dropped[t] = true
	}
	return s, nil
}
