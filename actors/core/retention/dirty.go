package retention

import "lockstep/actors/core"

// Lag says when a compacted topic is due.
type Lag struct {
	LeastMs int64   // min.compaction.lag.ms
	MostMs  int64   // max.compaction.lag.ms
	Ratio   float64 // min.cleanable.dirty.ratio
}

// Dirty is up to where compaction may look at now, Unix ms, of a log that it has looked at below cleaned, and at most to
// limit; due says whether it is time to. As in Kafka the newest segment is left alone, and one with a record younger than
// LeastMs ends what may be looked at. A record older than MostMs is looked at whatever segment it is in, and however little
// there is beside it. Without timestamps a segment is old.
func (l *Log) Dirty(cleaned core.Offset, lag Lag, now int64, limit core.Offset) (to core.Offset, due bool) {
	var clean, dirty int64
	late := false
	to = min(cleaned, limit)
	for i, s := range l.segments {
		if s.next <= cleaned {
			clean += s.bytes
			continue
		}
		old := s.first >= 0 && now-s.first > lag.MostMs
		young := lag.LeastMs > 0 && s.max >= 0 && now-s.max < lag.LeastMs
		if to >= limit || young || i == len(l.segments)-1 && !old {
			break
		}
		dirty += s.bytes
		late = late || old
		to = min(s.next, limit)
	}
	if to <= cleaned {
		return to, false
	}
	return to, late || float64(dirty) >= lag.Ratio*float64(dirty+clean)
}
