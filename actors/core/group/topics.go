package group

import (
	"maps"
	"regexp"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/actors/core/pattern"
)

// subscriptions is what the members of a group subscribe to, by name and by pattern (RE2, which is what Kafka takes).
type subscriptions struct {
	names    map[string]bool
	patterns map[string]*regexp.Regexp
	matching map[string]map[core.TopicID]bool // by pattern: made by of, when first asked
}

func subscriptionsOf(members []*consumer) subscriptions {
	s := subscriptions{map[string]bool{}, map[string]*regexp.Regexp{}, map[string]map[core.TopicID]bool{}}
	for _, m := range members {
		for _, t := range m.said.Topics {
			s.names[t] = true
		}
		if text := m.said.Regex; text != "" && s.patterns[text] == nil {
			if re, err := pattern.Compile(text); err == nil { // refused at the door; a journal may know better
				s.patterns[text] = re
			}
		}
	}
	return s
}

func (s subscriptions) match(name string) bool {
	for _, re := range s.patterns {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// lookUp finds the topics that exist. With all the patterns are matched with every name of the image; without, only
// with those of before, because that is cheap enough for every change of an image. As in Kafka, whoever comes when all names are
// looked through decides with their rights what the patterns of the group find.
func (s subscriptions) lookUp(img *image.Image, by access.Asker, before map[string]subscribedTopic, all bool) map[string]subscribedTopic {
	found := map[string]subscribedTopic{}
	add := func(name string) {
		if t, ok := img.TopicNamed(name); ok {
			found[name] = subscribedTopic{t.ID, int32(len(t.Partitions))}
		}
	}
	for name := range s.names {
		add(name)
	}
	if len(s.patterns) == 0 {
		return found
	}
	if all {
		for name := range img.Names {
			if s.match(name) && by.May(access.Describe, access.Topic, name) {
				add(name)
			}
		}
		return found
	}
	for name := range before {
		if s.match(name) {
			add(name)
		}
	}
	return found
}

// rest is what of the topics those who stay subscribe to, when there is no image at hand.
func (s subscriptions) rest(before map[string]subscribedTopic) map[string]subscribedTopic {
	left := map[string]subscribedTopic{}
	for name, t := range before {
		if s.names[name] || s.match(name) {
			left[name] = t
		}
	}
	return left
}

// of lists the ids of the topics that one member subscribes to. topics are the same for all members: many have the same
// pattern, and it is matched once.
func (s subscriptions) of(m *consumer, topics map[string]subscribedTopic) []core.TopicID {
	matching := s.matched(m.said.Regex, topics)
	var ids []core.TopicID
	for name, t := range topics {
		_, named := slices.BinarySearch(m.said.Topics, name)
		if named || matching[t.id] {
			ids = append(ids, t.id)
		}
	}
	return ids
}

func (s subscriptions) matched(text string, topics map[string]subscribedTopic) map[core.TopicID]bool {
	re := s.patterns[text]
	if re == nil {
		return nil
	}
	known, asked := s.matching[text]
	if !asked {
		known = map[core.TopicID]bool{}
		for name, t := range topics {
			if re.MatchString(name) {
				known[t.id] = true
			}
		}
		s.matching[text] = known
	}
	return known
}

func topicRecords(topics map[string]subscribedTopic) []SubscribedTopicRecord {
	var list []SubscribedTopicRecord
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		list = append(list, SubscribedTopicRecord{Topic: name, ID: topics[name].id, Partitions: topics[name].partitions})
	}
	return list
}

// subscribed makes the question whether a member subscribes to a topic that exists, or asks for it by name.
func (g *consumers) subscribed() func(topic string) bool {
	var names []string
	for _, m := range g.members {
		names = append(names, m.said.Topics...)
	}
	asked := among(names)
	return func(topic string) bool {
		_, is := g.topics[topic]
		return is && len(g.members) > 0 || asked(topic)
	}
}
