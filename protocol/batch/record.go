package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Record is one record of a batch. Key, Value and header values are nil when null; they alias the batch,
// or a buffer of the walk that made them.
type Record struct {
	Offset    int64
	Timestamp int64 // Unix ms, -1 if the producer stated none
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Each calls fn for every record, in order, until it returns false. limit bounds the decompressed size in
// bytes; 0: MaxDecompressed. Control batches are walked like others.
func (b Batch) Each(limit int64, fn func(Record) bool) error {
	p := b.Bytes[HeaderLen:]
	if b.Codec() != None {
		if limit <= 0 {
			limit = MaxDecompressed
		}
		src, done, err := decompress(b.Codec(), p, limit)
		if err != nil {
			return fmt.Errorf("batch at offset %d: %w", b.BaseOffset, err)
		}
		p, err = io.ReadAll(src)
		done()
		if err != nil {
			return fmt.Errorf("batch at offset %d: %w", b.BaseOffset, err)
		}
	}
	for i := int32(0); i < b.Records; i++ {
		rec, rest, err := b.next(p)
		if err != nil {
			return fmt.Errorf("batch at offset %d, record %d of %d: %w", b.BaseOffset, i, b.Records, err)
		}
		if p = rest; !fn(rec) {
			return nil
		}
	}
	return nil
}

var errRecord = errors.New("the record's lengths do not fit its bytes")

func (b Batch) next(p []byte) (rec Record, rest []byte, err error) {
	body, rest, ok := chunk(p)
	if !ok || len(body) == 0 {
		return rec, nil, errRecord
	}
	body = body[1:]
	timeDelta, body, ok1 := varint(body)
	offsetDelta, body, ok2 := varint(body)
	key, body, ok3 := chunk(body)
	value, body, ok4 := chunk(body)
	headers, body, ok5 := varint(body)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || headers < 0 || headers > int64(len(body)/2) {
		return rec, nil, errRecord
	}
	rec = Record{Offset: b.BaseOffset + offsetDelta, Timestamp: b.FirstTimestamp + timeDelta, Key: key, Value: value}
	if b.HasAppendTime() {
		rec.Timestamp = b.MaxTimestamp
	}
	if headers > 0 {
		rec.Headers = make([]Header, headers)
	}
	for i := range rec.Headers {
		var name []byte
		if name, body, ok = chunk(body); ok {
			rec.Headers[i].Key = string(name)
			rec.Headers[i].Value, body, ok = chunk(body)
		}
		if !ok {
			return rec, nil, errRecord
		}
	}
	return rec, rest, nil
}

func varint(p []byte) (v int64, rest []byte, ok bool) {
	v, n := binary.Varint(p)
	if n <= 0 {
		return 0, nil, false
	}
	return v, p[n:], true
}

// chunk reads bytes with their length in front; -1 is null.
func chunk(p []byte) (out, rest []byte, ok bool) {
	n, p, ok := varint(p)
	switch {
	case !ok || n < -1 || n > int64(len(p)):
		return nil, nil, false
	case n == -1:
		return nil, p, true
	default:
		return p[:n:n], p[n:], true
	}
}

// Build writes an uncompressed batch of what header states (attributes, producer, leader epoch, base
// offset) and records. Offsets are numbered from the base; counts, times, length and CRC are computed.
func Build(header Batch, records []Record) Batch {
	p := make([]byte, HeaderLen)
	first, newest := int64(-1), int64(-1)
	if len(records) > 0 {
		first = records[0].Timestamp
	}
	for i, r := range records {
		newest = max(newest, r.Timestamp)
		body := appendRecord(nil, r, r.Timestamp-first, int64(i))
		p = append(binary.AppendVarint(p, int64(len(body))), body...)
	}
	binary.BigEndian.PutUint64(p, uint64(header.BaseOffset))
	binary.BigEndian.PutUint32(p[posLength:], uint32(len(p)-lengthBias))
	binary.BigEndian.PutUint32(p[posLeaderEpoch:], uint32(header.LeaderEpoch))
	p[posMagic] = magic
	binary.BigEndian.PutUint32(p[posLastDelta:], uint32(max(len(records)-1, 0)))
	binary.BigEndian.PutUint64(p[posFirstTime:], uint64(first))
	binary.BigEndian.PutUint64(p[posProducerID:], uint64(header.ProducerID))
	binary.BigEndian.PutUint16(p[posProducerEp:], uint16(header.ProducerEpoch))
	binary.BigEndian.PutUint32(p[posSequence:], uint32(header.BaseSequence))
	binary.BigEndian.PutUint32(p[posCount:], uint32(len(records)))
	b := Batch{Attributes: header.Attributes, MaxTimestamp: newest, Bytes: p}
	b.seal()
	b, _, _ = Parse(p)
	return b
}

func appendRecord(p []byte, r Record, timeDelta, offsetDelta int64) []byte {
	p = append(p, 0)
	p = binary.AppendVarint(p, timeDelta)
	p = binary.AppendVarint(p, offsetDelta)
	p = appendChunk(p, r.Key)
	p = appendChunk(p, r.Value)
	p = binary.AppendVarint(p, int64(len(r.Headers)))
	for _, h := range r.Headers {
		p = append(binary.AppendVarint(p, int64(len(h.Key))), h.Key...)
		p = appendChunk(p, h.Value)
	}
	return p
}

func appendChunk(p, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(p, -1)
	}
	return append(binary.AppendVarint(p, int64(len(v))), v...)
}
