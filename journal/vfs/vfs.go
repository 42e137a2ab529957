// Package vfs is the file seam of the journal: the real one, a write barrier that forgets what was
// not synced, and a faulty one. An FS is one flat directory, and one directory is one volume.
package vfs

import "errors"

// ErrLocked says that another process holds the directory.
var ErrLocked = errors.New("vfs: directory is locked")

// FS is one flat directory. Names contain no slash. Methods are safe for concurrent use.
type FS interface {
	// Create makes a new file for reading and writing; it fails if name exists. Its name is durable
	// only after SyncDir.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing, never through a symbolic link.
	Open(name string) (File, error)
	// OpenRead opens an existing file for reading only.
	OpenRead(name string) (File, error)
	// Rename replaces newName; durable after SyncDir.
	Rename(oldName, newName string) error
	// Remove is durable after SyncDir.
	Remove(name string) error
	// List returns the names of all files, sorted.
	List() ([]string, error)
	// SyncDir makes creations, renames and removals durable.
	SyncDir() error
	// Free is the number of bytes that can still be written.
	Free() (int64, error)
	// Lock takes the directory for this handle until the returned function is called, or fails with
	// ErrLocked.
	Lock() (unlock func() error, err error)
	// String names the directory for people.
	String() string
}

// File is one open file.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	// WriteAt writes the buffers one behind the other at off, in one call where the system can. An
	// error leaves an unknown part of them written. It does not keep or change the buffers.
	WriteAt(bufs [][]byte, off int64) error
	// Sync makes the written data and the size durable (fdatasync). After an error nothing is known
	// about any unsynced write, and a second Sync that succeeds proves nothing.
	Sync() error
	Size() (int64, error)
	Close() error
}
