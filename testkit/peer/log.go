// Package peer is the other side of a mirror as the draft KIP knows it: a destination and a source that send no
// tagged field of ours, no NATS, no generation and no floor. Both misbehave on request. They keep their logs in
// memory and say what they hold, so that tests can compare it with what was acknowledged.
package peer

import (
	"fmt"
	"slices"

	"lockstep/protocol/batch"
)

// Log is one replica of one partition: whole batches in order, and where each leader epoch begins. It is not safe
// for concurrent use. Offsets are exclusive ends.
type Log struct {
	batches []batch.Batch
	epochs  []epochStart
}

type epochStart struct {
	epoch int32
	start int64
}

// End is the next offset to write.
func (l *Log) End() int64 {
	if len(l.batches) == 0 {
		return 0
	}
	return l.batches[len(l.batches)-1].LastOffset() + 1
}

// LastEpoch is the epoch of the last record, -1 for an empty log.
func (l *Log) LastEpoch() int32 {
	if len(l.batches) == 0 {
		return -1
	}
	return l.batches[len(l.batches)-1].LeaderEpoch
}

// Lead notes that a leader of this epoch begins at the end.
func (l *Log) Lead(epoch int32) {
	if n := len(l.epochs); n == 0 || l.epochs[n-1].epoch < epoch {
		l.epochs = append(l.epochs, epochStart{epoch, l.End()})
	}
}

// Append takes a batch that continues the log.
func (l *Log) Append(b batch.Batch) error {
	if b.BaseOffset != l.End() {
		return fmt.Errorf("batch begins at %d, the log ends at %d", b.BaseOffset, l.End())
	}
	l.Lead(b.LeaderEpoch)
	l.batches = append(l.batches, b)
	return nil
}

func (l *Log) copy() Log { return Log{slices.Clone(l.batches), slices.Clone(l.epochs)} }

// Cut removes every batch that ends above to.
func (l *Log) Cut(to int64) {
	l.batches = slices.DeleteFunc(l.batches, func(b batch.Batch) bool { return b.LastOffset() >= to })
	end := l.End()
	l.epochs = slices.DeleteFunc(l.epochs, func(e epochStart) bool { return e.start > end })
}

// EndOf answers OffsetForLeaderEpoch as Kafka does: the largest epoch not above asked, and where it ends.
func (l *Log) EndOf(asked int32) (epoch int32, end int64) {
	n := len(l.epochs)
	if n == 0 || asked > l.epochs[n-1].epoch {
		return -1, -1
	}
	if asked == l.epochs[n-1].epoch {
		return asked, l.End()
	}
	next := slices.IndexFunc(l.epochs, func(e epochStart) bool { return e.epoch > asked })
	if next == 0 {
		return asked, l.epochs[0].start
	}
	return l.epochs[next-1].epoch, l.epochs[next].start
}

// From returns the bytes of whole batches from an offset on, below a bound: the first, and then up to max bytes.
func (l *Log) From(offset, below int64, max int) (records []byte) {
	records = []byte{}
	first, _ := slices.BinarySearchFunc(l.batches, offset, func(b batch.Batch, at int64) int { return int(b.LastOffset() - at) })
	for _, b := range l.batches[first:] {
		if b.LastOffset() >= below || len(records) > 0 && len(records)+len(b.Bytes) > max {
			break
		}
		records = append(records, b.Bytes...)
	}
	return records
}

// Values lists every record's value below an offset, in order.
func (l *Log) Values(below int64) (values []string) {
	for _, b := range l.batches {
		if b.LastOffset() < below {
			// A batch that was read once reads again.
			_ = b.Each(0, func(r batch.Record) bool { values = append(values, string(r.Value)); return true })
		}
	}
	return values
}
