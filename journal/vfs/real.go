package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Real is a directory of the operating system: files 0600, the directory 0700, symbolic links refused
// (attack-A23).
type Real struct{ dir string }

// NewReal makes dir if it is missing and takes it. Its own name is made durable in its parent.
func NewReal(dir string) (*Real, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := syncPath(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, err
	}
	return OpenReal(dir)
}

// OpenReal takes an existing directory and changes nothing.
func OpenReal(dir string) (*Real, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory (a symbolic link is refused): give the real path", dir)
	}
	return &Real{dir: dir}, nil
}

func (r *Real) String() string { return r.dir }

func (r *Real) open(name string, flags int) (File, error) {
	f, err := os.OpenFile(filepath.Join(r.dir, name), flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return &realFile{f: f}, nil
}

// Create implements FS.
func (r *Real) Create(name string) (File, error) {
	return r.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open implements FS.
func (r *Real) Open(name string) (File, error) { return r.open(name, os.O_RDWR) }

// OpenRead implements FS.
func (r *Real) OpenRead(name string) (File, error) { return r.open(name, os.O_RDONLY) }

// Rename implements FS.
func (r *Real) Rename(oldName, newName string) error {
	return os.Rename(filepath.Join(r.dir, oldName), filepath.Join(r.dir, newName))
}

// Remove implements FS.
func (r *Real) Remove(name string) error { return os.Remove(filepath.Join(r.dir, name)) }

// List implements FS.
func (r *Real) List() ([]string, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir implements FS.
func (r *Real) SyncDir() error { return syncPath(r.dir) }

func syncPath(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Free implements FS: what an unprivileged writer may still use.
func (r *Real) Free() (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(r.dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: r.dir, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// Lock implements FS with an flock, which the kernel drops when the process dies.
func (r *Real) Lock() (func() error, error) {
	path := filepath.Join(r.dir, "LOCK")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s is held by another process; stop it first", ErrLocked, path), f.Close())
	}
	return f.Close, nil
}

type realFile struct{ f *os.File }

func (r *realFile) ReadAt(p []byte, off int64) (int, error) { return r.f.ReadAt(p, off) }

// iovMax is how many buffers one pwritev takes.
const iovMax = 1024

func (r *realFile) WriteAt(bufs [][]byte, off int64) error {
	rest := bufs
	skip := 0 // bytes of rest[0] already written
	var scratch [iovMax][]byte
	for len(rest) > 0 {
		if len(rest[0]) == skip {
			rest, skip = rest[1:], 0
			continue
		}
		n := copy(scratch[:], rest)
		scratch[0] = rest[0][skip:]
		wrote, err := unix.Pwritev(int(r.f.Fd()), scratch[:n], off)
		if err == unix.EINTR {
			continue
		}
		if err == nil && wrote == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return &os.PathError{Op: "pwritev", Path: r.f.Name(), Err: err}
		}
		off += int64(wrote)
		wrote += skip
		for len(rest) > 0 && wrote >= len(rest[0]) {
			wrote -= len(rest[0])
			rest = rest[1:]
		}
		skip = wrote
	}
	return nil
}

func (r *realFile) Sync() error {
	for {
		err := unix.Fdatasync(int(r.f.Fd()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "fdatasync", Path: r.f.Name(), Err: err}
		}
		return nil
	}
}

func (r *realFile) Size() (int64, error) {
	info, err := r.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (r *realFile) Close() error { return r.f.Close() }
