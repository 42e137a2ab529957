package badger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Badger writes its memtables through maps of sparse files. A store to a page that the disk has no block for is no
// error but SIGBUS, which takes the whole process, every broker of the datacenter. So the blocks of a memtable's file
// are taken before Badger begins it: the file lies there under its next name, empty as far as Badger can see, with the
// blocks behind its end. A memtable that is full becomes a table, whose file Badger maps as well: the blocks for one
// are held beside the index and given back before the transaction that may need them.

const (
	memSuffix  = ".mem"
	heldSuffix = ".room" // of the file that holds the blocks of a table, beside the index
)

// room keeps the next memtable's file ready. The caller of Apply is its only user.
type room struct {
	dir   string
	bytes int64
	next  int  // number of the file that is ready
	held  bool // the blocks of a table
}

// clearRoom removes what room left: Badger takes an empty file that it finds at open for a damaged one.
func clearRoom(dir string) error {
	_, empty, err := memFiles(dir)
	if gone := os.Remove(dir + heldSuffix); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	for _, name := range empty {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// memFiles are the highest number of a memtable's file in dir, and the files that are empty.
func memFiles(dir string) (highest int, empty []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		var n int
		if _, err := fmt.Sscanf(strings.TrimSuffix(name, memSuffix), "%d", &n); err != nil || !strings.HasSuffix(name, memSuffix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // flushed meanwhile
		}
		if err != nil {
			return 0, nil, err
		}
		if highest = max(highest, n); info.Size() == 0 {
			empty = append(empty, filepath.Join(dir, name))
		}
	}
	return highest, empty, nil
}

// roomOf is what Badger may write into a memtable's file: it begins the next one when this one holds memTableBytes, and
// a transaction has at most 15 % of them.
func roomOf(memTableBytes int64) int64 { return memTableBytes + memTableBytes/4 + 1<<20 }

// ErrNoRoom says that an index cannot be opened for lack of space. Nothing is wrong with it.
var ErrNoRoom = errors.New("too little space to open the index")

// enoughToOpen refuses before Badger maps anything: what it writes at open would be SIGBUS, too.
func enoughToOpen(dir string, memTableBytes int64) error {
	free, err := freeOn(dir)
	if need := 3 * roomOf(memTableBytes); err == nil && free < need {
		err = fmt.Errorf("%w: %s has %d MiB free and needs %d MiB: free space there and start again", ErrNoRoom, dir, free>>20, need>>20)
	}
	return err
}

func freeOn(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("space left under %s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// open takes the blocks of the memtable that Badger has begun, and makes the next one ready.
func (r *room) open() error {
	n, _, err := memFiles(r.dir)
	if err != nil {
		return err
	}
	if err := r.take(n, os.O_WRONLY); err != nil {
		return fmt.Errorf("room for %d MiB of the index in %s: %w; free space there", r.bytes>>20, r.dir, err)
	}
	r.next = n + 1
	r.prepare()
	return nil
}

// keep is called before each transaction: when Badger has begun the file that was ready, the next one is due.
func (r *room) keep() {
	if free, err := freeOn(r.dir); err == nil {
		r.hold(free)
	}
	info, err := os.Stat(r.path(r.next))
	switch {
	case err == nil && info.Size() > 0:
		r.next++
		r.prepare()
	case errors.Is(err, os.ErrNotExist): // there was no room for it the last time
		r.prepare()
	}
}

// hold keeps the blocks of a table while there is plenty, and gives them back when it gets narrow.
func (r *room) hold(free int64) {
	switch name := r.dir + heldSuffix; {
	case r.held && free < r.bytes:
		_ = os.Remove(name)
		r.held = false
	case !r.held && free > 4*r.bytes:
		if err := takeBlocks(name, os.O_WRONLY|os.O_CREATE, r.bytes); err != nil {
			_ = os.Remove(name)
			return
		}
		r.held = true
	}
}

func (r *room) path(n int) string { return filepath.Join(r.dir, fmt.Sprintf("%05d%s", n, memSuffix)) }

// prepare goes without on any error. Then the file is made when it is needed, as ever.
func (r *room) prepare() {
	if err := r.take(r.next, os.O_WRONLY|os.O_CREATE); err != nil {
		_ = os.Remove(r.path(r.next)) // Badger has not begun it: it begins one inside a transaction, and those are ours
	}
}

func (r *room) take(n, flags int) error { return takeBlocks(r.path(n), flags, r.bytes) }

// takeBlocks is nil where the file system cannot take blocks ahead.
func takeBlocks(name string, flags int, size int64) error {
	f, err := os.OpenFile(name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
