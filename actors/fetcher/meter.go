package fetcher

import "time"

// meter measures the rate of the last seconds: a promotion is only tried while lag bytes / rate predicts a
// stall under a second (F42).
type meter struct {
	start time.Time // of the current slice
	bytes int64
	last  float64 // bytes per second of the slice before
}

const meterSlice = time.Second

func (m *meter) add(n int64, now time.Time) {
	if m.start.IsZero() {
		m.start = now
	}
	if d := now.Sub(m.start); d >= meterSlice {
		m.last = float64(m.bytes) / d.Seconds()
		m.start, m.bytes = now, 0
	}
	m.bytes += n
}

// perSecond is 0 while nothing was measured.
func (m *meter) perSecond() int64 { return int64(max(m.last, float64(m.bytes))) }

// recordSize is the mean size of the records of this session, for turning offsets into bytes.
func (c *cursor) recordSize() int64 {
	if c.records == 0 {
		return assumedRecord
	}
	return max(c.bytes/c.records, 1)
}

// assumedRecord stands in until a record was seen.
const assumedRecord = 1 << 10
