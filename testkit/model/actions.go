package model

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

type actionKind uint8

const (
	actProduce actionKind = iota
	actRetry              // the newest record arrives at broker a again
	actSync
	actLink    // all letters from broker a to broker b of cluster c arrive
	actRead    // a follower's read of its leader's journal
	actHear    // broker a applies its cluster's newest image
	actPropose // the controller takes the oldest proposal
	actElect   // broker a of cluster c; b: 0 clean, 1 clean and the old leader stays in the ISR, 2 unclean
	actAdopt   // destination broker a checks its log against source broker b
	actFetch   // destination broker a asks source broker b
	actAnswer  // answer a arrives
	actFloor   // floor a arrives at source broker b, and stays on its way
	actTick
	actCrash // broker a of cluster c; b: 0 it stays what it was, -1 it comes back in its old epoch, else the broker that is elected
	actLose  // the source comes back with empty disks and does not notice
	actRelease
	actRegister
	actUnfence // the controller of destination c hears of its second broker again
	actTell    // destination c hears the epoch it is registered under
)

// action is one step that may be next. c is a cluster; a and b depend on the kind.
type action struct {
	kind    actionKind
	c, a, b int8
}

// refCurrent marks the check against the newest source leader: refusing that is DIVERGED for nothing.
const (
	refCheck   = core.RequestID(1 << 20)
	refCurrent = core.RequestID(1<<20 + 1)
)

// enabled lists what may happen next, in a fixed order.
func (w *world) enabled() []action {
	var all []action
	add := func(kind actionKind, c, a, b int) {
		all = append(all, action{kind, int8(c), int8(a), int8(b)})
	}
	bounds := w.bounds
	for id := 1; id <= 2; id++ {
		if w.produced < bounds.Records && partition.Describe(w.src().broker(core.ReplicaID(id)).part).IsLeader {
			add(actProduce, 0, id, 0)
		}
		if w.retries < bounds.Retries && w.produced > 0 && partition.Describe(w.src().broker(core.ReplicaID(id)).part).IsLeader {
			add(actRetry, 0, id, 0)
		}
	}
	for i := range w.n {
		c := &w.cl[i]
		for id := core.ReplicaID(1); id <= 2; id++ {
			w.enabledAt(i, id, add)
		}
		if len(c.proposals) > 0 {
			add(actPropose, i, 0, 0)
		}
		limit := bounds.DstElections
		if i == 0 {
			limit = bounds.SrcElections
		}
		other := 3 - c.leader
		if w.elected[i] < limit && c.inISR(other) {
			add(actElect, i, int(other), 0)
			if bounds.Graceful {
				add(actElect, i, int(other), 1)
			}
		}
		if i == 0 && w.unclean < bounds.Unclean && !c.inISR(other) {
			add(actElect, i, int(other), 2)
		}
	}
	for i := range w.answers {
		add(actAnswer, 0, i, 0)
	}
	for i := range w.floors {
		for id := 1; id <= 2; id++ {
			if partition.Describe(w.src().broker(core.ReplicaID(id)).part).IsLeader {
				add(actFloor, 0, i, id)
			}
		}
	}
	if w.losses < bounds.Losses {
		add(actLose, 0, 0, 0)
	}
	if w.ticks < bounds.Ticks {
		add(actTick, 0, 0, 0)
	}
	for d := range w.n - 1 {
		if w.cl[d+1].fenced {
			add(actUnfence, d+1, 0, 0)
		}
		if w.cl[d+1].reportingUnder != w.newest[d] {
			add(actTell, d+1, 0, 0)
		}
	}
	if w.gates[0] != 0 && w.releases < bounds.Releases {
		add(actRelease, 1, 0, 0)
	}
	if w.gates[0] == 0 && (w.releases > 0 || bounds.Unregistered) {
		add(actRegister, 1, 0, 0)
	}
	return all
}

func (w *world) enabledAt(i int, id core.ReplicaID, add func(actionKind, int, int, int)) {
	c := &w.cl[i]
	b := c.broker(id)
	if b.dirty {
		add(actSync, i, int(id), 0)
	}
	if len(c.links[id-1][2-id]) > 0 {
		add(actLink, i, int(id), int(3-id))
	}
	if b.read != nil && len(c.broker(b.read.Leader).readable(b.read.From)) > 0 {
		add(actRead, i, int(id), 0)
	}
	// A follower that hears of an election before its leader does is not heard by it, and asks again later.
	if b.heard < c.version && (id == c.leader || c.broker(c.leader).heard == c.version) {
		add(actHear, i, int(id), 0)
	}
	if w.crashes[min(i, 1)] < []int{w.bounds.SrcCrashes, w.bounds.DstCrashes}[min(i, 1)] {
		switch {
		case id != c.leader:
			add(actCrash, i, int(id), 0)
		default:
			if c.inISR(3 - id) {
				add(actCrash, i, int(id), int(3-id))
			}
			add(actCrash, i, int(id), int(id))
			add(actCrash, i, int(id), sameEpoch)
		}
	}
	if v := partition.Describe(b.part); i > 0 && v.IsLeader && v.Role == partition.Mirroring {
		for s := core.ReplicaID(1); s <= 2; s++ {
			w.enabledFetch(i, id, s, add)
		}
	}
}

// enabledFetch is what the fetcher of a destination leader does at a source broker that says it leads. An
// answer that is lost changes nothing: losing it is not asking.
func (w *world) enabledFetch(i int, id, s core.ReplicaID, add func(actionKind, int, int, int)) {
	from := w.src().broker(s)
	f := w.cl[i].broker(id).fetcher
	switch {
	case !from.view.IsLeader || f.asking:
	case f.ready && f.epoch == from.view.Epoch:
		if len(w.answers)+int(f.owed) >= w.bounds.Answers {
			return
		}
		next := w.fetched(i, id, s)
		fresh := len(next.cmd.Batches) > 0 || next.cmd.SourceHW > f.told
		again := slices.ContainsFunc(w.answers, func(a answer) bool { return w.same(&a, &next) })
		if fresh && !again {
			add(actFetch, i, int(id), int(s))
		}
	case !f.ready || from.view.Epoch > f.epoch:
		add(actAdopt, i, int(id), int(s))
	}
}

func (w *world) same(a, b *answer) bool {
	return string(w.forms.answer(nil, unsafe.Pointer(a))) == string(w.forms.answer(nil, unsafe.Pointer(b)))
}

func (w *world) fetched(i int, id, s core.ReplicaID) answer {
	from, c := w.src().broker(s), &w.cl[i]
	return answer{int8(i), id, partition.AppendMirrored{
		Session: c.broker(id).session, SourceEpoch: from.view.Epoch, Batches: from.readable(c.broker(id).fetcher.leo),
		SourceHW: from.view.HW, HasWaiters: false,
	}}
}

// do takes one step and everything brokers tell themselves in it.
func (w *world) do(a action) {
	if w.log != nil {
		w.log("%s", w.describe(a))
	}
	i, c := int(a.c), &w.cl[a.c]
	id := core.ReplicaID(a.a)
	switch a.kind {
	case actProduce:
		w.produced++
		n := int64(w.produced)
		w.tell(0, id, partition.AppendBatch{Ref: core.RequestID(n), Batch: w.record(n), Acks: -1})
	case actRetry:
		w.retries++
		n := int64(w.produced)
		w.tell(0, id, partition.AppendBatch{Ref: core.RequestID(100*w.retries) + core.RequestID(n), Batch: w.record(n), Acks: -1})
	case actSync:
		w.sync(i, id)
	case actLink:
		link := &c.links[a.a-1][a.b-1]
		letters := *link
		*link = nil
		for _, l := range letters {
			w.deliver(i, core.ReplicaID(a.b), l)
			w.drain()
		}
	case actRead:
		b := w.edit(i, id)
		r := b.read
		b.read = nil
		w.tell(i, id, partition.Replicate{From: r.Leader, Epoch: r.Epoch, Term: r.Term,
			Batches: slices.Clone(c.broker(r.Leader).readable(r.From)), Adopted: core.NoEpoch, SourceHW: core.Unknown})
	case actHear:
		w.hear(i, id)
	case actPropose:
		w.decideProposal(i)
	case actElect:
		w.elect(i, id, a.b)
		w.elected[i]++
	case actAdopt:
		w.adopt(i, id, core.ReplicaID(a.b))
	case actFetch:
		w.answers = append(w.answers[:len(w.answers):len(w.answers)], w.fetched(i, id, core.ReplicaID(a.b)))
	case actAnswer:
		one := w.answers[a.a]
		w.answers = slices.Delete(slices.Clone(w.answers), int(a.a), int(a.a)+1)
		f := &w.edit(int(one.cluster), one.to).fetcher
		f.owed++
		f.told = max(f.told, one.cmd.SourceHW)
		one.cmd.Batches = slices.Clone(one.cmd.Batches)
		w.tell(int(one.cluster), one.to, one.cmd)
	case actFloor:
		w.tellHW(0, core.ReplicaID(a.b), w.floors[a.a].report)
	case actTick:
		w.tick()
	case actCrash:
		w.crash(i, id, a.b)
	case actLose:
		w.lose()
	case actRelease:
		w.gates[i-1], w.releases = 0, w.releases+1
		w.src().version++
	case actRegister:
		if w.releases > 0 {
			w.newest[i-1]++
		}
		w.gates[i-1] = w.newest[i-1]
		w.src().version++
	case actUnfence:
		c.fenced = false
		c.version++
	case actTell:
		c.reportingUnder = w.newest[i-1]
		c.version++
	default:
		panic(fmt.Sprintf("model: action %d", a.kind))
	}
	w.drain()
	if !w.bounds.Lag {
		w.hearAll()
	}
}

func (w *world) record(id int64) batch.Batch {
	from := batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, FirstTimestamp: id, MaxTimestamp: id}
	if w.bounds.Retries > 0 {
		from.ProducerID, from.ProducerEpoch, from.BaseSequence = 1, 0, int32(id-1)
	}
	return batch.Build(from,
		[]batch.Record{{Timestamp: id, Value: fmt.Appendf(nil, "record %d", id)}})
}

// tick is 11 s: a follower that has not kept up is late, a floor is said again, a proposal is repeated.
func (w *world) tick() {
	w.ticks++
	w.now.Mono += int64(11 * time.Second)
	for i := range w.n {
		for id := core.ReplicaID(1); id <= 2; id++ {
			w.tell(i, id, partition.Tick{})
			w.tellHW(i, id, highwater.Tick{})
			w.drain()
		}
	}
}
