package model

import (
	"crypto/sha256"
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
// step works on a copy, in which machines and slices are replaced.
type world struct {
	bounds *Bounds
	now    core.Now
	cl     [3]cluster // the source, then destinations
	n      int

	floors  []floorOnWay
	answers []answer
	acked   []ack
	stated  []statement
	gates   [2]core.RegistrationEpoch // registered now; 0: not
	newest  [2]core.RegistrationEpoch

	produced, ticks, crashes, releases, unclean int
	elected                                     [3]int

	// Not part of the state: what one step leaves for its own end, and what it found.
	local     []local
	violation *invariants.Violation
	log       func(string, ...any)
}

type cluster struct {
	name           string
	leader         core.ReplicaID
	epoch          core.LeaderEpoch
	lastUnclean    core.LeaderEpoch
	isr            []core.ReplicaID
	pe             int32
	version        int64
	session        core.MirrorSession
	brokers        [2]broker
	links          [2][2][]letter // by sender and receiver, oldest first
	proposals      []proposal     // on their way to the controller
	reportingUnder core.RegistrationEpoch
}

type broker struct {
	part *partition.State
	hw   *highwater.State
	// Canonical bytes of the machines, made when they change.
	partForm, hwForm string
	formed           *partition.State
	formedHW         *highwater.State
	// What a replay of the synced journal would give.
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
	hwSeen           core.Offset
	hwEpoch          core.LeaderEpoch
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
	w := &world{bounds: b, now: core.Now{Mono: hourNs, Wall: 1}, n: 1 + b.Destinations}
	for d := range b.Destinations {
		if w.newest[d] = 1; !b.Unregistered {
			w.gates[d] = 1
		}
	}
	for i := range w.n {
		epoch := core.LeaderEpoch(1)
		if i > 0 {
			epoch = 100
		}
		c := &w.cl[i]
		*c = cluster{name: fmt.Sprintf("dc%d", i+1), leader: 1, epoch: epoch, lastUnclean: core.NoEpoch,
			isr: []core.ReplicaID{1, 2}, version: 1, reportingUnder: 1}
		if i > 0 {
			c.session = 1
			if b.Outside {
				c.isr = []core.ReplicaID{1}
			}
		}
		for id := core.ReplicaID(1); id <= 2; id++ {
			r := &c.brokers[id-1]
			r.part, r.hw = partition.New(partitionID(id)), highwater.New("ledger/t/0")
			r.saved()
			r.view, r.hwEpoch, r.unclean = partition.Describe(r.part), core.NoEpoch, core.NoEpoch
		}
	}
	for w.settle() {
	}
	if b.Shrinking {
		for _, a := range shrinking {
			w.do(a)
		}
	}
	// Floors that say 0 need not arrive: whoever waits for them is Unknown, as after any registration.
	return w
}

// shrinking leads to a removal that is proposed and not committed, of a broker that has the record on its
// way: rare, far from the quiet start, and where a mirror's ISR goes wrong first (F06, F58).
var shrinking = []action{
	{actProduce, 0, 1, 0}, {actLink, 0, 1, 2}, {actLink, 0, 2, 1},
	{actFetch, 1, 1, 1}, {actAnswer, 0, 0, 0}, {actTick, 0, 0, 0},
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

func (c *cluster) broker(id core.ReplicaID) *broker { return &c.brokers[id-1] }

func (c *cluster) label(id core.ReplicaID) string { return fmt.Sprintf("%s/broker-%d", c.name, id) }

// fork is the copy a step works on. Links and slices are shared until they are replaced.
func (w *world) fork() *world {
	n := *w
	n.local, n.log = nil, nil
	return &n
}

func (w *world) say(format string, args ...any) {
	if w.log != nil {
		w.log(format, args...)
	}
}

// form makes the canonical bytes of the machines after they changed.
func (b *broker) form() {
	b.partForm = string(render(nil, b.part))
	b.hwForm = string(render(nil, b.hw))
	b.formed, b.formedHW = b.part, b.hw
}

// saved says that everything decided is on disk.
func (b *broker) saved() {
	b.partDisk, b.hwDisk = string(partitions.Snapshot(b.part)), string(highwaters.Snapshot(b.hw))
	b.disk, b.dirty, b.unsaved = b.live, false, false
}

// key identifies the state: SHA-256, cut to 128 bits.
func (w *world) key(scratch []byte) (key [16]byte, out []byte) {
	b := scratch[:0]
	c := *w
	c.bounds, c.local, c.violation, c.log = nil, nil, nil, nil
	for i := range c.n {
		for j := range c.cl[i].brokers {
			r := &c.cl[i].brokers[j]
			b = append(appendInt(b, uint64(len(r.partForm))), r.partForm...)
			b = append(appendInt(b, uint64(len(r.hwForm))), r.hwForm...)
			b = append(append(b, r.partDisk...), r.hwDisk...)
			b = append(b, flag(r.dirty), flag(r.unsaved), byte(r.heard), byte(r.unclean), byte(r.session), byte(r.hwSeen), byte(r.hwEpoch))
			b = render(b, &r.late)
			b = render(b, &r.live)
			b = render(b, &r.disk)
			b = render(b, &r.view)
			b = render(b, &r.fetcher)
			b = render(b, &r.stamps)
			if r.read != nil {
				b = render(append(b, 1), r.read)
			}
		}
		k := &c.cl[i]
		b = append(b, byte(k.reportingUnder), byte(k.leader), byte(k.epoch), byte(k.lastUnclean), byte(k.pe), byte(k.version), byte(k.session))
		b = render(b, &k.isr)
		b = render(b, &k.links)
		b = render(b, &k.proposals)
	}
	b = appendInt(b, uint64(c.now.Mono))
	b = render(b, &c.floors)
	b = render(b, &c.answers)
	b = render(b, &c.acked)
	b = render(b, &c.stated)
	b = render(b, &c.gates)
	b = render(b, &c.newest)
	b = append(b, byte(c.produced), byte(c.ticks), byte(c.crashes), byte(c.releases), byte(c.unclean))
	b = render(b, &c.elected)
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16]), b
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
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
