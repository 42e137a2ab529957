package journal

import "lockstep/actors/core"

// Stream names one ordered sequence of entries: partition/<topic>/<p>/<broker>, ledger/<topic>/<p>,
// control/<name>.
type Stream string

// Seq is the position of an entry in its stream: 1 for the first, gapless, never reused.
type Seq int64

// Done is told the highest durable sequence of the stream, or the error that poisoned the volume. It
// runs on the writer's goroutine, once per Append, in order per stream: it must not block.
type Done func(durable Seq, err error)

// Journal is where durable events go. Implementations: a volume (commit log with a Badger index), the
// control quorum over several volumes, and memory.
type Journal interface {
	// Append queues entries behind everything queued before and never blocks. Entries are not
	// mutated afterwards by anyone. One caller at a time per stream. It returns the sequence of the
	// last entry, which is assigned at once.
	Append(s Stream, entries []core.Entry, done Done) Seq
	// Snapshot queues a snapshot that covers everything appended to s before it; entries before the
	// newest durable snapshot are not replayed. done may be nil.
	Snapshot(s Stream, state []byte, done Done)
	// Replay calls snapshot with the newest durable one (not at all if there is none), then entry for
	// everything after it. It must not run beside Append on the same stream.
	Replay(s Stream, snapshot func([]byte) error, entry func(Seq, core.Entry) error) error
	// Streams lists streams that begin with prefix, sorted.
	Streams(prefix string) ([]Stream, error)
	// Drop forgets a stream (a deleted topic). It is durable when done is called.
	Drop(s Stream, done Done)
	// Close writes what is queued and releases everything. Append after Close fails in done.
	Close() error
}

// Volume is a journal that also serves the record batches of its partition streams.
type Volume interface {
	Journal
	// ReadBatches returns whole batches of s starting with the one that contains from, up to max
	// bytes, but always the first one. It is safe beside Append; a batch is readable before its done
	// runs. Batches removed by IndexTruncate or IndexTrim are not returned.
	ReadBatches(s Stream, from core.Offset, max int) ([]StoredBatch, error)
	// FindTimestamp returns the first batch of s with MaxTimestamp >= ts at or above from, if any.
	FindTimestamp(s Stream, from core.Offset, ts int64) (StoredBatch, bool, error)
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
