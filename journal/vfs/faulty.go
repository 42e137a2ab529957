package vfs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// Faults are what a Faulty directory does wrong, counted over all its files. Numbers count from the
// moment they are set; 1 is the next call.
type Faults struct {
	WriteAt   int   // this write fails
	SyncAt    int   // this sync of a file fails, later ones succeed although the data may be gone
	CreateAt  int   // this creation and all later ones fail
	Err       error // with this error; EIO if nil
	ShortKeep int   // bytes of the failing write that reach the file all the same: a torn write
	Free      int64 // what Free says, if positive
	FullAt    int64 // a write that ends above this size of its file fails with ENOSPC, if positive
	// Before is called before each write, sync, creation, rename and removal, so that a test can end the
	// process there.
	Before func()
}

// Faulty fails on demand. It is safe for concurrent use.
type Faulty struct {
	FS
	mu     sync.Mutex
	faults Faults
}

// NewFaulty wraps fs, which behaves until Set.
func NewFaulty(fs FS) *Faulty { return &Faulty{FS: fs} }

// Set replaces what goes wrong from now on.
func (f *Faulty) Set(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

func (f *Faulty) before() {
	f.mu.Lock()
	call := f.faults.Before
	f.mu.Unlock()
	if call != nil {
		call()
	}
}

// Rename implements FS.
func (f *Faulty) Rename(oldName, newName string) error {
	f.before()
	return f.FS.Rename(oldName, newName)
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	f.before()
	return f.FS.Remove(name)
}

// SyncDir implements FS.
func (f *Faulty) SyncDir() error {
	f.before()
	return f.FS.SyncDir()
}

// hit counts one call of a kind down and returns the error when it is its turn.
func (f *Faulty) hit(counter *int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *counter == 0 {
		return nil
	}
	if *counter--; *counter > 0 {
		return nil
	}
	if f.faults.Err != nil {
		return f.faults.Err
	}
	return unix.EIO
}

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) {
	f.before()
	if err := f.hit(&f.faults.CreateAt); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.faults.CreateAt = 1
		return nil, err
	}
	return f.wrap(f.FS.Create(name))
}

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) { return f.wrap(f.FS.Open(name)) }

func (f *Faulty) wrap(file File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f}, nil
}

// Free implements FS.
func (f *Faulty) Free() (int64, error) {
	f.mu.Lock()
	free := f.faults.Free
	f.mu.Unlock()
	if free > 0 {
		return free, nil
	}
	return f.FS.Free()
}

type faultyFile struct {
	File
	fs *Faulty
}

func (f *faultyFile) WriteAt(bufs [][]byte, off int64) error {
	f.fs.before()
	f.fs.mu.Lock()
	fullAt, short := f.fs.faults.FullAt, f.fs.faults.ShortKeep
	f.fs.mu.Unlock()
	if err := f.fs.hit(&f.fs.faults.WriteAt); err != nil {
		for _, b := range bufs {
			b = b[:min(short, len(b))]
			short -= len(b)
			if e := f.File.WriteAt([][]byte{b}, off); e != nil {
				return e
			}
			off += int64(len(b))
		}
		return err
	}
	if fullAt > 0 {
		end := off
		for _, b := range bufs {
			end += int64(len(b))
		}
		if end > fullAt {
			return unix.ENOSPC
		}
	}
	return f.File.WriteAt(bufs, off)
}

func (f *faultyFile) Sync() error {
	f.fs.before()
	if err := f.fs.hit(&f.fs.faults.SyncAt); err != nil {
		return err
	}
	return f.File.Sync()
}
