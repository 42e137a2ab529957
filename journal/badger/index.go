// Package badger is the index of a volume's commit log, and the only import of Badger.
//
// Everything here is derived: losing it loses nothing, because it is made again from the log. It is
// never synced by us; what it covers is one of its own keys, written in the same transaction as what
// it indexes. Replay of the log is idempotent and does not depend on the order in which copies of
// live entries come, because every rule compares sequences of the stream.
//
//	e|stream|seq   → position of an entry not covered by a snapshot (ledger streams: of every entry)
//	l|stream|last  → base, seq, position, epoch, timestamp of an indexed batch
//	s|stream       → highest seq, newest snapshot, newest drop, bytes of indexed batches
//	g|segment      → live bytes and guards
//	c              → covered index and the chain behind it
//
// Batches are keyed by their last offset, so that every look-up (the batch that contains an offset, a
// truncation, a trim) is one forward seek; a second key by base offset would only cost writes.
package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	bdg "github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"lockstep/journal"
	"lockstep/journal/log"
)

// Options of an index.
type Options struct {
	Dir           string
	MemTableBytes int64 // 32 MiB
	Logger        *slog.Logger
}

// Index is an open index. Apply has one caller at a time; everything else is safe beside it.
type Index struct {
	db   *bdg.DB
	room room
	// toClose is the space that Badger may need for its last memtables and for what it merges on the way out.
	toClose int64

	mu       sync.RWMutex
	streams  map[journal.Stream]*state
	segments map[uint64]*Usage
	covered  uint64
	hash     log.Hash
}

// state is what an index knows of one stream, as s|stream holds it.
type state struct {
	last    journal.Seq // highest sequence seen
	snap    journal.Seq // what the newest snapshot covers
	snapPos log.Position
	hasSnap bool
	drop    journal.Seq // entries at or below are gone
	bytes   int64       // of the frames of its indexed batches
}

func (s *state) exists() bool { return s.hasSnap || s.last > s.drop }

// Usage is what a segment still holds.
type Usage struct {
	Live   int64 // bytes of frames that something refers to
	Guards int   // truncations, trims and drops: needed while an older segment is retained
}

// Open opens or makes the index in o.Dir. An error means that it must be removed and rebuilt.
func Open(o Options) (*Index, error) {
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 32 << 20
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	opts := bdg.DefaultOptions(o.Dir).
		WithSyncWrites(false).
		WithValueThreshold(1 << 10).
		WithCompression(options.None).
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMemTableSize(o.MemTableBytes).
		WithNumMemtables(3).
		WithNumCompactors(2).
		WithNumLevelZeroTables(2).
		WithNumLevelZeroTablesStall(8).
		WithValueLogFileSize(16 << 20). // no value is long enough for it
		WithBlockCacheSize(16 << 20).
		WithIndexCacheSize(16 << 20).
		WithCompactL0OnClose(true).
		WithMetricsEnabled(false).
		WithLogger(quiet(o.Logger))
	if err := errors.Join(clearRoom(o.Dir), enoughToOpen(o.Dir, o.MemTableBytes)); err != nil {
		return nil, err
	}
	db, err := bdg.Open(opts)
	if err != nil {
		return nil, err
	}
	x := &Index{db: db, room: room{dir: o.Dir, bytes: roomOf(o.MemTableBytes)}, toClose: SpaceNeeded(o.MemTableBytes), streams: map[journal.Stream]*state{}, segments: map[uint64]*Usage{}}
	if err := errors.Join(x.room.open(), x.load()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return x, nil
}

// SpaceNeeded is how many bytes Badger may take beyond what its content needs: memtables with their
// logs and one value log file. A full disk under its maps would kill the process.
func SpaceNeeded(memTableBytes int64) int64 {
	if memTableBytes == 0 {
		memTableBytes = 32 << 20
	}
	return 8*memTableBytes + 32<<20
}

func (x *Index) load() error {
	return x.db.View(func(txn *bdg.Txn) error {
		it := txn.NewIterator(bdg.IteratorOptions{PrefetchValues: true, PrefetchSize: 100, Prefix: []byte("s|")})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			name := journal.Stream(it.Item().Key()[2:])
			if err := it.Item().Value(func(b []byte) error {
				st, err := decodeState(b)
				x.streams[name] = st
				return err
			}); err != nil {
				return err
			}
		}
		seg := txn.NewIterator(bdg.IteratorOptions{PrefetchValues: true, PrefetchSize: 100, Prefix: []byte("g|")})
		defer seg.Close()
		for seg.Rewind(); seg.Valid(); seg.Next() {
			n := binary.BigEndian.Uint64(seg.Item().Key()[2:])
			if err := seg.Item().Value(func(b []byte) error {
				if len(b) != 12 {
					return fmt.Errorf("usage of segment %d has %d bytes", n, len(b))
				}
				x.segments[n] = &Usage{int64(binary.BigEndian.Uint64(b)), int(binary.BigEndian.Uint32(b[8:]))}
				return nil
			}); err != nil {
				return err
			}
		}
		item, err := txn.Get([]byte("c"))
		if errors.Is(err, bdg.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return item.Value(func(b []byte) error {
			if len(b) != 40 {
				return fmt.Errorf("covered index has %d bytes", len(b))
			}
			x.covered = binary.BigEndian.Uint64(b)
			copy(x.hash[:], b[8:])
			return nil
		})
	})
}

// Covered is the index of the newest frame the index knows, and the chain behind it.
func (x *Index) Covered() (uint64, log.Hash) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.covered, x.hash
}

// Close makes everything durable on the way out. Without the space for that, Badger is left as a kill would leave it,
// memory and lock included: what it writes when it closes goes through maps as well, and an index is whole without.
func (x *Index) Close() error {
	if free, err := freeOn(x.room.dir); err == nil && free < x.toClose {
		return nil
	}
	return x.db.Close()
}

// Streams lists streams that begin with prefix and exist, sorted.
func (x *Index) Streams(prefix string) []journal.Stream {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var names []journal.Stream
	for name, st := range x.streams {
		if st.exists() && strings.HasPrefix(string(name), prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Last is the highest sequence of every stream, dropped ones included.
func (x *Index) Last() map[journal.Stream]journal.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	last := make(map[journal.Stream]journal.Seq, len(x.streams))
	for name, st := range x.streams {
		last[name] = st.last
	}
	return last
}

// Size is how many bytes the indexed batches of a stream take in the log, frames included. Like Usage it may be short
// of some after a crash in the middle of a change that took more than one transaction, until the index is made again.
func (x *Index) Size(s journal.Stream) int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if st := x.streams[s]; st != nil {
		return st.bytes
	}
	return 0
}

// Usage is what segment n still holds.
func (x *Index) Usage(n uint64) Usage {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if u := x.segments[n]; u != nil {
		return *u
	}
	return Usage{}
}

// quiet is Badger's logger: its warnings and errors reach ours, its chatter does not.
func quiet(l *slog.Logger) bdg.Logger {
	if l == nil {
		return nil
	}
	return logger{l}
}

type logger struct{ l *slog.Logger }

func (g logger) Errorf(f string, a ...any)   { g.l.Error("badger", "text", fmt.Sprintf(f, a...)) }
func (g logger) Warningf(f string, a ...any) { g.l.Warn("badger", "text", fmt.Sprintf(f, a...)) }
func (g logger) Infof(f string, a ...any)    { g.l.Debug("badger", "text", fmt.Sprintf(f, a...)) }
func (g logger) Debugf(f string, a ...any)   { g.l.Debug("badger", "text", fmt.Sprintf(f, a...)) }
