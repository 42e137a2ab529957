package batch

import (
	"errors"
	"math"

	"lockstep/protocol/perr"
)

// MaxDecompressed bounds the decompressed size of a batch where Rules states nothing else.
const MaxDecompressed = 64 << 20

// Rules are what a produced batch must keep to.
type Rules struct {
	Version         int16 // of the Produce request
	MaxBytes        int64 // max.message.bytes, of the batch as it came; 0: no bound
	SegmentBytes    int64 // a batch must fit into a segment; 0: no bound
	MaxDecompressed int64 // 0: MaxDecompressed
	Compacted       bool  // every record needs a key
	// Oldest and Newest bound record timestamps, Unix ms, inclusive; 0: no bound. A record without a
	// timestamp (-1) is not bounded.
	Oldest, Newest int64
	// AppendTime replaces the records' own times (LogAppendTime); Unix ms, 0: they are kept.
	AppendTime int64
}

// Validate checks a batch that some leader has accepted before: CRC, counts and codec. Record offsets may
// have holes, as compaction leaves them. The error is an *Invalid.
func Validate(b Batch) error {
	if bad := b.sound(); bad != nil {
		return bad
	}
	return nil
}

func (b Batch) sound() *Invalid {
	switch crc := b.Checksum(); {
	case crc != b.CRC:
		return invalid(perr.CorruptMessage, "record batch has CRC %08x, its bytes have %08x", b.CRC, crc)
	case b.LastOffsetDelta < 0 || b.BaseOffset < 0 || b.BaseOffset > math.MaxInt64-int64(b.LastOffsetDelta):
		return invalid(perr.InvalidRecord, "record batch has base offset %d and last offset delta %d", b.BaseOffset, b.LastOffsetDelta)
	case b.Records < 0 || int64(b.Records) > int64(b.LastOffsetDelta)+1:
		return invalid(perr.InvalidRecord, "record batch states %d records in %d offsets", b.Records, int64(b.LastOffsetDelta)+1)
	case b.Codec() > Zstd:
		return invalid(perr.InvalidRecord, "record batch has compression codec %d; known are 0 to 4", int8(b.Codec()))
	default:
		return nil
	}
}

// Produced checks what a producer sent for one partition: exactly one batch, whole and truthful (P01, P02,
// P06, P08, P11, P12). A missing or wrong max timestamp is put right in place (P04), and AppendTime is written
// in (P05). records must belong to the caller; the batch aliases them. An uncompressed batch of a good
// client costs one CRC pass and a walk without allocation.
func Produced(records []byte, r Rules) (Batch, *Invalid) {
	b, rest, err := Parse(records)
	switch {
	case len(records) == 0:
		return b, invalid(perr.InvalidRecord, "the partition comes without a record batch; exactly one is required")
	case errors.Is(err, ErrShort):
		return b, invalid(perr.CorruptMessage, "%v", err)
	case err != nil && len(records) > posMagic && records[posMagic] < magic:
		return b, invalid(perr.InvalidRecord, "%v", err)
	case err != nil:
		return b, invalid(perr.CorruptMessage, "%v", err)
	case len(rest) > 0:
		return b, invalid(perr.InvalidRecord, "%d bytes follow the record batch; exactly one batch per partition is required", len(rest))
	}
	if bad := b.fits(r); bad != nil {
		return b, bad
	}
	if bad := b.sound(); bad != nil {
		return b, bad
	}
	if bad := b.fromClient(r); bad != nil {
		return b, bad
	}
	newest, bad := b.walk(r)
	if bad != nil {
		return b, bad
	}
	switch {
	case r.AppendTime != 0:
		b.Attributes |= attrAppendTime
		b.MaxTimestamp = r.AppendTime
		b.seal()
	case newest != b.MaxTimestamp:
		b.MaxTimestamp = newest
		b.seal()
	}
	return b, nil
}

func (b Batch) fits(r Rules) *Invalid {
	size := int64(len(b.Bytes))
	switch {
	case r.MaxBytes > 0 && size > r.MaxBytes:
		return invalid(perr.MessageTooLarge, "record batch of %d bytes is larger than max.message.bytes = %d", size, r.MaxBytes)
	case r.SegmentBytes > 0 && size > r.SegmentBytes:
		return invalid(perr.RecordListTooLarge, "record batch of %d bytes is larger than a segment of %d", size, r.SegmentBytes)
	default:
		return nil
	}
}

func (b Batch) fromClient(r Rules) *Invalid {
	switch {
	case b.BaseOffset != 0:
		return invalid(perr.InvalidRecord, "record batch has base offset %d; a producer's is 0", b.BaseOffset)
	case b.Records <= 0 || int64(b.Records) != int64(b.LastOffsetDelta)+1:
		return invalid(perr.InvalidRecord, "record batch states %d records and last offset delta %d; a producer's delta is the count less one", b.Records, b.LastOffsetDelta)
	case b.IsControl():
		return invalid(perr.InvalidRecord, "clients may not write control records")
	case b.Attributes&^attrKnown != 0:
		return invalid(perr.InvalidRecord, "record batch has unknown attributes %#04x", uint16(b.Attributes))
	case b.HasAppendTime():
		return invalid(perr.InvalidTimestamp, "a producer states create times, the time of append is the broker's")
	case b.Codec() == Zstd && r.Version < 7:
		return invalid(perr.UnsupportedCompressionType, "zstd needs Produce version 7, this request has %d", r.Version)
	}
	// Without a producer id the epoch and sequence say nothing: several clients leave them 0.
	switch {
	case b.ProducerID < -1:
		return invalid(perr.InvalidRecord, "record batch has producer id %d", b.ProducerID)
	case b.ProducerID >= 0 && (b.ProducerEpoch < 0 || b.BaseSequence < 0):
		return invalid(perr.InvalidRecord, "record batch has producer id %d with epoch %d and sequence %d", b.ProducerID, b.ProducerEpoch, b.BaseSequence)
	case b.ProducerID < 0 && b.IsTransactional():
		return invalid(perr.InvalidRecord, "a transactional record batch needs a producer id")
	default:
		return nil
	}
}

// walk reads every record without keeping it, and returns the newest timestamp.
func (b Batch) walk(r Rules) (newest int64, bad *Invalid) {
	if b.Codec() == None {
		c := cursor{b: b.Bytes[HeaderLen:]}
		return c.records(b, r)
	}
	limit := r.MaxDecompressed
	if limit <= 0 {
		limit = MaxDecompressed
	}
	src, done, err := decompress(b.Codec(), b.Bytes[HeaderLen:], limit)
	if err != nil {
		return 0, notDecompressed(b, err)
	}
	defer done()
	buf := windows.Get().(*[]byte)
	defer windows.Put(buf)
	c := cursor{src: src, window: *buf}
	newest, bad = c.records(b, r)
	if c.err != nil {
		return 0, notDecompressed(b, c.err)
	}
	return newest, bad
}

func notDecompressed(b Batch, err error) *Invalid {
	if errors.Is(err, errTooLarge) {
		return invalid(perr.MessageTooLarge, "record batch of %d bytes: %v", len(b.Bytes), err)
	}
	return invalid(perr.CorruptMessage, "record batch does not decompress with %s: %v", b.Codec(), err)
}

// records walks b.Records records, which must be all there is.
func (c *cursor) records(b Batch, r Rules) (newest int64, bad *Invalid) {
	newest = -1
	var faults []BadRecord
	code := perr.None
	for i := int32(0); i < b.Records; i++ {
		delta, hasKey, text := c.record(i)
		if text != "" {
			return 0, badRecord(i, "%s", text)
		}
		at := b.FirstTimestamp + delta
		newest = max(newest, at)
		switch {
		case !hasKey && r.Compacted:
			code = perr.InvalidRecord
			faults = append(faults, BadRecord{i, "a record of a compacted topic needs a key"})
		case r.AppendTime != 0 || at == -1:
		case r.Newest != 0 && at > r.Newest || r.Oldest != 0 && at < r.Oldest:
			if code == perr.None {
				code = perr.InvalidTimestamp
			}
			faults = append(faults, BadRecord{i, "the timestamp is outside the range that the topic allows"})
		}
	}
	if !c.empty() && c.err == nil {
		return 0, invalid(perr.InvalidRecord, "record batch states %d records, but more bytes follow them", b.Records)
	}
	if code != perr.None {
		return 0, &Invalid{Code: code, Records: faults, Text: "one or more records were refused: " + faults[0].Text}
	}
	return newest, nil
}
