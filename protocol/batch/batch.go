// Package batch reads, checks and stamps record batches of format v2, the only one we speak.
package batch

// HeaderLen is the length of a batch's fixed part, up to and including the record count.
const HeaderLen = 61

// Batch is one record batch: its bytes and what its header says. Bytes are never mutated once the
// batch has been handed to another actor, except by Stamp before the first append.
type Batch struct {
	BaseOffset      int64
	LeaderEpoch     int32
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	FirstTimestamp  int64
	MaxTimestamp    int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Records         int32
	Bytes           []byte // the whole batch, header included
}

// LastOffset is the offset of the last record, inclusive.
func (b Batch) LastOffset() int64 { return b.BaseOffset + int64(b.LastOffsetDelta) }
