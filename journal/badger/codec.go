package badger

import (
	"encoding/binary"
	"fmt"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/log"
)

var be = binary.BigEndian

func key(class byte, s journal.Stream, n uint64) []byte {
	return be.AppendUint64(prefix(class, s), n)
}

func prefix(class byte, s journal.Stream) []byte {
	b := make([]byte, 0, len(s)+3+8)
	b = append(b, class, '|')
	b = append(b, s...)
	return append(b, '|')
}

// offsetKey orders offsets, which are never negative in an indexed batch.
func offsetKey(s journal.Stream, last core.Offset) []byte { return key('l', s, uint64(max(last, 0))) }

func stateKey(s journal.Stream) []byte { return append([]byte("s|"), s...) }

func usageKey(n uint64) []byte { return be.AppendUint64([]byte("g|"), n) }

const posLen = 20

func appendPos(b []byte, p log.Position) []byte {
	b = be.AppendUint64(b, p.Segment)
	b = be.AppendUint64(b, uint64(p.Offset))
	return be.AppendUint32(b, uint32(p.Length))
}

func parsePos(b []byte) log.Position {
	return log.Position{Segment: be.Uint64(b), Offset: int64(be.Uint64(b[8:])), Length: int32(be.Uint32(b[16:]))}
}

// event is the value of e|stream|seq.
type event struct {
	pos   log.Position
	batch bool // an IndexAdd whose last offset is last
	last  core.Offset
}

func (e event) encode() []byte {
	b := appendPos(make([]byte, 0, posLen+8), e.pos)
	if e.batch {
		b = be.AppendUint64(b, uint64(e.last))
	}
	return b
}

func decodeEvent(b []byte) (event, error) {
	switch len(b) {
	case posLen:
		return event{pos: parsePos(b)}, nil
	case posLen + 8:
		return event{pos: parsePos(b), batch: true, last: core.Offset(be.Uint64(b[posLen:]))}, nil
	default:
		return event{}, fmt.Errorf("event value of %d bytes", len(b))
	}
}

// Batch is the value of l|stream|last.
type Batch struct {
	Base, Last   core.Offset
	Seq          journal.Seq
	Pos          log.Position
	CRC          uint32
	Epoch        core.LeaderEpoch
	MaxTimestamp int64
}

const batchLen = 16 + posLen + 16

func (v Batch) encode() []byte {
	b := make([]byte, 0, batchLen)
	b = be.AppendUint64(b, uint64(v.Base))
	b = be.AppendUint64(b, uint64(v.Seq))
	b = appendPos(b, v.Pos)
	b = be.AppendUint32(b, v.CRC)
	b = be.AppendUint32(b, uint32(v.Epoch))
	return be.AppendUint64(b, uint64(v.MaxTimestamp))
}

func decodeBatch(last uint64, b []byte) (Batch, error) {
	if len(b) != batchLen {
		return Batch{}, fmt.Errorf("batch value of %d bytes", len(b))
	}
	return Batch{
		Base:         core.Offset(be.Uint64(b)),
		Last:         core.Offset(last),
		Seq:          journal.Seq(be.Uint64(b[8:])),
		Pos:          parsePos(b[16:]),
		CRC:          be.Uint32(b[16+posLen:]),
		Epoch:        core.LeaderEpoch(be.Uint32(b[20+posLen:])),
		MaxTimestamp: int64(be.Uint64(b[24+posLen:])),
	}, nil
}

const stateLen = 24 + posLen + 1 + 8

func (s *state) encode() []byte {
	b := make([]byte, 0, stateLen)
	b = be.AppendUint64(b, uint64(s.last))
	b = be.AppendUint64(b, uint64(s.snap))
	b = be.AppendUint64(b, uint64(s.drop))
	b = appendPos(b, s.snapPos)
	b = append(b, 0)
	if s.hasSnap {
		b[len(b)-1] = 1
	}
	return be.AppendUint64(b, uint64(s.bytes))
}

func decodeState(b []byte) (*state, error) {
	if len(b) != stateLen {
		return nil, fmt.Errorf("stream state of %d bytes", len(b))
	}
	return &state{
		last: journal.Seq(be.Uint64(b)), snap: journal.Seq(be.Uint64(b[8:])), drop: journal.Seq(be.Uint64(b[16:])),
		snapPos: parsePos(b[24:]), hasSnap: b[24+posLen] == 1, bytes: int64(be.Uint64(b[25+posLen:])),
	}, nil
}
