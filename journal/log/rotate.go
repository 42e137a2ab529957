package log

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"lockstep/journal/vfs"
)

// switchSegment seals the active segment and begins the next one, large enough for need bytes. A
// segment gets its name only when its header is on disk, so a named segment is always a valid one,
// and its header's hash proves where its predecessor ended.
func (w *writer) switchSegment(need int) error {
	l := w.log
	size := max(l.o.SegmentBytes, int64(padded(Sector+need)))
	spare, err := l.spares.get(size)
	if errors.Is(err, unix.ENOSPC) && l.space.dropBallast(l.dir) {
		spare, err = l.spares.get(size)
	}
	if err != nil {
		return fmt.Errorf("new segment of %d bytes: %w", size, err)
	}
	if l.o.Durability == OS {
		// The next header proves where this segment ends: that must be true after a power loss too.
		if err := w.active.file.Sync(); err != nil {
			return err
		}
	}
	h := SegmentHeader{Volume: l.meta.Volume, Number: w.active.header.Number + 1, First: w.next, Prev: w.hash}
	seg, err := l.install(spare, h)
	if err != nil {
		return err
	}
	if err := w.pinTail(false); err != nil {
		return err
	}
	w.active, w.off = seg, Sector
	w.live = append(slices.Clone(w.live), h.Number)
	l.space.check(l)
	l.o.OnSwitch(h.Number)
	return nil
}

// install turns a spare into a segment.
func (l *Log) install(s spare, h SegmentHeader) (*segment, error) {
	if err := s.file.WriteAt([][]byte{encodeSegmentHeader(h)}, 0); err != nil {
		return nil, err
	}
	if err := s.file.Sync(); err != nil {
		return nil, err
	}
	if err := l.dir.Rename(s.name, segmentName(h.Number)); err != nil {
		return nil, err
	}
	if err := l.dir.SyncDir(); err != nil {
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

// spares keeps one ready ahead of the writer. Safe for concurrent use.
type spares struct {
	dir        vfs.FS
	size       int64
	foreground bool

	mu      sync.Mutex
	wake    *sync.Cond
	ready   []spare
	named   int // counts the names given
	closing bool
	failed  bool // the background preparation hit an error; the writer will meet it itself
	ended   sync.WaitGroup
}

const (
	sparesKept  = 2 // recycled segments kept for reuse; more are given back to the file system
	spareSuffix = ".spare"
)

func (s *spares) start() {
	s.wake = sync.NewCond(&s.mu)
	if s.foreground {
		return
	}
	s.ended.Add(1)
	go func() {
		defer s.ended.Done()
		for {
			s.mu.Lock()
			for (len(s.ready) > 0 || s.failed) && !s.closing {
				s.wake.Wait()
			}
			closing := s.closing
			s.mu.Unlock()
			if closing {
				return
			}
			made, err := s.make(s.size)
			s.mu.Lock()
			if err != nil {
				s.failed = true
			} else {
				s.ready = append(s.ready, made)
			}
			s.mu.Unlock()
		}
	}()
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
	s.ready = nil
}

// get hands out a ready spare of at least size bytes or makes one.
func (s *spares) get(size int64) (spare, error) {
	s.mu.Lock()
	s.failed = false
	s.wake.Signal()
	for i, sp := range s.ready {
		if sp.size >= size {
			s.ready = slices.Delete(s.ready, i, i+1)
			s.mu.Unlock()
			return sp, nil
		}
	}
	s.mu.Unlock()
	return s.make(size)
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

func fill(f vfs.File, size int64) error {
	for off := int64(0); off < size; off += int64(len(zeros)) {
		if err := f.WriteAt([][]byte{zeros[:min(int64(len(zeros)), size-off)]}, off); err != nil {
			return err
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
	return n
}
