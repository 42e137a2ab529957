package log

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"lockstep/actors/core"
	"lockstep/journal"
)

// FormatVersion is the version of meta, segments, groups, frames and pins this build writes, and the
// only one it reads. See the package comment of journal for how to change it.
const FormatVersion = 1

// Sector is the alignment of groups: a sector that holds acknowledged bytes is never written again,
// so a torn write cannot damage them.
const Sector = 512

const (
	frameHeader = 64
	frameCRC    = 4
	// frameMax bounds what a reader allocates for one frame.
	frameMax = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Hash is a link of the chain (D11).
type Hash [sha256.Size]byte

func (h Hash) String() string { return fmt.Sprintf("%x", h[:8]) }

// RecordType is what a frame holds.
type RecordType uint8

const (
	RecordEntry    RecordType = 1 // one core.Entry
	RecordSnapshot RecordType = 2 // payload: the state; Seq: the last entry it covers
	RecordDrop     RecordType = 3 // the stream's entries below Seq are gone
	RecordSegments RecordType = 4 // payload: the numbers of all retained segments; no stream
)

// Position says where a frame lies.
type Position struct {
	Segment uint64
	Offset  int64
	Length  int32 // the whole frame, CRC included
}

// Record is one frame. Index, Pos and CRC are set by the log.
type Record struct {
	Type RecordType
	Copy bool // moved here from an older segment; it was live at this point of the log
	// Unindexed marks a copied batch that is history only: it was truncated or trimmed before.
	Unindexed bool
	Stream    journal.Stream
	Seq       journal.Seq
	Entry     core.Entry

	Index uint64
	Pos   Position
	CRC   uint32
}

// frameSize is the number of bytes of r on disk.
func frameSize(r *Record) int {
	return frameHeader + len(r.Stream) + len(r.Entry.Payload) + frameCRC
}

const (
	flagCopy      = 1
	flagUnindexed = 2
)

// appendFrameHeader renders everything of a frame in front of its payload.
func appendFrameHeader(b []byte, r *Record) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(frameSize(r)))
	b = append(b, byte(r.Type), FormatVersion, byte(r.Entry.Kind), byte(r.Entry.Op))
	b = le.AppendUint64(b, r.Index)
	b = le.AppendUint64(b, uint64(r.Seq))
	b = le.AppendUint64(b, uint64(r.Entry.Base))
	b = le.AppendUint64(b, uint64(r.Entry.Last))
	b = le.AppendUint64(b, uint64(r.Entry.MaxTimestamp))
	b = le.AppendUint64(b, uint64(r.Entry.Note))
	b = le.AppendUint32(b, uint32(r.Entry.Epoch))
	b = le.AppendUint16(b, uint16(len(r.Stream)))
	flags := byte(0)
	if r.Copy {
		flags |= flagCopy
	}
	if r.Unindexed {
		flags |= flagUnindexed
	}
	b = append(b, flags, 0)
	return append(b, r.Stream...)
}

// parseFrame reads the frame at the start of b. The payload aliases b.
func parseFrame(b []byte) (Record, error) {
	if len(b) < frameHeader+frameCRC {
		return Record{}, fmt.Errorf("frame of %d bytes is too short", len(b))
	}
	le := binary.LittleEndian
	length := int(le.Uint32(b))
	stream := int(le.Uint16(b[60:]))
	if length < frameHeader+stream+frameCRC || length > len(b) {
		return Record{}, fmt.Errorf("frame length %d does not fit into %d bytes", length, len(b))
	}
	b = b[:length]
	crc := le.Uint32(b[length-frameCRC:])
	if got := crc32.Checksum(b[:length-frameCRC], castagnoli); got != crc {
		return Record{}, fmt.Errorf("frame CRC is %08x, stored %08x", got, crc)
	}
	if b[5] != FormatVersion {
		return Record{}, fmt.Errorf("frame format version %d, this build reads %d", b[5], FormatVersion)
	}
	r := Record{
		Type:      RecordType(b[4]),
		Copy:      b[62]&flagCopy != 0,
		Unindexed: b[62]&flagUnindexed != 0,
		Index:     le.Uint64(b[8:]),
		Seq:       journal.Seq(le.Uint64(b[16:])),
		Stream:    journal.Stream(b[frameHeader : frameHeader+stream]),
		CRC:       crc,
		Entry: core.Entry{
			Kind:         core.EntryKind(b[6]),
			Op:           core.IndexOp(b[7]),
			Base:         core.Offset(le.Uint64(b[24:])),
			Last:         core.Offset(le.Uint64(b[32:])),
			MaxTimestamp: int64(le.Uint64(b[40:])),
			Note:         core.Offset(le.Uint64(b[48:])),
			Epoch:        core.LeaderEpoch(le.Uint32(b[56:])),
			Payload:      b[frameHeader+stream : length-frameCRC],
		},
	}
	if r.Type < RecordEntry || r.Type > RecordSegments {
		return Record{}, fmt.Errorf("unknown record type %d", r.Type)
	}
	return r, nil
}

// link is the chain behind one frame: SHA-256(prev ‖ header ‖ payload digest).
func link(prev Hash, header []byte, digest Hash) Hash {
	var buf [2*sha256.Size + frameHeader + 512]byte
	b := append(buf[:0], prev[:]...)
	b = append(b, header...)
	b = append(b, digest[:]...)
	return sha256.Sum256(b)
}

// Mark is what one volume knows to be durable on another (D13).
type Mark struct {
	Volume core.Incarnation
	Broker core.ReplicaID
	Index  uint64
	Hash   Hash
}

const markSize = 64

// GroupHeader stands in front of what one write and one sync made durable together.
type GroupHeader struct {
	Segment uint64
	Offset  int64
	Volume  core.Incarnation
	First   uint64 // index of the first frame
	Frames  uint32
	Length  uint32 // header, frames and padding
	Prev    Hash   // the chain before this group
	Marks   []Mark
}

const (
	groupMagic  = 0x4c4b4750 // "LKGP"
	groupFixed  = 96
	groupMarks  = 64 // most siblings a group names
	groupMaxLen = groupFixed + groupMarks*markSize + frameCRC
)

func groupHeaderSize(marks int) int { return groupFixed + marks*markSize + frameCRC }

func appendGroupHeader(b []byte, g *GroupHeader) []byte {
	le := binary.LittleEndian
	start := len(b)
	b = le.AppendUint32(b, groupMagic)
	b = append(b, FormatVersion, byte(len(g.Marks)), 0, 0)
	b = le.AppendUint64(b, g.Segment)
	b = le.AppendUint64(b, uint64(g.Offset))
	b = append(b, g.Volume[:]...)
	b = le.AppendUint64(b, g.First)
	b = le.AppendUint32(b, g.Frames)
	b = le.AppendUint32(b, g.Length)
	b = append(b, g.Prev[:]...)
	b = le.AppendUint64(b, 0)
	for _, m := range g.Marks {
		b = append(b, m.Volume[:]...)
		b = le.AppendUint32(b, uint32(m.Broker))
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, m.Index)
		b = append(b, m.Hash[:]...)
	}
	return le.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// parseGroupHeader reads a group header and returns how long it is. ok is false for anything else:
// zeros, the frames of a recycled segment's former life, damage.
func parseGroupHeader(b []byte) (g GroupHeader, size int, ok bool) {
	le := binary.LittleEndian
	if len(b) < groupFixed+frameCRC || le.Uint32(b) != groupMagic || b[4] != FormatVersion || b[5] > groupMarks {
		return g, 0, false
	}
	marks := int(b[5])
	size = groupHeaderSize(marks)
	if len(b) < size || crc32.Checksum(b[:size-frameCRC], castagnoli) != le.Uint32(b[size-frameCRC:]) {
		return g, 0, false
	}
	g = GroupHeader{
		Segment: le.Uint64(b[8:]),
		Offset:  int64(le.Uint64(b[16:])),
		First:   le.Uint64(b[40:]),
		Frames:  le.Uint32(b[48:]),
		Length:  le.Uint32(b[52:]),
	}
	copy(g.Volume[:], b[24:])
	copy(g.Prev[:], b[56:])
	for i := range marks {
		m := b[groupFixed+i*markSize:]
		mark := Mark{Broker: core.ReplicaID(le.Uint32(m[16:])), Index: le.Uint64(m[24:])}
		copy(mark.Volume[:], m)
		copy(mark.Hash[:], m[32:])
		g.Marks = append(g.Marks, mark)
	}
	return g, size, true
}

// SegmentHeader is the first sector of a segment.
type SegmentHeader struct {
	Volume core.Incarnation
	Number uint64
	First  uint64 // index of the first frame it may hold
	Prev   Hash   // the chain behind frame First-1
}

const (
	segmentMagic  = 0x4c4b5347 // "LKSG"
	preparedMagic = 0x4c4b5350 // "LKSP": a zeroed file that waits under its future name
)

// ErrPrepared says that a segment has its file and its name but was not begun.
var ErrPrepared = errors.New("segment was prepared but not begun")

func encodeSegmentHeader(magic uint32, h SegmentHeader) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, Sector)
	b = le.AppendUint32(b, magic)
	b = le.AppendUint32(b, FormatVersion)
	b = append(b, h.Volume[:]...)
	b = le.AppendUint64(b, h.Number)
	b = le.AppendUint64(b, h.First)
	b = append(b, h.Prev[:]...)
	b = b[:Sector-frameCRC]
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func parseSegmentHeader(b []byte) (SegmentHeader, error) {
	le := binary.LittleEndian
	var h SegmentHeader
	if len(b) < Sector || crc32.Checksum(b[:Sector-frameCRC], castagnoli) != le.Uint32(b[Sector-frameCRC:Sector]) {
		return h, errors.New("segment header is damaged")
	}
	if m := le.Uint32(b); m != segmentMagic && m != preparedMagic {
		return h, errors.New("not a segment")
	}
	if v := le.Uint32(b[4:]); v != FormatVersion {
		return h, fmt.Errorf("segment format version %d, this build reads %d", v, FormatVersion)
	}
	copy(h.Volume[:], b[8:])
	h.Number = le.Uint64(b[24:])
	h.First = le.Uint64(b[32:])
	copy(h.Prev[:], b[40:])
	if le.Uint32(b) == preparedMagic {
		return h, ErrPrepared
	}
	return h, nil
}

func padded(n int) int { return (n + Sector - 1) / Sector * Sector }
