package model

import (
	"fmt"
	"slices"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/invariants"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

var (
	partitions = partition.Machine()
	highwaters = highwater.Machine()
)

// world is one state: a source and one or two destinations of two brokers each, made of the shipped
// machines, and what is on its way between them. A world is never changed once it is in the search: a
// step works on a copy, in which brokers, machines and slices are replaced.
type world struct {
	bounds *Bounds
	forms  *forms
	now    core.Now
	cl     [3]cluster // the source, then destinations
	n      int

	floors  []floorOnWay
	answers []answer
	acked   []ack
	stated  []statement
	gates   [2]core.RegistrationEpoch // registered now; 0: not
	newest  [2]core.RegistrationEpoch
	carried [2]core.RegistrationEpoch // by the newest election at the source (D9)

	produced, retries, ticks, releases, unclean, losses int
	crashes                                             [2]int // at the source, at destinations
	elected                                             [3]int

	// Not part of the state: what one step leaves for its own end, and what it found.
	owned     uint8 // brokers that this step copied
	local     []local
	violation *invariants.Violation
	log       func(string, ...any)
}

type cluster struct {
	at             int
	name           string
	leader         core.ReplicaID
	epoch          core.LeaderEpoch
	lastUnclean    core.LeaderEpoch
	isr            []core.ReplicaID
	pe             int32
	version        int64
	session        core.MirrorSession
	brokers        [2]*broker
	links          [2][2][]letter // by sender and receiver, oldest first
	proposals      []proposal     // on their way to the controller
	reportingUnder core.RegistrationEpoch
	fenced         bool // broker 2: it is not taken into the ISR now
}

type broker struct {
	part *partition.State
	hw   *highwater.State
	sum  sum // of everything below, in its canonical form
	// Whether the machines are this step's own copies.
	partOwned, hwOwned bool
	// What a replay of the synced journal would give; kept only where brokers crash.
	partDisk, hwDisk string
	dirty            bool // something of the partition is not synced: late effects wait
	unsaved          bool // something at all is not synced
	late             [2][]any
	live, disk       []batch.Batch
	view             partition.View
	heard            int64 // newest image applied
	unclean          core.LeaderEpoch
	session          core.MirrorSession
	fetcher          fetcher
	read             *partition.ReadLeaderLog
	stamps           []uint8 // per offset: destinations that gated when HW passed it
}

// fetcher is what a destination broker's fetcher knows from the answers of its partition.
type fetcher struct {
	ready  bool
	owed   int8             // fetch answers handed over and not answered by the partition
	asking bool             // a check has been handed over and is not answered: there is one at a time
	epoch  core.LeaderEpoch // source epoch adopted
	leo    core.Offset
	told   core.Offset // source HW handed over last
}

type letter struct {
	hw  highwater.Command // or
	cmd partition.Command
}

// epoch is the leader epoch a letter belongs to.
func (l letter) epoch() core.LeaderEpoch {
	if r, ok := l.hw.(highwater.ReportReplica); ok {
		return r.Epoch
	}
	switch c := l.cmd.(type) {
	case partition.JoinLeader:
		return c.Epoch
	case partition.AlignTo:
		return c.Epoch
	case partition.Aligned:
		return c.Epoch
	case partition.Replicate:
		return c.Epoch
	default:
		return l.stray()
	}
}

// stray: nothing else travels between brokers.
func (l letter) stray() core.LeaderEpoch {
	panic(fmt.Sprintf("model: %T and %T between brokers", l.hw, l.cmd))
}

type proposal struct {
	from core.ReplicaID
	isr  highwater.ProposeISR
}

type floorOnWay struct{ report highwater.ReportFloor }

type answer struct {
	cluster int8
	to      core.ReplicaID
	cmd     partition.AppendMirrored
}

type ack struct {
	at     core.Offset
	digest invariants.Digest
	gated  uint8 // destinations in its stamp
}

// statement is the highest floor a destination stated under one registration in one source epoch.
type statement struct {
	dest  int8
	re    core.RegistrationEpoch
	epoch core.LeaderEpoch
	floor core.Offset
}

type local struct {
	cluster int
	id      core.ReplicaID
	letter  letter
}

const hourNs = int64(time.Hour)

var keys = [2]core.MirrorKey{{Cluster: "dc2", Mirror: "dr"}, {Cluster: "dc3", Mirror: "dr"}}

// newWorld is the quiet start: leaders seated, followers aligned, source epoch adopted, everything synced.
func newWorld(b *Bounds) *world {
	w := &world{bounds: b, forms: newForms(b), now: core.Now{Mono: hourNs, Wall: 1}, n: 1 + b.Destinations}
	for d := range b.Destinations {
		if w.newest[d] = 1; !b.Unregistered {
			w.gates[d] = 1
		}
	}
	w.carried = w.gates
	for i := range w.n {
		epoch := core.LeaderEpoch(1)
		if i > 0 {
			epoch = 100
		}
		c := &w.cl[i]
		*c = cluster{at: i, name: fmt.Sprintf("dc%d", i+1), leader: 1, epoch: epoch, lastUnclean: core.NoEpoch,
			isr: []core.ReplicaID{1, 2}, version: 1, reportingUnder: 1}
		if i > 0 {
			c.session = 1
			if b.Outside {
				c.isr, c.fenced = []core.ReplicaID{1}, b.Fenced
			}
		}
		for id := core.ReplicaID(1); id <= 2; id++ {
			c.brokers[id-1] = &broker{part: partition.New(partitionID(id)), hw: highwater.New("ledger/t/0"), unclean: core.NoEpoch}
			r := w.edit(i, id)
			w.saved(r)
			r.view = partition.Describe(r.part)
		}
	}
	for w.settle() {
	}
	for _, a := range starts[b.Start] {
		w.do(a)
	}
	// Floors that say 0 need not arrive: whoever waits for them is Unknown, as after any registration.
	return w
}

const (
	quiet   = "quiet"
	removal = "removal"
	restart = "restart"
)

// starts lead to states that are rare and far from the quiet start, and where a mirror's ISR goes wrong
// first: a removal proposed and not committed (F06, F58), a follower that lost what was on its way (P4).
var starts = map[string][]action{
	removal: append(slices.Clone(mirrored), action{actTick, 0, 0, 0}),
	restart: append(slices.Clone(mirrored), action{actCrash, 1, 2, 0}),
}

// mirrored puts record 1 on both source brokers and on the leader of the first destination.
var mirrored = []action{
	{actProduce, 0, 1, 0}, {actLink, 0, 1, 2}, {actLink, 0, 2, 1}, {actFetch, 1, 1, 1}, {actAnswer, 0, 0, 0},
}

func partitionID(id core.ReplicaID) string { return fmt.Sprintf("partition/t/0/broker-%d", id) }

// settle takes one step that belongs to the start.
func (w *world) settle() bool {
	for _, a := range w.enabled() {
		switch a.kind {
		case actHear, actLink, actSync, actAdopt, actRead:
			w.do(a)
			return true
		default: // a choice, which is the search's
		}
	}
	return false
}

func (w *world) src() *cluster { return &w.cl[0] }

// broker is for reading; edit gives one that the step may change.
func (c *cluster) broker(id core.ReplicaID) *broker { return c.brokers[id-1] }

func ownedBit(i int, id core.ReplicaID) uint8 { return 1 << (2*i + int(id) - 1) }

func (w *world) edit(i int, id core.ReplicaID) *broker {
	at := &w.cl[i].brokers[id-1]
	if bit := ownedBit(i, id); w.owned&bit == 0 {
		w.owned |= bit
		n := **at
		n.partOwned, n.hwOwned = false, false
		*at = &n
	}
	return *at
}

var labels = [3][2]string{{"dc1/broker-1", "dc1/broker-2"}, {"dc2/broker-1", "dc2/broker-2"}, {"dc3/broker-1", "dc3/broker-2"}}

func (c *cluster) label(id core.ReplicaID) string { return labels[c.at][id-1] }

// fork is the copy a step works on. Links and slices are shared until they are replaced.
func (w *world) fork() *world {
	n := *w
	n.owned, n.local, n.log = 0, nil, nil
	return &n
}

func (w *world) say(format string, args ...any) {
	if w.log != nil {
		w.log(format, args...)
	}
}

// saved says that everything decided is on disk.
func (w *world) saved(b *broker) {
	b.disk, b.dirty, b.unsaved = b.live, false, false
	if w.bounds.SrcCrashes+w.bounds.DstCrashes > 0 {
		b.partDisk, b.hwDisk = string(partitions.Snapshot(b.part)), string(highwaters.Snapshot(b.hw))
	}
}

func digest(b batch.Batch) invariants.Digest {
	return invariants.Digest(uint64(b.LeaderEpoch)<<32 | uint64(b.CRC))
}

func copyOf(label string, log []batch.Batch) invariants.Copy {
	c := invariants.Copy{Replica: label}
	for _, one := range log {
		c.Batches = append(c.Batches, digest(one))
	}
	return c
}

// electable is what the replicas hold on disk that the controller may elect now.
func (c *cluster) electable() []invariants.Copy {
	var copies []invariants.Copy
	for _, r := range c.isr {
		copies = append(copies, copyOf(c.label(r), c.broker(r).disk))
	}
	return copies
}

func (c *cluster) inISR(id core.ReplicaID) bool { return slices.Contains(c.isr, id) }
