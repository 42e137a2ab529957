package partition

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/invariants"
	"lockstep/protocol/batch"
)

// The world is a source and a destination of two brokers each, made of the shipped machines. It plays
// shell, journal, controller, fetcher and bus in the smallest form that keeps their promises: early
// effects at once, late ones in order once what was decided before is synced, mail in order per sender
// and receiver, floors and fetch answers in any order, doubled or lost.
type world struct {
	rng       *rand.Rand
	now       core.Now
	src, dst  *cluster
	floors    []highwater.ReportFloor
	answers   []fetched
	stated    []highwater.PublishFloor // of every floor that left the destination
	acked     map[core.Offset]invariants.Digest
	nextID    int64
	violation *invariants.Violation
	trace     []string
	tracing   bool
	gated     bool
}

type fetched struct {
	to  *broker
	cmd AppendMirrored
}

type cluster struct {
	name    string
	brokers []*broker
	leader  core.ReplicaID
	epoch   core.LeaderEpoch
	isr     []core.ReplicaID
	pe      int32
	version int64
	session core.MirrorSession
	mail    []letter
}

// letter is a message under way; from and to name its queue.
type letter struct {
	from, to string
	deliver  func()
}

type broker struct {
	w    *world
	c    *cluster
	id   core.ReplicaID
	part *State
	hw   *highwater.State
	// One journal per broker: entries of both actors in the order decided.
	entries []journaled
	synced  int
	late    [2][]gatedEffect // partition, highwater
	live    []batch.Batch    // the log as decided
	disk    []batch.Batch    // the log as synced
	label   string
	view    View
	admit   highwater.PublishGates
	hwSeen  core.Offset
	epochHW core.LeaderEpoch
}

type journaled struct {
	actor int
	entry core.Entry
}

type gatedEffect struct {
	after  int
	effect any
}

const (
	actorPartition = 0
	actorHW        = 1
)

var mirrorKey = core.MirrorKey{Cluster: "dc2", Mirror: "dr"}

func newWorld(seed int64) *world {
	w := &world{rng: rand.New(rand.NewSource(seed)), acked: map[core.Offset]invariants.Digest{}, gated: true}
	w.now = core.Now{Mono: int64(time.Hour), Wall: 1}
	w.src = w.newCluster("dc1", 1)
	w.dst = w.newCluster("dc2", 100)
	w.dst.session = 1
	w.broadcast(w.src)
	w.broadcast(w.dst)
	return w
}

func (w *world) newCluster(name string, epoch core.LeaderEpoch) *cluster {
	c := &cluster{name: name, leader: 1, epoch: epoch, isr: []core.ReplicaID{1, 2}}
	for id := core.ReplicaID(1); id <= 2; id++ {
		b := &broker{w: w, c: c, id: id, label: fmt.Sprintf("%s/broker-%d", name, id)}
		b.reset()
		c.brokers = append(c.brokers, b)
	}
	return c
}

func (c *cluster) broker(id core.ReplicaID) *broker { return c.brokers[id-1] }

// reset replays what is synced: everything else is gone.
func (b *broker) reset() {
	b.entries = b.entries[:b.synced:b.synced]
	b.part = New(fmt.Sprintf("partition/t/0/broker-%d", b.id))
	b.hw = highwater.New("ledger/t/0")
	b.late = [2][]gatedEffect{}
	b.live = b.disk
	for _, e := range b.entries {
		if e.actor == actorPartition {
			ev, err := decode(e.entry)
			if err != nil {
				panic(err)
			}
			Apply(b.part, ev)
			continue
		}
		m := highwater.Machine()
		ev, err := m.Decode(e.entry)
		if err != nil {
			panic(err)
		}
		m.Apply(b.hw, ev)
	}
	b.view = Describe(b.part)
	b.hwSeen, b.epochHW = 0, core.NoEpoch
}

func (w *world) say(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf(format, args...))
	}
}

// tell is the shell: decide, apply, journal, early now, late behind the newest entry.
func (b *broker) tell(cmd Command) {
	out := Decide(b.part, b.w.now, cmd)
	for _, ev := range out.Events {
		Apply(b.part, ev)
		if entry, durable := encode(ev); durable {
			b.entries = append(b.entries, journaled{actorPartition, entry})
			b.note(entry)
		}
	}
	for _, f := range out.Early {
		b.perform(f)
	}
	for _, f := range out.Late {
		b.late[actorPartition] = append(b.late[actorPartition], gatedEffect{len(b.entries), f})
	}
	b.release()
}

func (b *broker) tellHW(cmd highwater.Command) {
	m := highwater.Machine()
	out := m.Decide(b.hw, b.w.now, cmd)
	for _, ev := range out.Events {
		m.Apply(b.hw, ev)
		if entry, durable := m.Encode(ev); durable {
			b.entries = append(b.entries, journaled{actorHW, entry})
		}
	}
	for _, f := range out.Early {
		b.performHW(f)
	}
	for _, f := range out.Late {
		b.late[actorHW] = append(b.late[actorHW], gatedEffect{len(b.entries), f})
	}
	b.release()
}

func (b *broker) release() {
	for actor := range b.late {
		for len(b.late[actor]) > 0 && b.late[actor][0].after <= b.synced {
			f := b.late[actor][0].effect
			b.late[actor] = b.late[actor][1:]
			if actor == actorPartition {
				b.perform(f.(Effect))
			} else {
				b.performHW(f.(highwater.Effect))
			}
		}
	}
}

func (b *broker) sync() {
	b.synced, b.disk = len(b.entries), b.live
	b.release()
}

func (b *broker) name(actor string) string { return fmt.Sprintf("%s/%s-%d", b.c.name, actor, b.id) }

func (c *cluster) post(from, to string, deliver func()) {
	c.mail = append(c.mail, letter{from, to, deliver})
}

func (b *broker) perform(f Effect) {
	c := b.c
	switch e := f.(type) {
	case TellHighWatermark:
		c.post(b.name("p"), b.name("hw"), func() { b.tellHW(e.Command) })
	case TellReplica:
		to := c.broker(e.To)
		c.post(b.name("p"), to.name("p"), func() { to.tell(e.Command) })
	case ReportDurable:
		to := c.broker(e.Leader)
		c.post(b.name("p"), to.name("hw"), func() {
			to.tellHW(highwater.ReportReplica{Replica: b.id, Epoch: e.Epoch, Term: e.Term, LEO: e.LEO})
		})
		if to != b {
			c.post(b.name("p"), to.name("p"), func() {
				to.tell(ReplicaReported{Replica: b.id, Epoch: e.Epoch, Term: e.Term, LEO: e.LEO})
			})
		}
	case ReadLeaderLog:
		from := c.broker(e.Leader)
		c.post(b.name("read"), b.name("p"), func() {
			b.tell(Replicate{From: e.Leader, Epoch: e.Epoch, Term: e.Term, Batches: from.read(e.From), Adopted: core.NoEpoch, SourceHW: core.Unknown})
		})
	case QuarantineRange:
		c.post(b.name("q"), b.name("p"), func() { b.tell(Quarantined{Session: e.Session, From: e.From, To: e.To}) })
	case PublishView:
		b.view = e.View
	case AckProduce:
		b.w.ack(b, e.Base)
	case MarkerWritten, MirrorAnswered, MirrorFenced, PidResetWritten, ProducersDescribed, RecordsDeleted, RefuseProduce, WakeFetch, CacheBatch, DropCache, DropCacheHead, CleaningPrepared, BatchesCleaned, ArmTimer:
	default:
		panic(fmt.Sprintf("world: %T", f))
	}
}

func (b *broker) performHW(f highwater.Effect) {
	c := b.c
	hw, p := b.name("hw"), b.name("p")
	switch e := f.(type) {
	case highwater.Advance:
		c.post(hw, p, func() { b.tell(Advanced(e)) })
	case highwater.Show:
		c.post(hw, p, func() { b.tell(Shown(e)) })
	case highwater.Refuse:
		c.post(hw, p, func() { b.tell(Refused(e)) })
	case highwater.ChangeAdmission:
		c.post(hw, p, func() { b.tell(AdmissionChanged(e)) })
	case highwater.ProposeISR:
		c.post(hw, "controller", func() { b.w.propose(b, e) })
	case highwater.NoteStamp:
		c.post(hw+"-self", hw, func() { b.tellHW(highwater.StampDurable(e)) })
	case highwater.PublishFloor:
		b.w.floorLeaves(e)
	case highwater.PublishGates:
		b.admit = e
	case highwater.GateApplied, highwater.ArmTimer:
	default:
		panic(fmt.Sprintf("world: %T", f))
	}
}

// note keeps the log a reader of the journal would find; slices are never changed in place.
func (b *broker) note(entry core.Entry) {
	switch entry.Op {
	case core.IndexAdd:
		one, _, err := batch.Parse(entry.Payload)
		if err != nil {
			panic(err)
		}
		b.live = append(b.live[:len(b.live):len(b.live)], one)
	case core.IndexTruncate:
		b.live = b.live[:entry.Base]
	case core.IndexNone, core.IndexTrim, core.IndexReplace:
	}
}

// read serves from, below the released end.
func (b *broker) read(from core.Offset) []batch.Batch {
	end := min(b.view.LEO, core.Offset(len(b.live)))
	if from >= end {
		return nil
	}
	return slices.Clone(b.live[from:end])
}

func digest(b batch.Batch) invariants.Digest {
	return invariants.Digest(uint64(b.LeaderEpoch)<<32 | uint64(b.CRC))
}

func (b *broker) copyOf(log []batch.Batch) invariants.Copy {
	c := invariants.Copy{Replica: b.label}
	for _, one := range log {
		c.Batches = append(c.Batches, digest(one))
	}
	return c
}

// ack records what a client was told. The record is what the leader that acked it holds there.
func (w *world) ack(b *broker, base core.Offset) {
	w.say("ACK %d by %s", base, b.name("p"))
	w.acked[base] = digest(b.live[base])
}

func (w *world) floorLeaves(e highwater.PublishFloor) {
	if e.Floor == core.Unknown {
		return
	}
	w.say("floor %d of epoch %d leaves", e.Floor, e.SourceEpoch)
	w.stated = append(w.stated, e)
	if len(w.floors) < 6 {
		w.floors = append(w.floors, highwater.ReportFloor{
			Key: mirrorKey, Epoch: e.Epoch, SourceEpoch: e.SourceEpoch, Incarnation: e.Incarnation, Floor: e.Floor,
			ISRSize: e.ISRSize, MinISR: e.MinISR, DestEpoch: e.DestEpoch, Seq: e.Seq,
		})
	}
}
