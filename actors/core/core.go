// Package core holds the vocabulary that every machine shares.
//
// A machine is a value made of pure functions. Three drivers use the very same value: the shell
// (live), the audit (replay) and the simulator. No clock, randomness, goroutine, logger or error
// value enters a machine: time arrives beside a command, a refusal leaves as data.
package core

// Now is the instant a command is decided at, stamped by the shell from an injected clock.
type Now struct {
	Mono int64 // nanoseconds on a clock that never jumps; the only input of time-outs
	Wall int64 // Unix milliseconds; evidence for people, never an input of a decision about time
}

// Machine is one kind of stateful thing: S its state, C its commands, E its events, F its effects.
//
// Decide never mutates s and never fails. Apply is total: it neither fails nor refuses, because the
// event it is given has already happened. State is a hard part (a function of durable events; what
// Snapshot, Restore and the replay law cover) and a soft part (whose loss at any instant is safe).
type Machine[S, C, E, F any] struct {
	Name   string
	Init   func(id string) *S
	Decide func(s *S, now Now, cmd C) Outcome[E, F]
	Apply  func(s *S, ev E)
	// Encode renders a durable event; ok is false for a volatile one, which is applied and forgotten.
	Encode func(ev E) (entry Entry, ok bool)
	// Decode is the inverse of Encode. An unknown message id or version is an error naming both.
	Decode func(entry Entry) (E, error)
	// Snapshot renders the hard state; Restore rebuilds a state whose soft part is empty.
	Snapshot func(s *S) []byte
	Restore  func(id string, snapshot []byte) (*S, error)
}

// Outcome is what a command leads to.
type Outcome[E, F any] struct {
	Events []E // facts in order; applied at once, the durable ones journaled
	Early  []F // performed at once: in-process work that informs nobody outside the process
	Late   []F // the default: performed in order, once everything decided so far by this actor is on disk
}

// Reply is implemented by effects that answer a request. The shell routes them to the caller that
// registered the reference; everything else goes to the owner of the actor.
type Reply interface{ ReplyTo() RequestID }

// EntryKind tells the journal how an entry is indexed.
type EntryKind uint8

const (
	EntryEvent EntryKind = 1 // payload: int16 message id, int16 version, flexible body
	EntryBatch EntryKind = 2 // payload: one record batch, byte for byte as consumers will read it
)

// IndexOp is what an entry does to its stream's batch index.
type IndexOp uint8

const (
	IndexNone     IndexOp = 0
	IndexAdd      IndexOp = 1 // the payload is the batch [Base, Last]
	IndexTruncate IndexOp = 2 // batches at or above Base are gone
	IndexTrim     IndexOp = 3 // batches that end below Base are gone (log start)
	IndexReplace  IndexOp = 4 // the payload is the batch [Base, Last], in the place of all older ones inside of it (compaction)
)

// Holds reports whether the payload is a batch that readers are given.
func (o IndexOp) Holds() bool { return o == IndexAdd || o == IndexReplace }

// Entry is one durable event on its way to or from a journal.
type Entry struct {
	Kind         EntryKind
	Op           IndexOp
	Base, Last   Offset // inclusive; meaningful when Op is set
	Epoch        LeaderEpoch
	MaxTimestamp int64
	// Note is the HW the replica knew when it wrote the entry: a durable lower bound that costs nothing.
	Note    Offset
	Payload []byte
}
