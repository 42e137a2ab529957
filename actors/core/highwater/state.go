// Package highwater decides how far one led partition is committed. It owns the progress of its
// replicas, ISR proposals, the floors of the mirrors it waits for, the floors it states when it is a
// mirror itself, the waiters of acks=all, and the choice of error. Nobody else may confirm a batch.
package highwater

import (
	"slices"
	"time"

	"lockstep/actors/core"
)

const (
	replicaLagTime   = int64(10 * time.Second)       // replica.lag.time.max.ms
	underMinPatience = int64(time.Second)            // R9: a flapping mirror does not fail everybody
	floorRepeat      = int64(100 * time.Millisecond) // while the source has waiters (D19)
	floorIdleRepeat  = int64(10*time.Second) / 3     // a third of the default claim lease (D19)
	proposalRetry    = int64(5 * time.Second)        // a proposal without an answer is sent again
	refusalPause     = int64(time.Second)            // after a refused proposal
	weakFlushEvery   = int64(time.Second)            // R13: one ledger entry per client and second
	purgatoryBytes   = int64(64 << 20)               // F57, per partition
	purgatoryBatches = 10_000                        // F57, per partition
	weakClientsMax   = 100                           // beyond it, clients are counted together
	never            = int64(-1) << 62               // an instant before any clock
)

// State is one high watermark: a hard part that the ledger rebuilds, and a soft part that a new leader
// learns again. Decide works on a shallow copy, which shares its slices with the state: it never writes to an
// element; the state itself may, because no copy outlives its Decide.
type State struct {
	ID    string
	draft bool // a copy of Decide's
	hard  hard
	soft
}

type hard struct {
	Stamp int64            // newest stamp number
	Epoch core.LeaderEpoch // of the newest entry
	To    core.Offset      // end of the newest entry; Unknown if there is none
}

type soft struct {
	leading    bool
	epoch      core.LeaderEpoch
	epochStart core.Offset
	self       core.ReplicaID
	mode       Mode
	hw         core.Offset
	replicas   []progress

	image AppliedImage // newest of our epoch, in force
	// ahead is the newest image of an epoch that has not begun here yet. It must not be looked at before:
	// a leader that proposed an ISR from its successor's image once had the refusal cancel the proposal
	// of that successor, and a committed addition did not count.
	ahead   AppliedImage
	imaged  bool // the election's own image was applied (D9)
	pending proposal

	gates []gate

	// As a mirror.
	term      core.MirrorTerm
	adopted   core.LeaderEpoch
	adoptedOf core.Incarnation // of the source that counted it
	r         core.Offset      // R5
	h         core.Offset      // R11: highest source HW tracked
	tracked   core.Offset      // source HW of the adopted epoch; Unknown until it is stated
	waits     bool             // the source has waiters
	floor     core.Offset      // stated in the adopted epoch; Unknown if none
	published core.Offset      // highest stated in the adopted lineage (R8); Unknown if none
	statedISR int32
	statedAt  int64
	seq       int64

	waiters     []Waiter // by offset
	soonest     int64    // no waiter's deadline is earlier; 0 if none has one
	waitBytes   int64
	stampOpen   bool
	stamp       stamp
	stampOnDisk bool
	weak        []weakTally
	told        ChangeAdmission
	toldGates   bool // the outside knows this epoch's gates
	toldWaiters bool
	timer       int64 // 0: none armed
}

// progress is what the leader knows of one replica.
type progress struct {
	Replica core.ReplicaID
	LEO     core.Offset // durable, in the current epoch and term; Unknown until reported
	// CaughtUp is when it last had everything the leader had; Kafka's rule needs the leader's end at the
	// report before, too: under load no follower ever has it all.
	CaughtUp   int64
	ReportedAt int64
	EndThen    core.Offset
	RefusedAt  int64 // the controller would not admit it
}

// proposal is an ISR change under way.
type proposal struct {
	On             bool
	PartitionEpoch int32
	ISR            []core.ReplicaID
	At             int64
	Sent           int
	PausedUntil    int64 // after a refusal
}

// gate is one registered mirror as this leader knows it.
type gate struct {
	Gate
	Start      core.Offset // C2
	Floor      core.Offset
	ISRSize    int32
	MinISR     int32
	UnderSince int64 // 0: healthy
	DestEpoch  core.LeaderEpoch
	Seq        int64
	Heard      bool
	Confirmed  bool // that the mirror has this added partition was told to the ledger
	LastReport int64
	HoldsSince int64
	Unsynced   bool // its newest report said so
}

// Waiter is one acks=all batch that waits for HW.
type Waiter struct {
	Ref      core.RequestID
	Offset   core.Offset // confirmed once HW >= Offset
	Base     core.Offset
	Bytes    int64
	Deadline int64
}

type weakTally struct {
	Acks    int16
	Client  string
	From    core.Offset
	To      core.Offset
	Batches int64 // not yet in the ledger
	Total   int64
	Flushed int64
}

// New is the state of a high watermark that leads nothing.
func New(id string) *State {
	return &State{ID: id, hard: hard{Epoch: core.NoEpoch, To: core.Unknown}, soft: soft{
		epoch: core.NoEpoch, adopted: core.NoEpoch, tracked: core.Unknown, floor: core.Unknown,
		published: core.Unknown, h: core.Unknown,
	}}
}

// ownReplicas and ownGates are what Apply may write to.
func (s *State) ownReplicas() []progress {
	if s.draft {
		s.replicas = slices.Clone(s.replicas)
	}
	return s.replicas
}

func (s *State) ownGates() []gate {
	if s.draft {
		s.gates = slices.Clone(s.gates)
	}
	return s.gates
}

// leo is the leader's own durable LEO, Unknown until it reported in this epoch and term.
func (s *State) leo() core.Offset {
	if p, ok := s.progressOf(s.self); ok {
		return p.LEO
	}
	return core.Unknown
}

// end is the best known end of the leader's log, for lag and gate starts.
func (s *State) end() core.Offset { return max(s.leo(), s.epochStart) }

func (s *State) progressOf(r core.ReplicaID) (progress, bool) {
	for _, p := range s.replicas {
		if p.Replica == r {
			return p, true
		}
	}
	return progress{}, false
}

func contains(set []core.ReplicaID, r core.ReplicaID) bool {
	for _, x := range set {
		if x == r {
			return true
		}
	}
	return false
}
