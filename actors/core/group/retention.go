package group

import (
	"maps"
	"slices"

	"lockstep/actors/core"
)

// Offsets expire by the time their shard has lived, not by the wall clock: a machine that wakes up in the wrong year
// would forget every position at once, and its consumers would start over or skip. Time while the process is down does
// not count, so an offset may stay longer than Kafka would keep it, never shorter.

// ageAt is how long the shard has lived, ms.
func (s *State) ageAt(now core.Now) int64 {
	if !ageByUptime {
		return now.Wall
	}
	if !s.looked {
		return s.age
	}
	return s.lookedAge + (now.Mono-s.lookedAt)/ms
}

// nextLook is when offsets are looked through again, mono ns; 0 before Resume.
func (s *State) nextLook() int64 {
	if !s.looked {
		return 0
	}
	return s.lookedAt + s.settings.RetentionCheckMs*ms
}

// expire looks through all groups of the shard.
func (s *State) expire(now core.Now) []Event {
	age := s.ageAt(now)
	var events []Event
	if len(s.groups) > 0 {
		events = append(events, ShardAged{Age: age})
	}
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		events = append(events, s.expireGroup(name, now, age)...)
	}
	return append(events, RetentionLooked{At: now.Mono, Age: age})
}

func (s *State) expireGroup(name string, now core.Now, age int64) []Event {
	c, l := s.groups[name], s.current(name, now.Mono)
	var events []Event
	gone := OffsetsRemoved{Group: name, Expired: true}
	subscribed, held := s.subscribed(name, l), s.unstable(name)
	if l.mayExpire() {
		for _, o := range c.sorted() {
			if c.over(l, o, age, s.settings.RetentionMs) && !(keepSubscribedOffsets && subscribed(o.Topic)) &&
				!held(position{o.Topic, o.Partition}) {
				gone.Positions = append(gone.Positions, PositionRecord{Topic: o.Topic, Partition: o.Partition})
			}
		}
	}
	if len(gone.Positions) > 0 {
		events = append(events, gone)
	}
	if len(gone.Positions) == len(c.offsets) && l.phase == Empty && len(l.pending) == 0 && !s.hasConsumers(name) && s.pending[name] == nil {
		events = append(events, GroupDeleted{Group: name, Expired: true})
	}
	return events
}

// mayExpire: while members come and go nothing expires, because what they subscribe to is not known (G05).
func (l *live) mayExpire() bool {
	if l.phase == Empty {
		return true
	}
	_, known := l.topics()
	return l.phase == Stable && known
}

// over: nobody has used an offset for as long as it is kept. One whose client said how long is kept for just that long
// since it was committed, as in Kafka.
func (c *committed) over(l *live, o OffsetRecord, age, retention int64) bool {
	if o.RetainMs > 0 {
		return age-o.Age >= o.RetainMs
	}
	return age-c.unusedSince(l, o) >= retention
}

// unusedSince is the age of the shard from which the retention of an offset counts: when the last member went, and for
// what was committed from outside since, and for groups that never had members, when it was committed.
func (c *committed) unusedSince(l *live, o OffsetRecord) int64 {
	if l.phase == Empty && (c.protocolType != "" || c.consumers != nil && len(c.consumers.members) == 0) {
		return max(c.emptyAge, o.Age)
	}
	return o.Age
}
