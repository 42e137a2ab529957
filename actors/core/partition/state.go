// Package partition is one replica of one partition: leader or follower, ordinary or mirrored. It owns
// the log's shape (epochs, producers, truncation), replication to in-process followers, the divergence
// check of a mirror, and the waits of clients. Whether a batch is committed is the HW actor's to say.
package partition

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

const (
	pushCredit  = int64(16 << 20)               // per follower (D7)
	joinEvery   = int64(500 * time.Millisecond) // a follower without an answer asks again
	readEvery   = int64(100 * time.Millisecond) // a catch-up without progress asks again
	epochStride = core.LeaderEpoch(3)           // D23: adopting e needs e <= local - 3
)

// State is one replica: hard is a function of its stream, soft may vanish at any instant. Decide works on
// a shallow copy whose maps are nil. A copy shares its slices with the state, so it never writes to an
// element; the state itself may, because no copy outlives its Decide.
type State struct {
	ID    string
	self  core.ReplicaID // the broker of this replica, from the id
	draft bool           // a copy of Decide's
	hard
	soft
}

type hard struct {
	logStart  core.Offset
	leo       core.Offset
	note      core.Offset // highest HW noted in the log: HW after a restart
	led       core.LeaderEpoch
	epochs    []EpochStart
	producers map[int64]producer
	resets    []pidReset
	txns      Transactions

	adopted   core.LeaderEpoch // source epoch the mirrored log stands under
	adoptedOf core.Incarnation // of the source that counted it; zero: it stated none
	sourceHW  core.Offset      // highest tracked (R11)
	mirroring bool             // an epoch was adopted since the last fence
	fenced    core.MirrorSession
	wasFenced bool
	lme       core.LeaderEpoch
	fencedLEO core.Offset

	cleaned core.Offset // compaction has looked at all below
	emptied core.Offset // below it batches were put together, and records are gone for others that are below it
	empties []emptyBatch
	horizon int64 // when the next tombstone or marker may go, Unix ms; negative: nothing waits
}

// emptyBatch came as such from the leader or the source, which had put it together or has a hole there. Another log of the same
// records may end inside of it. Those that HW has passed are not listed but below emptied.
type emptyBatch struct {
	Base, Last core.Offset
}

// mostEmpties bounds the list.
const mostEmpties = 1024

// cleaning is the pass of compaction that is under way, if any.
type cleaning struct {
	pass  core.RequestID
	limit core.Offset // it stays below: committed, and no open transaction reaches there
}

type seat uint8

const (
	seatNone seat = iota // after a restart, until the broker says who leads
	seatLeader
	seatFollower
)

type soft struct {
	seat       seat
	leader     core.ReplicaID
	epoch      core.LeaderEpoch
	epochStart core.Offset
	role       Role
	mirror     core.MirrorName
	session    core.MirrorSession
	opening    bool
	fence      Fence
	hw         core.Offset
	shown      core.Offset // as leader: the HW whose ledger entry is on disk
	trouble    string
	cleaning   cleaning

	// As leader.
	term      core.MirrorTerm
	current   bool // this leader adopted the source epoch itself, in this session (R3)
	adopting  adoption
	floorMark core.Offset // R as far as known here: own LEO at the start, then what the HW actor says
	heardHW   core.Offset // source HW of answers without batches
	// heardStart is where the source's log begins, as stated in this term: ours follows as far as our HW.
	heardStart core.Offset
	// heardForgotten is what the source has forgotten of its producers, as stated in this term: so do we once HW is there.
	heardForgotten core.Offset
	// forgotten is the highest offset of ProducersForgotten that was heard of since the start: it need not be said again.
	forgotten core.Offset
	followers []follower
	waits     map[core.RequestID]Wait
	admission admission

	// As follower.
	joined     bool
	tail       core.Offset // the leader pushes from here; below it its journal is read
	stash      []batch.Batch
	stashBytes int64
	lookedAt   int64

	parked map[core.RequestID]ParkFetch
}

type admission struct {
	known  bool // the HW actor has spoken in this epoch
	code   perr.Code
	text   string
	gated  bool
	closed bool // code is for every write
	r, h   core.Offset
}

type adoption struct {
	on    bool
	adopt AdoptSource
	to    core.Offset
}

// follower is what the leader knows of one of its followers.
type follower struct {
	ID      core.ReplicaID
	Aligned bool // its log is a prefix of ours in the current term
	Pushing bool // new batches are sent to it
	Flights []flight
	Bytes   int64 // sent and not yet reported durable
}

type flight struct {
	Last  core.Offset
	Bytes int64
}

// Wait is a request that is answered when HW passes its batch.
type Wait struct {
	Base   core.Offset
	At     int64 // time of append, Unix ms; -1: the producer's own times count
	Reset  bool  // a MIRROR_PID_RESET of our own, not a client's batch
	Marker bool  // the end of a transaction
}

// New is an empty replica that has no seat yet. id ends in /broker-<n>, the broker that holds it.
func New(id string) *State {
	_, broker, _ := strings.Cut(id[strings.LastIndexByte(id, '/')+1:], "broker-")
	self, err := strconv.ParseInt(broker, 10, 32)
	if err != nil {
		panic(fmt.Sprintf("partition: id %q does not end in /broker-<n>", id))
	}
	return &State{
		ID: id, self: core.ReplicaID(self),
		hard: hard{
			led: core.NoEpoch, adopted: core.NoEpoch, lme: core.NoEpoch, sourceHW: core.Unknown,
			producers: map[int64]producer{}, horizon: -1,
		},
		soft: emptySeat(),
	}
}

func emptySeat() soft {
	return soft{
		leader: core.NoReplica, epoch: core.NoEpoch, floorMark: core.Unknown, heardHW: core.Unknown,
		admission: admission{r: core.Unknown, h: core.Unknown},
		waits:     map[core.RequestID]Wait{}, parked: map[core.RequestID]ParkFetch{},
	}
}

// asDraft makes a copy of a state what Decide draws its conclusions on: Apply skips the maps, which Decide
// reads in the original, and copies slices before it writes to their elements.
func (s *State) asDraft() {
	s.draft, s.producers, s.waits, s.parked = true, nil, nil, nil
}

func (s *State) leading() bool { return s.seat == seatLeader }

// readable is the HW that readers see. A leader that acknowledges shows no more than what its ledger has on
// disk: else a crash of everything would take back what a consumer saw, until a mirror is heard again (I14).
func (s *State) readable() core.Offset {
	if s.leading() && s.role != Mirroring {
		return s.shown
	}
	return s.hw
}

// trackedHW is the highest source HW known, durable or not (H of R11).
func (s *State) trackedHW() core.Offset { return max(s.sourceHW, s.heardHW, s.admission.h) }

// floorFloor is R as far as this replica knows it.
func (s *State) highestFloor() core.Offset { return max(s.floorMark, s.admission.r) }

func (s *State) follower(id core.ReplicaID) (follower, bool) {
	for _, f := range s.followers {
		if f.ID == id {
			return f, true
		}
	}
	return follower{}, false
}
