package log

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/journal"
	"lockstep/journal/vfs"
)

// space watches the room left on the volume. Segments in use are pre-zeroed, so a write into one
// cannot meet a full disk: only new segments and the index can. Two marks, of Reserve:
//
//	below the whole   batches are not admitted
//	below a quarter   the ballast file is given up, so that control entries and deletes still fit
//
// Whoever else fills the disk is faster than any mark. Then a new segment has no room, and the writer waits for it:
// nothing is lost or refused that an actor has already decided, and it all goes on when space returns.
type space struct {
	reserve int64
	ballast int64 // bytes of the ballast file; 0 for none
	free    atomic.Int64
	mu      sync.Mutex
	held    bool // the ballast file exists
	waits   atomic.Int64
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
		return fmt.Errorf("%w: %s has %d MiB free, of %d MiB that it keeps", journal.ErrFull, l.dir, l.space.free.Load()>>20, l.space.reserve>>20)
	}
	return nil
}

// Waiting is how many bytes the writer waits for because the disk has no room for a segment; 0: it does not.
func (l *Log) Waiting() int64 { return l.space.waits.Load() }

// roomAgain is how long the writer waits between two looks for the room of a new segment.
const roomAgain = 100 * time.Millisecond

// waitForRoom returns when size bytes are free; false when the log is closing meanwhile.
func (l *Log) waitForRoom(size int64) bool {
	l.space.waits.Store(size)
	defer l.space.waits.Store(0)
	for {
		l.space.check(l)
		time.Sleep(roomAgain)
		l.mu.Lock()
		closing := l.closing
		l.mu.Unlock()
		if closing {
			return false
		}
		if free, err := l.dir.Free(); err != nil || free >= size {
			return true
		}
	}
}
