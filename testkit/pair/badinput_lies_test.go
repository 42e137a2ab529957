package pair

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/klauspost/compress/zstd"

	"lockstep/protocol/batch"
)

// Where things stand in a record batch.
const (
	posLength, posMagic, posCRC, posAttributes, posLastDelta = 8, 16, 17, 21, 23
	posRecordCount, posRecords                               = 57, 61
)

// lie is a batch that is wrong in one or more ways; now and then it is right.
func lie(rng *rand.Rand) []byte {
	var records []batch.Record
	for range 1 + rng.IntN(5) {
		records = append(records, batch.Record{Timestamp: time.Now().UnixMilli(), Key: []byte("k"), Value: make([]byte, rng.IntN(100))})
	}
	b := bytes.Clone(batch.Build(batch.Batch{LeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}, records).Bytes)
	kind := rng.IntN(12)
	if kind >= 10 {
		b = bomb(b, kind == 10)
	}
	be := binary.BigEndian
	number := func() uint32 {
		return []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, rng.Uint32()}[rng.IntN(6)]
	}
	switch kind {
	case 0:
		be.PutUint64(b, rng.Uint64()) // base offset
	case 1:
		be.PutUint32(b[posLength:], number())
	case 2:
		b[posMagic] = byte(rng.IntN(5))
	case 3:
		be.PutUint32(b[posCRC:], rng.Uint32())
		return b
	case 4:
		be.PutUint16(b[posAttributes:], uint16(rng.Uint32()))
	case 5:
		be.PutUint32(b[posLastDelta:], number())
	case 6:
		be.PutUint32(b[posRecordCount:], number())
	case 7:
		b[posRecords+rng.IntN(len(b)-posRecords)] = byte(rng.Uint32())
	case 8:
		b = b[:rng.IntN(len(b))]
	case 9:
		for range 5 {
			b[posAttributes+rng.IntN(len(b)-posAttributes)] = byte(rng.Uint32())
		}
	}
	if len(b) > posRecords && rng.IntN(4) > 0 {
		be.PutUint32(b[posCRC:], crc32.Checksum(b[posAttributes:], crc32.MakeTable(crc32.Castagnoli)))
	}
	return b
}

// bomb replaces the records by a little that unpacks to 300 MiB.
func bomb(b []byte, gz bool) []byte {
	packed, codec := bombs[0], uint16(1)
	if !gz {
		packed, codec = bombs[1], 4
	}
	b = append(b[:posRecords:posRecords], packed...)
	binary.BigEndian.PutUint16(b[posAttributes:], codec)
	binary.BigEndian.PutUint32(b[posLength:], uint32(len(b)-12))
	return b
}

var bombs = func() (out [2][]byte) {
	zeros := make([]byte, 1<<20)
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		panic(err)
	}
	for range 300 {
		if _, err := g.Write(zeros); err != nil {
			panic(err)
		}
		if _, err := z.Write(zeros); err != nil {
			panic(err)
		}
	}
	if err := g.Close(); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return [2][]byte{gz.Bytes(), zs.Bytes()}
}()
