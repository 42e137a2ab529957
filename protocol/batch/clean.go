package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// attrHorizon says that the first timestamp of the batch is its delete horizon (KIP-534).
const attrHorizon = 0x40

// Cleaned reports whether a log cleaner has written the batch: every other batch has a record at each of its offsets, and
// no delete horizon.
func (b Batch) Cleaned() bool {
	return int64(b.Records) != int64(b.LastOffsetDelta)+1 || b.Attributes&attrHorizon != 0
}

// DeleteHorizon is when the tombstones or the marker of a batch may go, Unix ms; ok is false where no cleaner has met them.
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	return b.FirstTimestamp, b.Attributes&attrHorizon != 0
}

// Nothing is a batch without records in the place of the offsets from base to last, inclusive.
func Nothing(base, last int64, epoch int32) Batch {
	if last < base || last-base > math.MaxInt32 {
		panic(fmt.Sprintf("batch: %d to %d is no batch", base, last))
	}
	b := Build(Batch{BaseOffset: base, LeaderEpoch: epoch, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}, nil)
	binary.BigEndian.PutUint32(b.Bytes[posLastDelta:], uint32(last-base))
	b.seal()
	return header(b.Bytes)
}

// IsNothing reports whether a batch only says that its offsets are empty: whoever holds a part of them needs the rest alone.
func (b Batch) IsNothing() bool { return b.Records == 0 && b.ProducerID < 0 && !b.IsControl() }

// From is the part of a batch at and above an offset inside of it; ok is false unless it IsNothing.
func (b Batch) From(offset int64) (rest Batch, ok bool) {
	if !b.IsNothing() || offset < b.BaseOffset || offset > b.LastOffset() {
		return b, false
	}
	return Nothing(offset, b.LastOffset(), b.LeaderEpoch), true
}

// Keeping is the batch with those records that keep wants, which is asked twice of each. Offsets, times, producer and codec
// stay as they are; without records the codec and the times go. horizon is written in, Unix ms; negative: none.
// The error is one of reading the records.
func (b Batch) Keeping(keep func(Record) bool, horizon int64) (Batch, error) {
	out := b
	out.Records, out.Attributes = 0, b.Attributes&^attrHorizon
	if horizon >= 0 {
		out.Attributes |= attrHorizon
		out.FirstTimestamp = horizon
	} else if b.Attributes&attrHorizon != 0 {
		out.FirstTimestamp = -1 // deltas are counted from it, whatever it is
	}
	newest := int64(-1)
	var body, one []byte
	err := b.Each(0, func(r Record) bool {
		if !keep(r) {
			return true
		}
		out.Records++
		newest = max(newest, r.Timestamp)
		one = appendRecord(one[:0], r, r.Timestamp-out.FirstTimestamp, r.Offset-b.BaseOffset)
		body = append(binary.AppendVarint(body, int64(len(one))), one...)
		return true
	})
	if err != nil {
		return b, err
	}
	if !b.HasAppendTime() {
		out.MaxTimestamp = newest
	}
	if out.Records == 0 {
		out.FirstTimestamp, out.MaxTimestamp = -1, -1
		out.Attributes &^= codecMask | attrHorizon
	}
	if body, err = compress(out.Codec(), body); err != nil {
		return b, err
	}
	out.Bytes = append(append(make([]byte, 0, HeaderLen+len(body)), b.Bytes[:HeaderLen]...), body...)
	binary.BigEndian.PutUint32(out.Bytes[posLength:], uint32(len(out.Bytes)-lengthBias))
	binary.BigEndian.PutUint64(out.Bytes[posFirstTime:], uint64(out.FirstTimestamp))
	binary.BigEndian.PutUint32(out.Bytes[posCount:], uint32(out.Records))
	out.seal()
	return header(out.Bytes), nil
}
