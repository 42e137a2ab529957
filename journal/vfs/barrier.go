package vfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
)

// ErrPowerLost is what every operation gets once the power is gone.
var ErrPowerLost = errors.New("vfs: power lost")

// Power is what the barriers of one process share: when it is cut, all of them stop at once.
type Power struct {
	mu    sync.Mutex
	syncs int // syncs of files and directories so far, over all barriers
	cutAt int // cut instead of performing this sync; 0 never
	// changes counts what a disk could notice: writes, syncs, creations, renames, removals.
	changes     int
	cutAtChange int
	off         bool
}

// CutAtSync cuts the power at the n-th sync (1 for the next) instead of performing it.
func (p *Power) CutAtSync(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAt = p.syncs + n
}

// CutAtChange cuts the power at the n-th change (1 for the next) instead of performing it: at every step
// of whatever a process does, not only at its syncs.
func (p *Power) CutAtChange(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAtChange = p.changes + n
}

// Changes is the number of writes, syncs, creations, renames and removals so far.
func (p *Power) Changes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes
}

// Cut stops everything now.
func (p *Power) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
}

// Syncs is the number of syncs performed so far.
func (p *Power) Syncs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.syncs
}

// Keep decides which unsynced write survives a power loss. A write of several sectors may be asked
// for one sector at a time. nil keeps nothing.
type Keep func() bool

// Barrier is a directory in memory that knows what a disk would hold: data reaches it by File.Sync,
// names by SyncDir. What survives beyond that is for Crash to say.
type Barrier struct {
	name   string
	power  *Power
	names  map[string]*inode // as the process sees them
	stable map[string]*inode // as the disk has them
	locked bool
	free   int64
}

type inode struct {
	data   []byte // as the process sees it
	stable []byte // as the disk has it
	writes []extent
}

// extent is one unsynced write.
type extent struct{ off, end int64 }

const sector = 512

// NewBarrier makes an empty directory. Barriers that share power crash together.
func NewBarrier(name string, power *Power) *Barrier {
	return &Barrier{name: name, power: power, names: map[string]*inode{}, stable: map[string]*inode{}, free: 1 << 40}
}

// Crash returns the directory as found after the power loss, under new power. The old one keeps
// failing. What was synced is there; of the rest, sector by sector, what keep says.
func (b *Barrier) Crash(power *Power, keep Keep) *Barrier {
	b.power.mu.Lock()
	defer b.power.mu.Unlock()
	b.power.off = true
	if keep == nil {
		keep = func() bool { return false }
	}
	after := NewBarrier(b.name, power)
	after.free = b.free
	names := b.stable
	if keep() { // directory operations are one ordered journal: all of them or none
		names = b.names
	}
	order := make([]string, 0, len(names))
	for name := range names {
		order = append(order, name)
	}
	slices.Sort(order)
	seen := map[*inode]*inode{}
	for _, name := range order {
		n := names[name]
		if seen[n] == nil {
			data := n.survivors(keep)
			seen[n] = &inode{data: data, stable: slices.Clone(data)}
		}
		after.names[name], after.stable[name] = seen[n], seen[n]
	}
	return after
}

func (n *inode) survivors(keep Keep) []byte {
	data := slices.Clone(n.stable)
	for _, w := range n.writes {
		for off := w.off; off < w.end; {
			end := min((off/sector+1)*sector, w.end)
			if keep() {
				data = grown(data, end)
				copy(data[off:end], n.data[off:end])
			}
			off = end
		}
	}
	return data
}

func grown(b []byte, size int64) []byte {
	if int64(len(b)) < size {
		b = append(b, make([]byte, size-int64(len(b)))...)
	}
	return b
}

// enter takes the lock all barriers of one power share.
func (b *Barrier) enter() error {
	b.power.mu.Lock()
	if b.power.off {
		b.power.mu.Unlock()
		return ErrPowerLost
	}
	return nil
}

// change is enter for what a disk could notice.
func (b *Barrier) change() error {
	if err := b.enter(); err != nil {
		return err
	}
	b.power.changes++
	if b.power.cutAtChange > 0 && b.power.changes >= b.power.cutAtChange {
		b.power.off = true
		b.power.mu.Unlock()
		return ErrPowerLost
	}
	return nil
}

// syncPoint counts a sync and says whether the power went away instead.
func (b *Barrier) syncPoint() error {
	b.power.syncs++
	if b.power.cutAt > 0 && b.power.syncs >= b.power.cutAt {
		b.power.off = true
		return ErrPowerLost
	}
	return nil
}

func (b *Barrier) String() string { return b.name }

// Create implements FS.
func (b *Barrier) Create(name string) (File, error) {
	if err := b.change(); err != nil {
		return nil, err
	}
	defer b.power.mu.Unlock()
	if b.names[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: b.name + "/" + name, Err: fs.ErrExist}
	}
	b.names[name] = &inode{}
	return &barrierFile{b: b, n: b.names[name]}, nil
}

// Open implements FS.
func (b *Barrier) Open(name string) (File, error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.power.mu.Unlock()
	n := b.names[name]
	if n == nil {
		return nil, &fs.PathError{Op: "open", Path: b.name + "/" + name, Err: fs.ErrNotExist}
	}
	return &barrierFile{b: b, n: n}, nil
}

// OpenRead implements FS.
func (b *Barrier) OpenRead(name string) (File, error) { return b.Open(name) }

// Rename implements FS.
func (b *Barrier) Rename(oldName, newName string) error {
	if err := b.change(); err != nil {
		return err
	}
	defer b.power.mu.Unlock()
	n := b.names[oldName]
	if n == nil {
		return &fs.PathError{Op: "rename", Path: b.name + "/" + oldName, Err: fs.ErrNotExist}
	}
	delete(b.names, oldName)
	b.names[newName] = n
	return nil
}

// Remove implements FS.
func (b *Barrier) Remove(name string) error {
	if err := b.change(); err != nil {
		return err
	}
	defer b.power.mu.Unlock()
	if b.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: b.name + "/" + name, Err: fs.ErrNotExist}
	}
	delete(b.names, name)
	return nil
}

// List implements FS.
func (b *Barrier) List() ([]string, error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.power.mu.Unlock()
	var names []string
	for name := range b.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir implements FS.
func (b *Barrier) SyncDir() error {
	if err := b.change(); err != nil {
		return err
	}
	defer b.power.mu.Unlock()
	if err := b.syncPoint(); err != nil {
		return err
	}
	clear(b.stable)
	for name, n := range b.names {
		b.stable[name] = n
	}
	return nil
}

// Free implements FS.
func (b *Barrier) Free() (int64, error) {
	if err := b.enter(); err != nil {
		return 0, err
	}
	defer b.power.mu.Unlock()
	return b.free, nil
}

// Lock implements FS; a crash drops it.
func (b *Barrier) Lock() (func() error, error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.power.mu.Unlock()
	if b.locked {
		return nil, ErrLocked
	}
	b.locked = true
	return func() error {
		b.power.mu.Lock()
		defer b.power.mu.Unlock()
		b.locked = false
		return nil
	}, nil
}

// Bytes is a copy of a file as the process sees it, and Flip changes one of its bytes on the disk, as
// bit rot does.
func (b *Barrier) Bytes(name string) []byte {
	b.power.mu.Lock()
	defer b.power.mu.Unlock()
	return slices.Clone(b.names[name].data)
}

// Flip inverts the bits of mask in one byte of a file, durably.
func (b *Barrier) Flip(name string, off int64, mask byte) {
	b.power.mu.Lock()
	defer b.power.mu.Unlock()
	n := b.names[name]
	n.data[off] ^= mask
	n.stable[off] ^= mask
}

type barrierFile struct {
	b *Barrier
	n *inode
}

func (f *barrierFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.b.enter(); err != nil {
		return 0, err
	}
	defer f.b.power.mu.Unlock()
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *barrierFile) WriteAt(bufs [][]byte, off int64) error {
	if err := f.b.change(); err != nil {
		return err
	}
	defer f.b.power.mu.Unlock()
	w := extent{off: off, end: off}
	for _, buf := range bufs {
		f.n.data = grown(f.n.data, w.end+int64(len(buf)))
		w.end += int64(copy(f.n.data[w.end:], buf))
	}
	f.n.writes = append(f.n.writes, w)
	return nil
}

func (f *barrierFile) Sync() error {
	if err := f.b.change(); err != nil {
		return err
	}
	defer f.b.power.mu.Unlock()
	if err := f.b.syncPoint(); err != nil {
		return err
	}
	f.n.stable = grown(f.n.stable, int64(len(f.n.data)))
	for _, w := range f.n.writes {
		copy(f.n.stable[w.off:w.end], f.n.data[w.off:w.end])
	}
	f.n.writes = nil
	return nil
}

func (f *barrierFile) Size() (int64, error) {
	if err := f.b.enter(); err != nil {
		return 0, err
	}
	defer f.b.power.mu.Unlock()
	return int64(len(f.n.data)), nil
}

func (f *barrierFile) Close() error { return nil }
