// Package mirror is the destination side of one mirror: which topics follow a source, in which phase each
// of them is, what may be claimed of it, and the saga of every command to the source (rulings C1 to C10, C13).
package mirror

import (
	"maps"
	"slices"
	"strconv"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// State is one mirror.
type State struct {
	name    core.MirrorName
	exists  bool
	source  core.ClusterID
	config  map[string]string // never mutated in place
	include []string
	exclude []string
	desired Type // of topics that include finds
	topics  map[core.TopicID]*topic

	// Soft.
	defaults  Defaults
	nextTick  int64 // mono ns
	resumedAt int64
}

// topic is a hard record and what was measured since the process started.
type topic struct {
	TopicRecord

	// Soft, mono ns: losing them costs a repeated message or a later retry.
	attempt    int32 // of the pending command
	sendDue    int64
	deadline   int64 // of the Unregister of a stop
	tryAfter   int64 // no promotion before
	stepSince  int64
	driveDue   int64 // unanswered asks are repeated from then on
	claimedAt  int64 // when T was journaled
	admittedAt int64 // when the newest Register was answered with OK
	live       []live
}

// live is what was measured of one partition since the process started.
type live struct {
	at          int64 // mono ns of the newest answered fetch; 0: none yet
	atWall      int64
	progress    ReportProgress
	zeroAt      int64 // when lag zero was last seen in zeroEpoch; 0: not
	zeroEpoch   core.LeaderEpoch
	highest     core.LeaderEpoch // of all epochs seen
	contactAt   int64            // when the newest request left that the source answered
	refusedAt   int64            // since when fetches are refused with 952 or 953; 0: they are not
	refusedWall int64
	failedAt    int64 // since when fetches fail otherwise
	failedWall  int64
	code        perr.Code
	text        string
	failures    int32
	gateEpoch   core.LeaderEpoch // of the newest gate start stated under our registration
	gateStart   core.Offset      // Unknown: none
	floor       core.Offset      // newest that the source accepted under our registration; Unknown: none
	claim       ClaimTime        // newest T of our registration, since the partition is armed
	sent        int64            // when the newest confirmed request left; 0: no contact proven
	sentWall    int64
	lease       int64 // ns that the source withholds acks for after a release, in its newest evidence; 0: not stated
	promised    bool  // it does so with every release
}

// DefaultLeaseMs is the default of lockstep.claim.lease.ms.
const DefaultLeaseMs = int64(10_000)

// What an unanswered command is.
const (
	pendingNone       = int8(0)
	pendingRegister   = int8(1)
	pendingUnregister = int8(2)
	pendingStop       = int8(3)
	pendingSwitchover = int8(4)
	pendingFailover   = int8(5)
)

func newState(name string) *State {
	return &State{name: core.MirrorName(name), topics: map[core.TopicID]*topic{}}
}

func newLive(n int) []live {
	return slices.Repeat([]live{{highest: core.NoEpoch, zeroEpoch: core.NoEpoch, gateEpoch: core.NoEpoch, gateStart: core.Unknown, floor: core.Unknown}}, n)
}

func newTopic(r TopicRecord) *topic {
	return &topic{TopicRecord: r, live: newLive(len(r.Partitions))}
}

func (t *topic) clone() *topic {
	c := *t
	c.Partitions = slices.Clone(t.Partitions)
	c.live = slices.Clone(t.live)
	return &c
}

func (t *topic) phase() Phase { return Phase(t.Phase) }
func (t *topic) wants() Type  { return Type(t.Desired) }
func (t *topic) step() Step   { return Step(t.Step) }
func (t *topic) verb() Verb   { return Verb(t.Verb) }

func (t *topic) armed() (k int32) {
	for _, p := range t.Partitions {
		if p.Armed {
			k++
		}
	}
	return k
}

func (t *topic) allArmed() bool { return int(t.armed()) == len(t.Partitions) }

// every reports whether a step is done for all partitions.
func (t *topic) every(done func(PartitionRecord) bool) bool {
	return !slices.ContainsFunc(t.Partitions, func(p PartitionRecord) bool { return !done(p) })
}

// sorted lists topics by id, so that every replay and every machine decides in the same order.
func (s *State) sorted() []*topic {
	return slices.SortedFunc(maps.Values(s.topics), func(a, b *topic) int { return slices.Compare(a.Topic[:], b.Topic[:]) })
}

// partition finds what a report is about; reports of ended sessions and of unknown partitions are dropped.
func (s *State) partition(id core.PartitionID) (*topic, bool) {
	t := s.topics[id.Topic]
	return t, t != nil && id.Index >= 0 && int(id.Index) < len(t.Partitions)
}

// setting is the mirror's own value, else the broker's, else the built-in one.
func (s *State) setting(name string, broker, builtIn int64) int64 {
	if v, err := strconv.ParseInt(s.config[name], 10, 64); err == nil && v > 0 {
		return v
	}
	if broker > 0 && brokerDefaultsCount {
		return broker
	}
	return builtIn
}

// leaseNs is how long a claim is shown without "unconfirmed" after the newest confirmed request (C4).
func (s *State) leaseNs() int64 {
	return s.setting("lockstep.claim.lease.ms", s.defaults.LeaseMs, DefaultLeaseMs) * 1e6
}

// demoteNs is how long every partition must be refused before the topic is demoted (C5).
func (s *State) demoteNs() int64 {
	return s.setting("mirror.sync.topic.demote.timeout.ms", s.defaults.DemoteMs, 30_000) * 1e6
}

// fact is what the brokers of this cluster are told of the topic.
func (s *State) fact(t *topic) image.Fact {
	state := image.MirrorMirroring
	switch {
	case t.phase() == Stopped:
		state = image.MirrorStopped
	case t.phase() == Stopping && t.step() == StepReset:
		state = image.MirrorStopping
	}
	return image.MirrorTopicChanged{ID: t.Topic, Topic: image.MirrorTopic{
		Mirror: s.name, State: state, Session: t.Session, Incarnation: t.Incarnation,
		Reporting: t.Standing, Epoch: t.Epoch, PinnedISR: t.MinISR, FollowUnclean: t.FollowUnclean, Era: t.Era,
		Opening:  t.phase() == Stopping || t.Pending == pendingSwitchover,
		RepeatNs: s.leaseNs() / 3,
	}}
}

// fetchMode follows what the source may believe, not what is claimed: from sending Register until Unregister
// is answered it may hold acks for our floors, and floors come only from sync fetches (C1, model G7; C6, F24).
func (t *topic) fetchMode() FetchMode {
	switch {
	case !t.Created || t.Gone || t.phase() == Stopped || t.phase() == Stopping && t.step() >= StepFence:
		return FetchOff
	case t.phase() == Demoting && !reportWhileDemoting:
		return FetchAsync
	case t.Standing && (syncFetchWhileGated || t.phase() == Sync):
		return FetchSync
	}
	return FetchAsync
}
