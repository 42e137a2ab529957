package group

import "encoding/binary"

// consumerType is the protocol type of consumers; only its subscriptions are understood.
const consumerType = "consumer"

// topics lists what the members of a settled consumer group subscribe to; known is false when that cannot be read, as
// with groups of another type (Connect) or in the middle of a round.
func (l *live) topics() (names []string, known bool) {
	if l.protocolType != consumerType {
		return nil, false
	}
	for _, m := range l.members {
		list, ok := subscribedTopics(m.metadata(l.protocol))
		if !ok {
			return nil, false
		}
		names = append(names, list...)
	}
	return names, true
}

// subscribed makes the question which topics a group uses: it is asked for every offset, and members are many. It is
// yes to all of a consumer group whose subscriptions cannot be read, as in Kafka: better keep an offset for nothing than
// lose one in use.
func (s *State) subscribed(group string, l *live) func(topic string) bool {
	if s.hasConsumers(group) {
		return s.groups[group].consumers.subscribed()
	}
	if l.protocolType != consumerType || len(l.members) == 0 {
		return func(string) bool { return false }
	}
	names, known := l.topics()
	if !known {
		return func(string) bool { return true }
	}
	return among(names)
}

func among(names []string) func(string) bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return func(name string) bool { return set[name] }
}

// subscribedTopics reads the topics of a subscription of the consumer protocol: int16 version, then an array of
// strings, which every version begins with.
func subscribedTopics(b []byte) (names []string, ok bool) {
	if len(b) < 6 {
		return nil, false
	}
	n := int(int32(binary.BigEndian.Uint32(b[2:])))
	for b = b[6:]; n > 0; n-- {
		if len(b) < 2 {
			return nil, false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || len(b) < 2+size {
			return nil, false
		}
		names = append(names, string(b[2:2+size]))
		b = b[2+size:]
	}
	return names, n == 0
}
