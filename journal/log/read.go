package log

import (
	"errors"
	"fmt"
	"slices"
)

// ErrMoved says that the segment of a position is gone: its live entries were copied. Look the
// position up again.
var ErrMoved = errors.New("log: segment was recycled")

// Read returns the frame at pos, verified. It pins the segment, so that recycling waits for it (D14).
// The payload is fresh and belongs to the caller.
func (l *Log) Read(pos Position) (Record, error) {
	l.segMu.RLock()
	s := l.segments[pos.Segment]
	if s != nil {
		s.readers.Add(1)
	}
	l.segMu.RUnlock()
	if s == nil {
		return Record{}, ErrMoved
	}
	defer s.readers.Done()
	if pos.Length > frameMax || pos.Length < frameHeader+frameCRC {
		return Record{}, fmt.Errorf("position %+v is not one of a frame", pos)
	}
	b := make([]byte, pos.Length)
	if _, err := s.file.ReadAt(b, pos.Offset); err != nil {
		return Record{}, fmt.Errorf("%s/%s at offset %d: %w", l.dir, segmentName(pos.Segment), pos.Offset, err)
	}
	r, err := parseFrame(b)
	if err != nil {
		return Record{}, &Damage{l.dir.String(), pos.Segment, pos.Offset, err.Error()}
	}
	r.Pos = pos
	return r, nil
}

// Segments returns the numbers of the retained segments, ascending, and which one is active.
func (l *Log) Segments() (all []uint64, active uint64) {
	l.segMu.RLock()
	defer l.segMu.RUnlock()
	for n := range l.segments {
		all = append(all, n)
		active = max(active, n)
	}
	slices.Sort(all)
	return all, active
}

// SegmentBytes is the size of segment n on disk, 0 if it is gone.
func (l *Log) SegmentBytes(n uint64) int64 {
	l.segMu.RLock()
	defer l.segMu.RUnlock()
	if s := l.segments[n]; s != nil {
		return s.size
	}
	return 0
}

// ScanSegment visits the groups of one retained segment in order and verifies them. It pins the segment.
func (l *Log) ScanSegment(n uint64, visit func(g *GroupHeader, records []Record) error) error {
	return l.scanSegment(n, false, visit)
}

// ScanFrames is ScanSegment without the chain: for what this process wrote or verified itself.
func (l *Log) ScanFrames(n uint64, visit func(g *GroupHeader, records []Record) error) error {
	return l.scanSegment(n, true, visit)
}

func (l *Log) scanSegment(n uint64, unchained bool, visit func(g *GroupHeader, records []Record) error) error {
	l.segMu.RLock()
	s := l.segments[n]
	if s != nil {
		s.readers.Add(1)
	}
	l.segMu.RUnlock()
	if s == nil {
		return ErrMoved
	}
	defer s.readers.Done()
	sc := Scanner{Dir: l.dir, Volume: l.meta.Volume, Unchained: unchained}
	end, err := sc.Scan(s.file, s.header, visit)
	if err == nil && end.Stop != nil && end.Acknowledged {
		return end.Stop
	}
	return err
}

// Retire forgets a sealed segment: first durably in the list of segments, then its file becomes a
// spare. The caller vouches that nothing in it is live. It waits for readers.
func (l *Log) Retire(n uint64) error {
	if _, active := l.Segments(); n == active {
		return fmt.Errorf("segment %d is being written", n)
	}
	durable := make(chan error, 1)
	l.Submit(&Item{retire: n, Done: func(err error) { durable <- err }})
	if err := <-durable; err != nil {
		return err
	}
	l.segMu.Lock()
	s := l.segments[n]
	delete(l.segments, n)
	l.segMu.Unlock()
	if s == nil {
		return nil // Close took it
	}
	s.readers.Wait()
	if err := l.spares.put(segmentName(n), s.file, s.size); err != nil {
		return err
	}
	l.space.check(l)
	return l.dir.SyncDir()
}

// First is the index of the first frame segment n may hold, 0 if it is gone.
func (l *Log) First(n uint64) uint64 {
	l.segMu.RLock()
	defer l.segMu.RUnlock()
	if s := l.segments[n]; s != nil {
		return s.header.First
	}
	return 0
}
