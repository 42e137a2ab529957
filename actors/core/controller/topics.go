package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

func (s *State) createTopic(c CreateTopic) outcome {
	record, note, bad := s.newTopic(c)
	if bad.Code != 0 {
		answer := CreatedTopic{Ref: c.Ref, Code: bad.Code, Text: bad.Text}
		if t := s.topics[s.names[c.Name]]; t != nil {
			answer.Topic = s.told(t)
		}
		return reply(outcome{}, answer)
	}
	topic := s.told(&topic{id: record.Topic, name: record.Name, settings: record.Settings, partitions: record.Partitions})
	answer := CreatedTopic{Ref: c.Ref, Text: note, Topic: topic}
	if c.ValidateOnly {
		return reply(outcome{}, answer)
	}
	out := publish(outcome{Events: []Event{TopicCreated{Topic: record}}}, image.TopicChanged{Topic: topic})
	return reply(out, answer)
}

// newTopic checks everything and makes the record; the same for ValidateOnly (A09).
func (s *State) newTopic(c CreateTopic) (record TopicRecord, note string, bad problem) {
	if bad = s.checkIdentity(c); bad.Code != 0 {
		return record, "", bad
	}
	settings, note, bad := s.checkSettings(c)
	if bad.Code != 0 {
		return record, "", bad
	}
	placed, bad := s.place(c)
	if bad.Code != 0 {
		return record, "", bad
	}
	id := c.ID
	if id.IsZero() {
		id = c.Fresh
	}
	record = TopicRecord{Topic: id, Name: c.Name, Settings: settings, Partitions: make([]PartitionRecord, len(placed))}
	for i, replicas := range placed {
		if record.Partitions[i], bad = s.newPartition(id, c.Name, int32(i), replicas); bad.Code != 0 {
			return record, "", bad
		}
	}
	return record, note, problem{}
}

// newPartition begins with every live replica in sync.
func (s *State) newPartition(id core.TopicID, name string, index int32, replicas []core.ReplicaID) (PartitionRecord, problem) {
	e := s.electorate(nil)
	p := PartitionRecord{Topic: id, Index: index, Replicas: replicas, LeaderEpoch: s.firstEpoch(id), LastUnclean: core.NoEpoch}
	p.ISR = filter(replicas, func(id core.ReplicaID) bool { return e.live[id] })
	if len(p.ISR) == 0 {
		return p, problem{perr.InvalidReplicaAssignment,
			fmt.Sprintf("topic %s: no replica of partition %d is live, %s: start one of them first", name, index, brokers(replicas))}
	}
	p.Leader = p.ISR[0]
	return p, problem{}
}

// checkIdentity: the id decides what a topic is, the name is only a label (F34), so a mirrored topic
// is never created over another one that merely has its name.
func (s *State) checkIdentity(c CreateTopic) problem {
	if text := nameProblem(c.Name); text != "" {
		return problem{perr.InvalidTopicException, text}
	}
	if c.ID.IsZero() && (c.Mirrored || c.Fresh.IsZero()) {
		return problem{perr.InvalidRequest, fmt.Sprintf("topic %s: no topic id was given", c.Name)}
	}
	id, taken := s.names[c.Name]
	switch {
	case taken && !c.ID.IsZero() && c.ID != id:
		return problem{perr.InconsistentTopicId, fmt.Sprintf(
			"topic %s exists here with id %s, the source's has id %s: it is another topic; delete it here first", c.Name, id, c.ID)}
	case taken:
		return problem{perr.TopicAlreadyExists, fmt.Sprintf("topic %s already exists", c.Name)}
	}
	for _, id := range []core.TopicID{c.ID, c.Fresh} {
		if other := s.topics[id]; other != nil && (id == c.ID || c.ID.IsZero()) {
			return problem{perr.InconsistentTopicId, fmt.Sprintf("topic id %s belongs to topic %s here, not to %s", id, other.name, c.Name)}
		}
	}
	if other, collides := s.collision(c.Name); collides {
		return problem{perr.InvalidTopicException, fmt.Sprintf("topic name %s collides with %s: metrics cannot tell . from _; choose another", c.Name, other)}
	}
	return problem{}
}

func (s *State) checkSettings(c CreateTopic) (records []SettingRecord, note string, bad problem) {
	var left []string
	for _, name := range slices.Sorted(maps.Keys(c.Config)) {
		value := c.Config[name]
		if text := CheckTopicSetting(name, value); text != "" {
			if !c.Mirrored {
				return nil, "", problem{perr.InvalidConfig, "topic " + c.Name + ": " + text}
			}
			left = append(left, name+"="+value) // a source may be newer than we are
			continue
		}
		records = append(records, SettingRecord{Name: name, Value: value})
	}
	if len(left) > 0 {
		note = "settings of the source that are not known here were left out: " + strings.Join(left, ", ")
	}
	return records, note, problem{}
}

func (s *State) deleteTopic(c DeleteTopic) outcome {
	id := c.ID
	if id.IsZero() {
		named, known := s.names[c.Name]
		if !known {
			return reply(outcome{}, Done{Ref: c.Ref, Code: perr.UnknownTopicOrPartition, Text: fmt.Sprintf("no topic is called %q", c.Name)})
		}
		id = named
	}
	t := s.topics[id]
	if t == nil {
		return reply(outcome{}, Done{Ref: c.Ref, Code: perr.UnknownTopicId, Text: fmt.Sprintf("no topic has id %s", id)})
	}
	var lossy []core.ReplicaID
	for _, p := range t.partitions {
		lossy = append(lossy, p.Lossy...)
	}
	slices.Sort(lossy)
	facts := s.whole(slices.Compact(lossy), func(o PartitionRecord) bool { return o.Topic != id })
	out := publish(outcome{Events: []Event{TopicDeleted{Topic: id}}}, append([]image.Fact{image.TopicGone{ID: id}}, facts...)...)
	for _, p := range t.partitions {
		for _, r := range p.Replicas {
			out.Late = append(out.Late, DropReplica{ID: core.PartitionID{Topic: id, Index: p.Index}, Replica: r})
		}
	}
	return reply(out, Done{Ref: c.Ref})
}
