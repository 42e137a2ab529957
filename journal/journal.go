package journal

import (
	"errors"
	"strings"

	"lockstep/actors/core"
)

// ErrFull says that a volume is above its high mark: batches are refused before they are appended,
// and admitted again by themselves once space returns. The broker answers KAFKA_STORAGE_ERROR.
var ErrFull = errors.New("journal: volume is above its high mark; free space or delete topics, it recovers by itself")

// ErrClosed is what done gets for an Append after Close.
var ErrClosed = errors.New("journal: closed")

// Stream names one ordered sequence of entries: partition/<topic>/<p>/<broker>, ledger/<topic>/<p>,
// control/<name>. It contains neither '|' nor NUL and is at most 512 bytes long.
type Stream string

// Valid reports whether s may name a stream.
func (s Stream) Valid() bool {
	return s != "" && len(s) <= 512 && !strings.ContainsAny(string(s), "|\x00")
}

// IsLedger reports whether snapshots leave the entries of s in place: evidence is kept until the
// stream is dropped (D3, D12).
func (s Stream) IsLedger() bool { return strings.HasPrefix(string(s), "ledger/") }

// Seq is the position of an entry in its stream: 1 for the first, gapless, never reused.
type Seq int64

// Done is told the highest durable sequence of the stream, or the error that poisoned the volume. It
// runs on the writer's goroutine, once per Append, in order per stream: it must not block.
type Done func(durable Seq, err error)

// Journal is where durable events go. Implementations: a volume (commit log with a Badger index), the
// control quorum over several volumes, and memory.
type Journal interface {
	// Append queues entries behind everything queued before and never blocks. Entries and the bytes
	// they point to are never mutated or reused afterwards by anyone: digests are shared between
	// volumes by address. One caller at a time per stream. It returns the sequence of the last entry,
	// which is assigned at once. Entries of one Append become durable together or not at all.
	Append(s Stream, entries []core.Entry, done Done) Seq
	// Snapshot queues a snapshot that covers everything appended to s before it; entries before the
	// newest durable snapshot are not replayed. done may be nil.
	Snapshot(s Stream, state []byte, done Done)
	// Replay calls snapshot with the newest durable one (not at all if there is none), then entry for
	// everything after it, batches removed from the index included: they are history. It must not run
	// beside Append on the same stream; a snapshot that was queued before may become durable meanwhile, and
	// may then be told, too: it takes the place of all that was told before. Only durable entries are replayed. An
	// error of a callback ends it and is returned as it is.
	Replay(s Stream, snapshot func([]byte) error, entry func(Seq, core.Entry) error) error
	// Streams lists streams that begin with prefix and hold something durable, sorted.
	Streams(prefix string) ([]Stream, error)
	// Drop forgets a stream (a deleted topic). It is durable when done is called. Drop takes the next
	// sequence, so that entries appended to the same name later continue above it. done may be nil.
	Drop(s Stream, done Done)
	// Close writes what is queued and releases everything. Append after Close fails in done.
	Close() error
}

// Volume is a journal that also serves the record batches of its partition streams.
type Volume interface {
	Journal
	// ReadBatches returns whole batches of s starting with the one that contains from (or else the
	// first one above it), up to max bytes, but always the first one. It is safe beside Append; a
	// batch is readable before its done runs. Batches removed by IndexTruncate (every batch with
	// Last >= Base, also one that straddles it) or IndexTrim (Last < Base) are not returned, nor
	// those that an IndexReplace took the place of: all older ones with Base <= Last <= its own Last.
	ReadBatches(s Stream, from core.Offset, max int) ([]StoredBatch, error)
	// FindTimestamp returns the first batch of s with MaxTimestamp >= ts at or above from, if any.
	FindTimestamp(s Stream, from core.Offset, ts int64) (StoredBatch, bool, error)
	// Extents visits the batches of s that ReadBatches would return from from on, in order and without reading them, until
	// visit returns false. What cuts batches waits for it meanwhile: visit is quick, and stops after some thousands.
	Extents(s Stream, from core.Offset, visit func(Extent) bool) error
	// Sizes is how many bytes the batches of each stream take that ReadBatches may return: on a disk with their
	// frames. It may wait for the index to take what is durable.
	Sizes(streams []Stream) ([]int64, error)
	// Admit is nil while batches are welcome, ErrFull above the high mark, and the poison of a
	// poisoned volume. A leader asks before it appends; what was admitted is not refused: where the
	// disk has no room left after all, what is queued waits until it has.
	Admit() error
	// Err is the error that poisoned the volume, nil while it is healthy.
	Err() error
}

// StoredBatch is one batch as read back. Bytes belong to the caller.
type StoredBatch struct {
	Base, Last   core.Offset
	Epoch        core.LeaderEpoch
	MaxTimestamp int64
	Bytes        []byte
}

// Extent is one batch as the index knows it. Bytes are those that Sizes counts.
type Extent struct {
	Base, Last   core.Offset
	MaxTimestamp int64
	Bytes        int64
}
