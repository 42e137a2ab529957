package log

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"lockstep/journal"
	"lockstep/journal/vfs"
)

// space watches the room left on the volume. Segments in use are pre-zeroed, so a write into one
// cannot meet a full disk: only new segments and the index can. Three marks, of Reserve:
//
//	below the whole   batches are not admitted
//	below a half      Append refuses batches
//	below a quarter   the ballast file is given up, so that control entries and deletes still fit
type space struct {
	reserve int64
	ballast int64 // bytes of the ballast file; 0 for none
	free    atomic.Int64
	mu      sync.Mutex
	held    bool // the ballast file exists
}

const ballastName = "ballast"

func (s *space) open(l *Log) error {
	s.reserve, s.ballast = l.o.Reserve, min(l.o.Reserve/4, l.o.SegmentBytes)
	f, err := l.dir.OpenRead(ballastName)
	switch {
	case err == nil:
		s.held = true
		err = f.Close()
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		s.check(l)
	}
	return err
}

// check measures, and gives the ballast up when it is needed. It is called at open and at every segment
// switch.
func (s *space) check(l *Log) {
	free, err := l.dir.Free()
	if err != nil {
		return // the next write will say what is wrong
	}
	free += l.spares.bytes()
	s.free.Store(free)
	if free < s.reserve/4 {
		s.dropBallast(l.dir)
	}
}

// takeBallast writes the ballast file; on any error it goes without.
func (s *space) takeBallast(dir vfs.FS) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || s.ballast == 0 {
		return
	}
	f, err := dir.Create(ballastName)
	if err != nil {
		return
	}
	if err := errors.Join(fill(f, s.ballast), f.Close()); err != nil {
		_ = dir.Remove(ballastName) // whatever was written of it is what the disk lacks
		return
	}
	s.held = true
}

// dropBallast gives the ballast file back and reports whether there was one.
func (s *space) dropBallast(dir vfs.FS) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		return false
	}
	s.held = false
	return dir.Remove(ballastName) == nil
}

// CheckSpace measures the room left and takes the ballast when there is plenty; the volume calls it
// every second, off the writer's path.
func (l *Log) CheckSpace() {
	l.space.check(l)
	if l.space.free.Load() > l.space.reserve+2*l.space.ballast {
		l.space.takeBallast(l.dir)
	}
}

// Free is the room left as last measured, spare segments included.
func (l *Log) Free() int64 { return l.space.free.Load() }

// Admit is nil while batches are welcome; see journal.Volume.
func (l *Log) Admit() error {
	if err := l.Err(); err != nil {
		return err
	}
	if l.space.free.Load() < l.space.reserve {
		return journal.ErrFull
	}
	return nil
}

// Refuses reports whether Append must refuse batches.
func (l *Log) Refuses() bool { return l.space.free.Load() < l.space.reserve/2 }
