package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrShort says that the bytes end inside a batch: normal at the end of a fetch answer.
var ErrShort = errors.New("the bytes end inside a record batch")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Parse reads the header of the first batch in p and returns what follows it. The batch aliases p. It
// checks what is needed to know where the batch ends and that it is of format v2, nothing else.
func Parse(p []byte) (b Batch, rest []byte, err error) {
	if len(p) < posCRC {
		return b, p, ErrShort
	}
	if m := p[posMagic]; m != magic {
		return b, p, fmt.Errorf("record batch has magic %d, only 2 is spoken", m)
	}
	length := int64(int32(binary.BigEndian.Uint32(p[posLength:])))
	switch {
	case length < HeaderLen-lengthBias:
		return b, p, fmt.Errorf("record batch states length %d, less than a header", length)
	case length+lengthBias > int64(len(p)):
		return b, p, ErrShort
	}
	end := int(length + lengthBias)
	return header(p[:end:end]), p[end:], nil
}

func header(p []byte) Batch {
	return Batch{
		BaseOffset:      int64(binary.BigEndian.Uint64(p)),
		LeaderEpoch:     int32(binary.BigEndian.Uint32(p[posLeaderEpoch:])),
		CRC:             binary.BigEndian.Uint32(p[posCRC:]),
		Attributes:      int16(binary.BigEndian.Uint16(p[posAttributes:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(p[posLastDelta:])),
		FirstTimestamp:  int64(binary.BigEndian.Uint64(p[posFirstTime:])),
		MaxTimestamp:    int64(binary.BigEndian.Uint64(p[posMaxTime:])),
		ProducerID:      int64(binary.BigEndian.Uint64(p[posProducerID:])),
		ProducerEpoch:   int16(binary.BigEndian.Uint16(p[posProducerEp:])),
		BaseSequence:    int32(binary.BigEndian.Uint32(p[posSequence:])),
		Records:         int32(binary.BigEndian.Uint32(p[posCount:])),
		Bytes:           p,
	}
}

// Checksum is the CRC-32C of everything it covers, from the attributes on.
func (b Batch) Checksum() uint32 { return crc32.Checksum(b.Bytes[posAttributes:], castagnoli) }

// Stamp writes the base offset and the leader epoch into a batch. Both lie outside the CRC.
func Stamp(p []byte, base int64, epoch int32) {
	binary.BigEndian.PutUint64(p, uint64(base))
	binary.BigEndian.PutUint32(p[posLeaderEpoch:], uint32(epoch))
}

// Stamped is the batch after Stamp; its bytes are those of b, changed in place.
func (b Batch) Stamped(base int64, epoch int32) Batch {
	Stamp(b.Bytes, base, epoch)
	b.BaseOffset, b.LeaderEpoch = base, epoch
	return b
}

// seal puts the header fields that the CRC covers, and the CRC, back into the bytes.
func (b *Batch) seal() {
	p := b.Bytes
	binary.BigEndian.PutUint16(p[posAttributes:], uint16(b.Attributes))
	binary.BigEndian.PutUint64(p[posMaxTime:], uint64(b.MaxTimestamp))
	b.CRC = b.Checksum()
	binary.BigEndian.PutUint32(p[posCRC:], b.CRC)
}
