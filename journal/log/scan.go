package log

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lockstep/actors/core"
	"lockstep/journal/vfs"
)

// Damage is a place in a segment that cannot be read as what was written there.
type Damage struct {
	Dir     string
	Segment uint64
	Offset  int64
	Reason  string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s/%s at offset %d: %s", d.Dir, segmentName(d.Segment), d.Offset, d.Reason)
}

// refused is the error an operator reads when acknowledged data is damaged.
func refused(d *Damage) error {
	return fmt.Errorf("journal refuses to open: %w; acknowledged data is damaged: refill this volume from its peers (move the directory away and start), or run clusterctl journal verify on it", d)
}

// SegmentName is the file name of segment n.
func SegmentName(n uint64) string { return segmentName(n) }

// ListSegments returns the numbers of the segments in dir, ascending.
func ListSegments(dir vfs.FS) ([]uint64, error) {
	names, err := dir.List()
	return segmentNumbers(names), err
}

// SegmentList reads the payload of a RecordSegments.
func SegmentList(payload []byte) []uint64 { return parseSegmentList(payload) }

// SegmentEnd is how far a segment could be read.
type SegmentEnd struct {
	Offset int64  // where the next group would stand
	Next   uint64 // index of the next frame
	Hash   Hash   // the chain behind frame Next-1
	Groups int
	Last   GroupHeader // the newest group, if Groups > 0
	// Stop says why reading ended at Offset; nil if nothing was ever written there in this life of
	// the segment. Acknowledged is set when a later group proves that the damaged one was: groups
	// are written one after the other's sync.
	Stop         *Damage
	Acknowledged bool
}

// Scanner reads one segment from its header to its end and verifies everything on the way.
type Scanner struct {
	Dir    vfs.FS
	Volume core.Incarnation
	// HashAt is filled with the chain behind the frames whose indexes are its keys.
	HashAt map[uint64]Hash
	// Unchained leaves the chain out, which costs most: CRCs are checked all the same, and hashes stay what
	// the headers say.
	Unchained bool

	window []byte
	at     int64
}

// ReadSegmentHeader reads and checks the first sector of a segment. ErrPrepared is no damage.
func ReadSegmentHeader(dir vfs.FS, number uint64, f vfs.File) (SegmentHeader, error) {
	b := make([]byte, Sector)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return SegmentHeader{}, err
	}
	h, err := parseSegmentHeader(b)
	if errors.Is(err, ErrPrepared) {
		return h, err
	}
	if err == nil && h.Number != number {
		err = fmt.Errorf("segment header says it is segment %d", h.Number)
	}
	if err != nil {
		return h, refused(&Damage{dir.String(), number, 0, err.Error()})
	}
	return h, nil
}

// Scan visits every group in order. The records and their payloads are valid during the call only.
// err is a read error or visit's; damage is told by the end.
func (s *Scanner) Scan(f vfs.File, h SegmentHeader, visit func(g *GroupHeader, records []Record) error) (SegmentEnd, error) {
	end := SegmentEnd{Offset: Sector, Next: h.First, Hash: h.Prev}
	s.at, s.window = 0, s.window[:0]
	if h.Volume != s.Volume {
		end.Stop = &Damage{s.Dir.String(), h.Number, 0, fmt.Sprintf("segment of volume %s, this is %s", h.Volume, s.Volume)}
		end.Acknowledged = true
		return end, nil
	}
	size, err := f.Size()
	if err != nil {
		return end, err
	}
	var records []Record
	for end.Offset+groupFixed+frameCRC <= size {
		b, err := s.bytes(f, end.Offset, groupMaxLen)
		if err != nil {
			return end, err
		}
		g, headerLen, ok := parseGroupHeader(b)
		if !ok || !s.here(&g, h.Number, end.Offset) {
			if len(b) >= 4 && binary.LittleEndian.Uint32(b) == groupMagic && !ok {
				end.Stop = s.damage(h.Number, end.Offset, "group header is damaged or torn")
			}
			break
		}
		reason := ""
		next := end
		switch {
		case g.First != end.Next:
			reason = fmt.Sprintf("group starts at index %d, expected %d", g.First, end.Next)
		case g.Prev != end.Hash && !s.Unchained:
			reason = fmt.Sprintf("chain is broken: group follows hash %s, the log before it ends in %s", g.Prev, end.Hash)
		case end.Offset+int64(g.Length) > size || int(g.Length) < headerLen:
			reason = fmt.Sprintf("group length %d does not fit", g.Length)
		default:
			if b, err = s.bytes(f, end.Offset, int(g.Length)); err != nil {
				return end, err
			}
			records, reason = s.group(b, headerLen, &g, &next, records[:0])
		}
		if reason != "" {
			end.Stop = s.damage(h.Number, end.Offset, reason)
			break
		}
		if visit != nil {
			if err := visit(&g, records); err != nil {
				return end, err
			}
		}
		next.Offset += int64(g.Length)
		next.Groups++
		next.Last = g
		end = next
	}
	later, err := s.laterGroup(f, h.Number, end.Offset+Sector, size)
	if err != nil {
		return end, err
	}
	if later > 0 {
		end.Acknowledged = true
		if end.Stop == nil {
			end.Stop = s.damage(h.Number, end.Offset, "group header is damaged")
		}
		end.Stop.Reason += fmt.Sprintf("; the group at offset %d was written after it was synced", later)
	}
	return end, nil
}

func (s *Scanner) damage(segment uint64, off int64, reason string) *Damage {
	return &Damage{s.Dir.String(), segment, off, reason}
}

// here tells a group of this place from what a recycled segment held in its former life.
func (s *Scanner) here(g *GroupHeader, segment uint64, off int64) bool {
	return g.Volume == s.Volume && g.Segment == segment && g.Offset == off
}

// group verifies the frames of one group and moves end behind them.
func (s *Scanner) group(b []byte, headerLen int, g *GroupHeader, end *SegmentEnd, records []Record) ([]Record, string) {
	hash := link(end.Hash, b[:headerLen-frameCRC], Hash{})
	off := headerLen
	for i := range g.Frames {
		r, err := parseFrame(b[off:])
		if err != nil {
			return records, fmt.Sprintf("frame %d of the group: %v", i, err)
		}
		if r.Index != end.Next {
			return records, fmt.Sprintf("frame %d of the group has index %d, expected %d", i, r.Index, end.Next)
		}
		size := frameSize(&r)
		r.Pos = Position{g.Segment, g.Offset + int64(off), int32(size)}
		head := frameHeader + len(r.Stream)
		if !s.Unchained {
			hash = link(hash, b[off:off+head], sha256.Sum256(r.Entry.Payload))
		}
		if _, wanted := s.HashAt[r.Index]; wanted {
			s.HashAt[r.Index] = hash
		}
		records = append(records, r)
		off += size
		end.Next++
	}
	for _, pad := range b[off:] {
		if pad != 0 {
			return records, "padding behind the last frame is not zero"
		}
	}
	end.Hash = hash
	return records, ""
}

const windowSize = 1 << 20

// bytes returns n bytes at off, fewer at the end of the file. They are valid until the next call.
func (s *Scanner) bytes(f vfs.File, off int64, n int) ([]byte, error) {
	if off >= s.at && off+int64(n) <= s.at+int64(len(s.window)) {
		return s.window[off-s.at:][:n], nil
	}
	want := max(n, windowSize)
	if cap(s.window) < want {
		s.window = make([]byte, want)
	}
	got, err := f.ReadAt(s.window[:want], off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	s.at, s.window = off, s.window[:got]
	return s.window[:min(n, got)], nil
}

// laterGroup looks for a group of this segment at or above from.
func (s *Scanner) laterGroup(f vfs.File, segment uint64, from, size int64) (int64, error) {
	for off := from; off+groupFixed+frameCRC <= size; off += Sector {
		b, err := s.bytes(f, off, groupMaxLen)
		if err != nil {
			return 0, err
		}
		if len(b) < 4 || binary.LittleEndian.Uint32(b) != groupMagic {
			continue
		}
		if g, _, ok := parseGroupHeader(b); ok && s.here(&g, segment, off) {
			return off, nil
		}
	}
	return 0, nil
}
