package broker

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"lockstep/journal"
)

var errNoVolume = errors.New("the broker has no volume")

// Dir is the directory of the broker's volume, absolute: what clients are told must mean the same to each of them.
func (b *Broker) Dir() string {
	if path, err := filepath.Abs(b.slot.Dir); err == nil {
		return path
	}
	return b.slot.Dir // the working directory is gone
}

// Space is the size of the file system that holds the broker's volume, and what of it this process may still use, in
// bytes.
func (b *Broker) Space() (total, usable int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(b.slot.Dir, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: b.slot.Dir, Err: err}
	}
	return int64(st.Blocks) * st.Bsize, int64(st.Bavail) * st.Bsize, nil
}

// Sizes is how many bytes the record batches of replicas of this broker take on its volume. The error is why the volume
// cannot be asked. It may block on the index.
func (b *Broker) Sizes(replicas []*Replica) ([]int64, error) {
	b.mu.RLock()
	store, lost := b.store, b.lost
	b.mu.RUnlock()
	if lost != nil {
		return nil, lost
	}
	if store == nil {
		return nil, errNoVolume
	}
	streams := make([]journal.Stream, len(replicas))
	for i, r := range replicas {
		streams[i] = r.stream
	}
	return store.Sizes(streams)
}
