package group

import (
	"encoding/binary"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/actors/core/image"
)

// What classic consumers send inside of JoinGroup and SyncGroup: a version, and then fields in the old form. Each version
// begins with what the one before has.

// saidTopics is a subscription.
type saidTopics struct {
	version int16
	topics  []string
	owned   map[string][]int32 // from version 1 on
}

// newestAssignment is the highest version of an assignment; all versions so far are alike.
const newestAssignment = 3

// embedded reads such bytes; once they are at their end too early, bad stays set.
type embedded struct {
	b   []byte
	bad bool
}

func (e *embedded) take(n int) []byte {
	if n < 0 || n > len(e.b) {
		e.bad, e.b = true, nil
		return make([]byte, 4)
	}
	out := e.b[:n]
	e.b = e.b[n:]
	return out
}

func (e *embedded) int16() int16   { return int16(binary.BigEndian.Uint16(e.take(2))) }
func (e *embedded) int32() int32   { return int32(binary.BigEndian.Uint32(e.take(4))) }
func (e *embedded) string() string { return string(e.take(int(e.int16()))) }

// count is the length of an array whose elements have so many bytes at least.
func (e *embedded) count(least int) int {
	n := int(e.int32())
	if n < 0 || n > len(e.b)/least {
		e.bad, e.b = true, nil
		return 0
	}
	return n
}

func (e *embedded) partitions() map[string][]int32 {
	out := map[string][]int32{}
	for range e.count(6) {
		topic := e.string()
		for range e.count(4) {
			out[topic] = append(out[topic], e.int32())
		}
	}
	return out
}

func (e *embedded) skipBytes() {
	if n := e.int32(); n >= 0 {
		e.take(int(n))
	}
}

// readSubscription reads topics, and what the member has where its version says so.
func readSubscription(b []byte) (saidTopics, bool) {
	e := &embedded{b: b}
	said := saidTopics{version: e.int16()}
	for range e.count(2) {
		said.topics = append(said.topics, e.string())
	}
	e.skipBytes()
	if said.version >= 1 && !e.bad {
		said.owned = e.partitions()
	}
	return said, !e.bad && said.version >= 0
}

// readAssignment reads what a member was given; no bytes are nothing.
func readAssignment(b []byte) (map[string][]int32, bool) {
	if len(b) == 0 {
		return nil, true
	}
	e := &embedded{b: b}
	version := e.int16()
	out := e.partitions()
	return out, !e.bad && version >= 0
}

// hasUserData: the assignment says something that only the assignor that made it understands.
func hasUserData(b []byte) bool {
	e := &embedded{b: b}
	e.int16()
	e.partitions()
	return e.int32() > 0 && !e.bad
}

func writeAssignment(version int16, set map[string][]int32) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(min(version, newestAssignment)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(set)))
	for _, topic := range slices.Sorted(maps.Keys(set)) {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(topic))), topic...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(set[topic])))
		for _, p := range set[topic] {
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		}
	}
	return append(b, 0xff, 0xff, 0xff, 0xff) // no user data
}

// byID finds the topics that have the names now, and leaves out what does not exist.
func byID(set map[string][]int32, find func(name string) (*image.Topic, bool)) assignor.Partitions {
	lists := map[core.TopicID][]int32{}
	for name, list := range set {
		if t, ok := find(name); ok {
			lists[t.ID] = append(lists[t.ID], list...)
		}
	}
	return assignor.SetOf(lists)
}
