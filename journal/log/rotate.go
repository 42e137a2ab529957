package log

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"lockstep/actors/core"
	"lockstep/journal/vfs"
)

// switchSegment seals the active segment and begins the next one, large enough for need bytes. The
// hash in its header proves where its predecessor ended.
func (w *writer) switchSegment(need int) error {
	l := w.log
	size := max(l.o.SegmentBytes, int64(padded(Sector+need)))
	if l.o.Durability == OS {
		// The next header proves where this segment ends: that must be true after a power loss too.
		if err := w.active.file.Sync(); err != nil {
			return err
		}
	}
	h := SegmentHeader{Volume: l.meta.Volume, Number: w.active.header.Number + 1, First: w.next, Prev: w.hash}
	seg, err := l.begin(h, size)
	for errors.Is(err, unix.ENOSPC) && (l.space.dropBallast(l.dir) || l.waitForRoom(size)) {
		seg, err = l.begin(h, size)
	}
	if err != nil {
		return fmt.Errorf("new segment of %d bytes: %w", size, err)
	}
	if err := w.pinTail(false); err != nil {
		return err
	}
	w.active, w.off = seg, Sector
	w.live = append(slices.Clone(w.live), h.Number)
	l.space.check(l)
	l.spares.want(h.Number + 1)
	l.o.OnSwitch(h.Number)
	return nil
}

// begin makes the prepared file the segment h, or prepares one first. Names were made durable ahead of
// time: a directory sync makes the file system write everything else it has in its journal, which
// would hold up the groups for tens of milliseconds.
func (l *Log) begin(h SegmentHeader, size int64) (*segment, error) {
	s, err := l.spares.take(h.Number, size)
	if err != nil {
		return nil, err
	}
	if err := s.file.WriteAt([][]byte{encodeSegmentHeader(segmentMagic, h)}, 0); err != nil {
		return nil, err
	}
	if err := s.file.Sync(); err != nil {
		return nil, err
	}
	seg := &segment{header: h, file: s.file, size: s.size}
	l.segMu.Lock()
	l.segments[h.Number] = seg
	l.segMu.Unlock()
	return seg, nil
}

// pinTail swears to everything written so far.
func (w *writer) pinTail(clean bool) error {
	w.pinned++
	return writePin(w.pin, Pin{
		Volume: w.log.meta.Volume, Counter: w.pinned, Index: w.next - 1, Hash: w.hash,
		Segment: w.active.header.Number, Clean: clean,
	}, w.log.o.Durability == Fsync || clean)
}

// spare is a pre-zeroed or recycled file that waits to become a segment: a sync that overwrites
// blocks costs a tenth of one that extends a file.
type spare struct {
	name string
	file vfs.File
	size int64
}

// spares prepares the next segment ahead of the writer: zeroed, named, and marked as not begun. Safe for
// concurrent use.
type spares struct {
	dir        vfs.FS
	volume     core.Incarnation
	size       int64
	ahead      int // how many to zero at open
	foreground bool

	mu      sync.Mutex
	wake    *sync.Cond
	ready   []spare
	next    spare  // the prepared one
	number  uint64 // what it is prepared for, 0 if there is none
	wanted  uint64
	busy    bool // preparing is under way
	named   int  // counts the names given
	closing bool
	ended   sync.WaitGroup
}

const (
	sparesKept  = 2 // recycled segments kept for reuse; more are given back to the file system
	spareSuffix = ".spare"
)

func (s *spares) start(next uint64) {
	s.wake = sync.NewCond(&s.mu)
	if s.foreground {
		s.want(next)
		return
	}
	s.wanted = next
	s.ended.Add(1)
	go func() {
		defer s.ended.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		for !s.closing {
			switch {
			case s.wanted > s.number:
				n := s.wanted
				s.wanted = 0 // an error is met again by the writer, which does it itself
				s.prepare(n)
			case len(s.ready) < s.ahead:
				s.mu.Unlock()
				made, err := s.make(s.size)
				s.mu.Lock()
				if err != nil {
					s.ahead = 0
				} else {
					s.ready = append(s.ready, made)
				}
			default:
				s.ahead = 0
				s.wake.Wait()
			}
		}
	}()
}

// want asks for segment number to be prepared.
func (s *spares) want(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foreground {
		s.prepare(number)
		return
	}
	s.wanted = number
	s.wake.Broadcast()
}

// prepare makes a file ready under the name of segment number; s.mu is held on entry and on return.
func (s *spares) prepare(number uint64) {
	s.busy = true
	var sp spare
	if n := len(s.ready); n > 0 {
		sp, s.ready = s.ready[n-1], s.ready[:n-1]
	}
	s.mu.Unlock()
	err := error(nil)
	if sp.file == nil {
		sp, err = s.make(s.size)
	}
	if err == nil {
		err = s.name(&sp, number)
	}
	s.mu.Lock()
	s.busy = false
	if err == nil {
		s.next, s.number = sp, number
	} else if sp.file != nil {
		_ = sp.file.Close()
	}
	s.wake.Broadcast()
}

// name marks a spare as prepared and makes its future name durable.
func (s *spares) name(sp *spare, number uint64) error {
	mark := encodeSegmentHeader(preparedMagic, SegmentHeader{Volume: s.volume, Number: number})
	if err := sp.file.WriteAt([][]byte{mark}, 0); err != nil {
		return err
	}
	if err := sp.file.Sync(); err != nil {
		return err
	}
	if err := s.dir.Rename(sp.name, segmentName(number)); err != nil {
		return err
	}
	sp.name = segmentName(number)
	return s.dir.SyncDir()
}

func (s *spares) stop() {
	s.mu.Lock()
	s.closing = true
	s.wake.Broadcast()
	s.mu.Unlock()
	s.ended.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range s.ready {
		_ = sp.file.Close() // nothing in it counts
	}
	if s.number > 0 {
		_ = s.next.file.Close()
	}
	s.ready, s.number = nil, 0
}

// take hands out the file prepared for segment number, waiting for it if it is on its way, or prepares
// one of at least size bytes now.
func (s *spares) take(number uint64, size int64) (spare, error) {
	s.mu.Lock()
	for s.busy || (!s.foreground && s.wanted == number && s.number != number && !s.closing) {
		s.wake.Wait()
	}
	if s.number > 0 {
		sp, n := s.next, s.number
		s.number = 0
		if n == number && sp.size >= size {
			s.mu.Unlock()
			return sp, nil
		}
		s.mu.Unlock()
		if err := errors.Join(sp.file.Close(), s.dir.Remove(sp.name)); err != nil {
			return spare{}, err
		}
	} else {
		s.mu.Unlock()
	}
	sp, err := s.make(size)
	if err != nil {
		return spare{}, err
	}
	if err := s.name(&sp, number); err != nil {
		return spare{}, errors.Join(err, sp.file.Close())
	}
	return sp, nil
}

// make writes a file of zeros and syncs it. What it leaves behind on an error is removed, so that a
// full disk does not fill further.
func (s *spares) make(size int64) (spare, error) {
	s.mu.Lock()
	s.named++
	name := fmt.Sprintf("%08d%s", s.named, spareSuffix)
	s.mu.Unlock()
	f, err := s.dir.Create(name)
	if err != nil {
		return spare{}, err
	}
	if err := fill(f, size); err != nil {
		return spare{}, errors.Join(err, f.Close(), s.dir.Remove(name))
	}
	return spare{name, f, size}, nil
}

// fill writes zeros and syncs every few of them: one sync of a whole segment would stand in the way of
// the groups that other files sync meanwhile.
func fill(f vfs.File, size int64) error {
	const syncEvery = 4 << 20
	for off := int64(0); off < size; off += int64(len(zeros)) {
		if err := f.WriteAt([][]byte{zeros[:min(int64(len(zeros)), size-off)]}, off); err != nil {
			return err
		}
		if off%syncEvery == syncEvery-int64(len(zeros)) {
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
	return f.Sync()
}

// put takes a segment that is no longer needed, under its old name: as a spare, or back to the file
// system when there are enough.
func (s *spares) put(old string, f vfs.File, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || len(s.ready) >= sparesKept || size != s.size {
		return errors.Join(f.Close(), s.dir.Remove(old))
	}
	s.named++
	name := fmt.Sprintf("%08d%s", s.named, spareSuffix)
	if err := s.dir.Rename(old, name); err != nil {
		return err
	}
	s.ready = append(s.ready, spare{name, f, size})
	return nil
}

// bytes is what is ready without asking the file system for space.
func (s *spares) bytes() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range s.ready {
		n += sp.size
	}
	if s.number > 0 {
		n += s.next.size
	}
	return n
}
