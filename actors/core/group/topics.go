package group

import (
	"maps"
	"regexp"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

// subscriptions is what the members of a group subscribe to, by name and by pattern (RE2, which is what Kafka takes).
type subscriptions struct {
	names    map[string]bool
	patterns map[string]*regexp.Regexp
}

// pattern compiles a pattern that must match the whole name.
func pattern(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil { // alone: a parenthesis must not close ours
		return nil, err
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}

func subscriptionsOf(members []*consumer) subscriptions {
	s := subscriptions{map[string]bool{}, map[string]*regexp.Regexp{}}
	for _, m := range members {
		for _, t := range m.said.Topics {
			s.names[t] = true
		}
		if text := m.said.Regex; text != "" && s.patterns[text] == nil {
			if re, err := pattern(text); err == nil { // refused at the door; a journal may know better
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
// with those of before, because that is cheap enough for every change of an image.
func (s subscriptions) lookUp(img *image.Image, before map[string]subscribedTopic, all bool) map[string]subscribedTopic {
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
			if s.match(name) {
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

// of lists the ids of the topics that one member subscribes to.
func (s subscriptions) of(m *consumer, topics map[string]subscribedTopic) []core.TopicID {
	re := s.patterns[m.said.Regex]
	var ids []core.TopicID
	for name, t := range topics {
		_, named := slices.BinarySearch(m.said.Topics, name)
		if named || re != nil && re.MatchString(name) {
			ids = append(ids, t.id)
		}
	}
	return ids
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
