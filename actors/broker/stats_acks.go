package broker

import (
	"slices"
	"sort"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/histogram"
)

// AckStage is something that an acks=all batch waits for. Each is measured from the append at the leader
// until it is done, beside the others: the largest is what holds acks up.
type AckStage int

const (
	StageLeader  AckStage = iota // the leader's own disk
	StageISR                     // the disks of the leader's whole ISR
	StageMirrors                 // the floors of every registered mirror
	StageTotal                   // the ack itself
	// StageDestinationISR is measured at a destination: from its leader's disk to the floor that covers it.
	StageDestinationISR
	ackStages
)

// String is the value of the metric's label.
func (s AckStage) String() string {
	return [...]string{"leader", "isr", "mirrors", "total", "destination_isr"}[s]
}

// AckStages are all stages that a cluster measures.
func AckStages() []AckStage {
	return []AckStage{StageLeader, StageISR, StageMirrors, StageTotal, StageDestinationISR}
}

// AckStage is how long batches waited for a stage since the process started.
func (c *Cluster) AckStage(s AckStage) histogram.Snapshot { return c.stats.stages[s].Snapshot() }

type mirroredTopic struct {
	mirror core.MirrorName
	topic  core.TopicID
}

// AckWait is how long the acks=all batches of one topic waited for one mirror.
type AckWait struct {
	Mirror core.MirrorName
	Topic  core.TopicID
	histogram.Snapshot
}

// AckWaits are those of every mirror that gated since the process started, in no order. A batch that was
// given up counts with the time it had waited.
func (c *Cluster) AckWaits() []AckWait {
	c.stats.mu.RLock()
	defer c.stats.mu.RUnlock()
	list := make([]AckWait, 0, len(c.stats.waits))
	for key, h := range c.stats.waits {
		list = append(list, AckWait{key.mirror, key.topic, h.Snapshot()})
	}
	return list
}

func (s *stats) waitsFor(mirror core.MirrorName, topic core.TopicID) *histogram.Histogram {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := mirroredTopic{mirror, topic}
	if s.waits == nil {
		s.waits = map[mirroredTopic]*histogram.Histogram{}
	}
	if s.waits[key] == nil {
		s.waits[key] = &histogram.Histogram{}
	}
	return s.waits[key]
}

// ackTiming follows the batches that wait at one leader. It sees the events of the HW machine on its actor's
// goroutine, so it needs no lock, and decides nothing.
type ackTiming struct {
	replica *Replica

	leading bool
	epoch   core.LeaderEpoch
	self    core.ReplicaID
	image   highwater.AppliedImage
	ahead   highwater.AppliedImage // of an epoch that has not begun here
	leos    map[core.ReplicaID]core.Offset

	waiting []timedAck // by offset
	stages  [3]reached // StageLeader, StageISR, StageMirrors
	gates   []timedGate
	written []timedEnd // at a destination: our own disk is there, the floor is not
}

type timedAck struct {
	ref    core.RequestID
	offset core.Offset // HW that confirms it
	at     int64       // mono ns
}

// reached is how far a stage has come: of waiting, those before next have been counted.
type reached struct {
	offset core.Offset
	next   int
}

type timedGate struct {
	key  core.MirrorKey
	wait *histogram.Histogram
	reached
}

type timedEnd struct {
	leo core.Offset
	at  int64
}

// writtenMost bounds what a destination remembers while it may not publish floors.
const writtenMost = 4096

func (t *ackTiming) observe(ev highwater.Event) {
	switch e := ev.(type) {
	case highwater.LeaderBegan:
		ahead := t.ahead
		*t = ackTiming{replica: t.replica, leading: true, epoch: e.Started.Epoch, self: e.Started.Self, leos: map[core.ReplicaID]core.Offset{}}
		t.arrived(ahead)
	case highwater.ImageArrived:
		t.arrived(e.Image)
	case highwater.AckParked:
		t.park(e.Waiter)
	case highwater.ReplicaProgressed:
		t.progressed(e)
	case highwater.FloorHeard:
		t.heard(e)
	case highwater.AcksConfirmed:
		t.confirmed(e.UpTo)
	case highwater.AcksDropped:
		t.dropped(e.Refs)
	case highwater.TermBegan:
		t.written = nil
	case highwater.FloorStated:
		t.stated(e)
	case highwater.SteppedDown:
		*t = ackTiming{replica: t.replica, ahead: t.ahead}
	default: // nobody waits for it
	}
}

func (t *ackTiming) now() int64 { return t.replica.broker.cluster.Now().Mono }

func (t *ackTiming) stage(s AckStage) *histogram.Histogram {
	return &t.replica.broker.cluster.stats.stages[s]
}

// arrived takes the newest image of our epoch, as the machine does.
func (t *ackTiming) arrived(img highwater.AppliedImage) {
	if !t.leading || img.Epoch != t.epoch || img.Version == 0 {
		t.ahead = img
		return
	}
	t.image = img
	gates := make([]timedGate, 0, len(img.Gates))
	for _, g := range img.Gates {
		i := slices.IndexFunc(t.gates, func(old timedGate) bool { return old.key == g.Key })
		if i >= 0 {
			gates = append(gates, t.gates[i])
			continue
		}
		gates = append(gates, timedGate{key: g.Key, wait: t.replica.broker.cluster.stats.waitsFor(g.Key.Mirror, t.replica.id.Topic)})
	}
	t.gates = gates
}

// park leaves out what nobody measures: control batches, and duplicates that wait below newer batches.
func (t *ackTiming) park(w highwater.Waiter) {
	if w.Deadline == 0 || len(t.waiting) > 0 && w.Offset < t.waiting[len(t.waiting)-1].offset {
		return
	}
	t.waiting = append(t.waiting, timedAck{w.Ref, w.Offset, t.now()})
}

// count tells h of every waiting batch up to offset that the stage had not reached before.
func (t *ackTiming) count(r *reached, offset core.Offset, h *histogram.Histogram, now int64) {
	r.offset = max(r.offset, offset)
	for ; r.next < len(t.waiting) && t.waiting[r.next].offset <= r.offset; r.next++ {
		h.Observe(time.Duration(now - t.waiting[r.next].at))
	}
}

func (t *ackTiming) progressed(e highwater.ReplicaProgressed) {
	if t.image.Mode == highwater.Mirroring {
		if e.Replica == t.self && t.image.MirrorOf.Reporting {
			t.written = append(t.written, timedEnd{e.LEO, e.At})
			t.written = t.written[max(0, len(t.written)-writtenMost):]
		}
		return
	}
	if t.leos == nil {
		return
	}
	t.leos[e.Replica] = e.LEO
	if len(t.waiting) == 0 {
		return
	}
	if e.Replica == t.self {
		t.count(&t.stages[StageLeader], e.LEO, t.stage(StageLeader), e.At)
	}
	lowest := t.leos[t.self]
	for _, id := range t.image.ISR {
		lowest = min(lowest, t.leos[id])
	}
	t.count(&t.stages[StageISR], lowest, t.stage(StageISR), e.At)
}

func (t *ackTiming) heard(e highwater.FloorHeard) {
	lowest := core.Offset(0)
	for i := range t.gates {
		g := &t.gates[i]
		if g.key == e.Report.Key {
			t.count(&g.reached, e.Report.Floor, g.wait, e.At)
		}
		if i == 0 || g.offset < lowest {
			lowest = g.offset
		}
	}
	t.count(&t.stages[StageMirrors], lowest, t.stage(StageMirrors), e.At)
}

// confirmed counts the acks, and for them whatever was learned in another order than it happened.
func (t *ackTiming) confirmed(hw core.Offset) {
	n := sort.Search(len(t.waiting), func(i int) bool { return t.waiting[i].offset > hw })
	if n == 0 {
		return
	}
	now := t.now()
	upTo := t.waiting[n-1].offset
	for i := range t.stages {
		if AckStage(i) != StageMirrors || len(t.gates) > 0 {
			t.count(&t.stages[i], upTo, t.stage(AckStage(i)), now)
		}
	}
	for i := range t.gates {
		t.count(&t.gates[i].reached, upTo, t.gates[i].wait, now)
	}
	for _, w := range t.waiting[:n] {
		t.stage(StageTotal).Observe(time.Duration(now - w.at))
	}
	if t.waiting = t.waiting[n:]; len(t.waiting) == 0 {
		t.waiting = nil
	}
	for i := range t.stages {
		t.stages[i].next = max(0, t.stages[i].next-n)
	}
	for i := range t.gates {
		t.gates[i].next = max(0, t.gates[i].next-n)
	}
}

// dropped counts batches that were given up for the mirrors that did not have them: without the longest waits
// a distribution looks best when it is worst.
func (t *ackTiming) dropped(refs []core.RequestID) {
	if len(t.waiting) == 0 {
		return
	}
	now, gone := t.now(), map[core.RequestID]bool{}
	for _, ref := range refs {
		gone[ref] = true
	}
	var left []timedAck
	for _, w := range t.waiting {
		if !gone[w.ref] {
			left = append(left, w)
			continue
		}
		for _, g := range t.gates {
			if w.offset > g.offset {
				g.wait.Observe(time.Duration(now - w.at))
			}
		}
	}
	t.waiting = left
	again := func(r *reached) {
		r.next = sort.Search(len(left), func(i int) bool { return left[i].offset > r.offset })
	}
	for i := range t.stages {
		again(&t.stages[i])
	}
	for i := range t.gates {
		again(&t.gates[i].reached)
	}
}

// stated measures how long our followers took: floors are never ahead of the slowest of them.
func (t *ackTiming) stated(e highwater.FloorStated) {
	n := 0
	for n < len(t.written) && t.written[n].leo <= e.Floor {
		t.stage(StageDestinationISR).Observe(time.Duration(e.At - t.written[n].at))
		n++
	}
	t.written = t.written[n:]
}
