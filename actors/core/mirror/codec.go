package mirror

import "slices"

func (s *State) snapshot() []byte {
	out := Snapshot{
		Mirror: s.name, Exists: s.exists, Source: s.source, Config: settingRecords(s.config),
		Include: s.include, Exclude: s.exclude, Desired: int8(s.desired),
	}
	for _, t := range s.sorted() {
		out.Topics = append(out.Topics, t.TopicRecord)
	}
	return out.AppendTo(nil)
}

func restore(name string, b []byte) (*State, error) {
	var in Snapshot
	if err := in.ReadFrom(b); err != nil {
		return nil, err
	}
	s := newState(name)
	s.name, s.exists, s.source, s.config = in.Mirror, in.Exists, in.Source, settings(in.Config)
	s.include, s.exclude, s.desired = in.Include, in.Exclude, Type(in.Desired)
	for _, r := range in.Topics {
		r.Partitions = slices.Clone(r.Partitions)
		s.topics[r.Topic] = newTopic(r)
	}
	return s, nil
}
