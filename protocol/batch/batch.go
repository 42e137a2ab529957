// Package batch reads, checks and stamps record batches of format v2, the only one we speak.
package batch

// HeaderLen is the length of a batch's fixed part, up to and including the record count.
const HeaderLen = 61

// Positions inside the header. What lies before posAttributes is outside the CRC, so that a broker can
// stamp offset and epoch without touching it.
const (
	posLength      = 8
	posLeaderEpoch = 12
	posMagic       = 16
	posCRC         = 17
	posAttributes  = 21
	posLastDelta   = 23
	posFirstTime   = 27
	posMaxTime     = 35
	posProducerID  = 43
	posProducerEp  = 51
	posSequence    = 53
	posCount       = 57

	lengthBias = 12 // the length field counts what follows it
	magic      = 2
)

// Attribute bits.
const (
	codecMask       = 0x07
	attrAppendTime  = 0x08
	attrTransaction = 0x10
	attrControl     = 0x20
	attrKnown       = 0x3f // of a producer; attrHorizon is written by a log cleaner only
)

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

// IsControl tells whether the batch is a marker that consumers are not shown.
func (b Batch) IsControl() bool { return b.Attributes&attrControl != 0 }

// IsTransactional tells whether the records belong to a transaction.
func (b Batch) IsTransactional() bool { return b.Attributes&attrTransaction != 0 }

// HasAppendTime tells whether every record has the batch's MaxTimestamp as its time.
func (b Batch) HasAppendTime() bool { return b.Attributes&attrAppendTime != 0 }

// Codec is how the records are compressed.
func (b Batch) Codec() Codec { return Codec(b.Attributes & codecMask) }

// Codec is a compression algorithm by its number in the attributes.
type Codec int8

// The codecs of format v2.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	default:
		return "unknown"
	}
}
