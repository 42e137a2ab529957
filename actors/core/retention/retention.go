// Package retention says how much of the head of a log goes by time and by size. Batches of many partitions share the
// segments of a volume, so the segments that Kafka's settings speak of are kept here, as a list of where they begin: a
// segment goes as a whole, by its largest timestamp, as in Kafka.
package retention

import "lockstep/actors/core"

// Rules are the settings of a topic. Negative: no limit.
type Rules struct {
	Ms           int64 // retention.ms
	Bytes        int64 // retention.bytes
	SegmentMs    int64 // segment.ms
	SegmentBytes int64 // segment.bytes
}

// Deletes reports whether anything ever goes by these rules.
func (r Rules) Deletes() bool { return r.Ms >= 0 || r.Bytes >= 0 }

// Batch is what is known of a batch without reading it.
type Batch struct {
	Base, Last   core.Offset
	MaxTimestamp int64 // Unix ms; negative: none
	Bytes        int64
}

// Why a log start moves.
type Why uint8

const (
	Time Why = iota + 1
	Size
)

// Log is the segments of one log, oldest first. The zero value is an empty log at offset 0.
type Log struct {
	segments []segment
	bytes    int64
	next     core.Offset
	roll     core.Offset
}

type segment struct {
	begin core.Offset
	next  core.Offset // exclusive
	first int64       // largest timestamp of its first batch that has one
	max   int64
	bytes int64
}

// mostSegments bounds the list, whatever segment.bytes and segment.ms say.
const mostSegments = 4096

// Next is the offset of the batch that Add takes next.
func (l *Log) Next() core.Offset { return l.next }

// Bytes is the size of all that was added and has not gone.
func (l *Log) Bytes() int64 { return l.bytes }

// RollAt makes a segment begin at an offset: compaction has looked at what lies below.
func (l *Log) RollAt(at core.Offset) { l.roll = at }

// Add takes the next batch. What truncation may cut must not be added.
func (l *Log) Add(b Batch, r Rules) {
	if n := len(l.segments); n == 0 || l.rolls(l.segments[n-1], b, r) {
		l.segments = append(l.segments, segment{begin: b.Base, first: b.MaxTimestamp, max: b.MaxTimestamp})
	}
	s := &l.segments[len(l.segments)-1]
	if s.first < 0 {
		s.first = b.MaxTimestamp
	}
	s.next, s.max, s.bytes = b.Last+1, max(s.max, b.MaxTimestamp), s.bytes+b.Bytes
	l.next, l.bytes = b.Last+1, l.bytes+b.Bytes
}

// rolls reports whether a batch begins a segment: as in Kafka, time is counted by timestamps.
func (l *Log) rolls(s segment, b Batch, r Rules) bool {
	if s.begin < l.roll && b.Base >= l.roll {
		return true
	}
	if s.bytes < l.bytes/mostSegments {
		return false
	}
	return r.SegmentBytes >= 0 && s.bytes+b.Bytes > r.SegmentBytes ||
		r.SegmentMs >= 0 && s.first >= 0 && b.MaxTimestamp-s.first > r.SegmentMs
}

// Trim forgets segments that end at or below start. One that start lies in stays whole.
func (l *Log) Trim(start core.Offset) {
	n := 0
	for n < len(l.segments) && l.segments[n].next <= start {
		l.bytes -= l.segments[n].bytes
		n++
	}
	l.segments = append(l.segments[:0], l.segments[n:]...)
	l.next = max(l.next, start)
}

// Expired is where the log should begin at now, Unix ms: the end of the last segment that goes, at or below limit. ok is
// false when none goes. A segment without timestamps, as compaction leaves one, goes by time with one behind it that is old.
// The newest segment goes by time like any other, and by size only when nothing may be kept.
func (l *Log) Expired(r Rules, now int64, limit core.Offset) (start core.Offset, why Why, ok bool) {
	excess := l.bytes - r.Bytes
	for _, s := range l.segments {
		old := r.Ms >= 0 && s.max >= 0 && now-s.max > r.Ms
		large := r.Bytes >= 0 && excess >= s.bytes
		timeless := r.Ms >= 0 && s.max < 0
		if s.next > limit || !old && !large && !timeless {
			break
		}
		excess -= s.bytes
		if !old && !large {
			continue
		}
		start, why, ok = s.next, Size, true
		if old {
			why = Time
		}
	}
	return start, why, ok
}
