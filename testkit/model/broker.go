package model

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/invariants"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// tell is the shell of a partition: decide, apply, journal, early effects now, late ones once what was
// decided before is synced.
func (w *world) tell(i int, id core.ReplicaID, cmd partition.Command) {
	b := w.edit(i, id)
	out := partitions.Decide(b.part, w.now, cmd)
	if len(out.Events) > 0 && !b.partOwned {
		b.part, b.partOwned = copyPart.of(b.part), true
	}
	for _, ev := range out.Events {
		partitions.Apply(b.part, ev)
		if _, durable := ev.(partition.DurableEvent); durable {
			b.dirty, b.unsaved = true, true
			b.note(ev)
		}
	}
	for _, f := range out.Early {
		w.perform(i, id, f)
	}
	for _, f := range out.Late {
		switch f.(type) {
		case partition.MarkerWritten, partition.MirrorFenced, partition.PidResetWritten, partition.ProducersDescribed, partition.RecordsDeleted, partition.CleaningPrepared, partition.BatchesCleaned, partition.RefuseProduce, partition.WakeFetch:
			// Nobody here is told: keeping it would only tell states apart that are the same.
		default:
			b.late[0] = append(b.late[0][:len(b.late[0]):len(b.late[0])], f)
		}
	}
	w.release(i, id)
}

func (w *world) tellHW(i int, id core.ReplicaID, cmd highwater.Command) {
	b := w.edit(i, id)
	out := highwaters.Decide(b.hw, w.now, cmd)
	if len(out.Events) > 0 && !b.hwOwned {
		b.hw, b.hwOwned = copyHW.of(b.hw), true
	}
	for _, ev := range out.Events {
		highwaters.Apply(b.hw, ev)
		if _, durable := ev.(highwater.DurableEvent); durable {
			b.unsaved = true
		}
		if moved, ok := ev.(highwater.HighWatermarkAdvanced); ok {
			w.checkAdvance(b, moved)
		}
	}
	for _, f := range out.Early {
		w.performHW(i, id, f)
	}
	for _, f := range out.Late {
		switch f.(type) {
		case highwater.PublishGates, highwater.GateApplied:
		default:
			b.late[1] = append(b.late[1][:len(b.late[1]):len(b.late[1])], f)
		}
	}
	w.release(i, id)
}

// release performs late effects when nothing decided is unsynced. Entries of the ledger alone never wait:
// they are evidence and gate nothing (D3).
func (w *world) release(i int, id core.ReplicaID) {
	b := w.edit(i, id)
	apart := w.bounds.SrcSync
	if i > 0 {
		apart = w.bounds.DstSync
	}
	if b.dirty && apart {
		return
	}
	if b.unsaved {
		w.saved(b)
	}
	if len(b.late[0])+len(b.late[1]) == 0 {
		return
	}
	parts, hws := b.late[0], b.late[1]
	b.late = [2][]any{}
	for _, f := range parts {
		w.perform(i, id, f.(partition.Effect))
	}
	for _, f := range hws {
		w.performHW(i, id, f.(highwater.Effect))
	}
}

func (w *world) sync(i int, id core.ReplicaID) {
	w.saved(w.edit(i, id))
	w.release(i, id)
}

// post puts a letter behind those of the same sender and receiver; within a broker it is delivered in
// the same step.
func (w *world) post(i int, from, to core.ReplicaID, l letter) {
	if from == to {
		w.local = append(w.local, local{i, to, l})
		return
	}
	link := &w.cl[i].links[from-1][to-1]
	*link = append((*link)[:len(*link):len(*link)], l)
}

func (w *world) deliver(i int, to core.ReplicaID, l letter) {
	if l.cmd != nil {
		w.tell(i, to, l.cmd)
	} else {
		w.tellHW(i, to, l.hw)
	}
}

// drain delivers what brokers told themselves, oldest first.
func (w *world) drain() {
	for len(w.local) > 0 {
		l := w.local[0]
		w.local = w.local[1:]
		w.deliver(l.cluster, l.id, l.letter)
	}
}

func (w *world) perform(i int, id core.ReplicaID, f partition.Effect) {
	c := &w.cl[i]
	b := w.edit(i, id)
	switch e := f.(type) {
	case partition.TellHighWatermark:
		w.post(i, id, id, letter{hw: e.Command})
	case partition.TellReplica:
		w.post(i, id, e.To, letter{cmd: e.Command})
	case partition.ReportDurable:
		w.post(i, id, e.Leader, letter{hw: highwater.ReportReplica{Replica: id, Epoch: e.Epoch, Term: e.Term, LEO: e.LEO}})
		// It also gives push credit back, which no bound here ever uses up.
	case partition.ReadLeaderLog:
		b.read = &e
	case partition.QuarantineRange:
		w.post(i, id, id, letter{cmd: partition.Quarantined{Session: e.Session, From: e.From, To: e.To}})
	case partition.PublishView:
		w.checkKept(i, id, b.view, e.View)
		b.view = e.View
	case partition.AckProduce:
		w.ack(c, id, e.Base)
	case partition.MirrorAnswered:
		w.answered(c, id, e)
	case partition.MarkerWritten, partition.MirrorFenced, partition.PidResetWritten, partition.ProducersDescribed, partition.RecordsDeleted, partition.RefuseProduce, partition.WakeFetch, partition.CacheBatch, partition.DropCache, partition.DropCacheHead, partition.CleaningPrepared, partition.BatchesCleaned, partition.ArmTimer:
	default:
		panic(fmt.Sprintf("model: %T", f))
	}
}

func (w *world) performHW(i int, id core.ReplicaID, f highwater.Effect) {
	c := &w.cl[i]
	self := func(cmd partition.Command) { w.post(i, id, id, letter{cmd: cmd}) }
	switch e := f.(type) {
	case highwater.Advance:
		self(partition.Advanced(e))
	case highwater.Show:
		self(partition.Shown(e))
	case highwater.Refuse:
		self(partition.Refused(e))
	case highwater.ChangeAdmission:
		self(partition.AdmissionChanged(e))
	case highwater.ProposeISR:
		c.proposals = append(c.proposals[:len(c.proposals):len(c.proposals)], proposal{id, e})
	case highwater.NoteStamp:
		w.post(i, id, id, letter{hw: highwater.StampDurable(e)})
	case highwater.PublishFloor:
		w.floorLeaves(i, e)
	case highwater.PublishGates, highwater.GateApplied, highwater.ArmTimer:
	case highwater.ConfirmAddition:
		panic("model: no partition is added")
	default:
		panic(fmt.Sprintf("model: %T", f))
	}
}

// note keeps the log a reader of the journal would find.
func (b *broker) note(ev partition.Event) {
	switch e := ev.(type) {
	case partition.BatchAppended:
		b.live = append(b.live[:len(b.live):len(b.live)], e.Batch)
	case partition.LogTruncated:
		b.live = b.live[:e.To]
	default: // not of the log
	}
}

// readable is what a reader gets from here on, below the released end.
func (b *broker) readable(from core.Offset) []batch.Batch {
	end := min(b.view.LEO, core.Offset(len(b.live)))
	if from < 0 || from >= end {
		return nil
	}
	return b.live[from:end]
}

func (w *world) ack(c *cluster, id core.ReplicaID, base core.Offset) {
	b := c.broker(id)
	a := ack{at: base, digest: digest(b.live[base])}
	if int(base) < len(b.stamps) {
		a.gated = b.stamps[base]
	} else { // acked before HW: then it was promised under whatever gates now
		for d, re := range w.gates {
			if re != 0 {
				a.gated |= 1 << d
			}
		}
	}
	w.say("record at offset %d of epoch %d is ACKED by %s", base, b.live[base].LeaderEpoch, c.label(id))
	for _, old := range w.acked {
		if old.at == base && old.digest != a.digest && w.honest() {
			w.found("I01", "another record was acked at offset %d before", base)
		}
	}
	w.acked = append(w.acked[:len(w.acked):len(w.acked)], a)
}

func (w *world) answered(c *cluster, id core.ReplicaID, e partition.MirrorAnswered) {
	f := &w.edit(c.at, id).fetcher
	if e.Ref == refCheck || e.Ref == refCurrent {
		f.asking = false
	} else {
		f.owed = max(0, f.owed-1)
	}
	switch e.Outcome {
	case partition.MirrorOK:
		*f = fetcher{ready: true, epoch: e.Adopted, leo: e.LEO, told: f.told, owed: f.owed, asking: f.asking}
	case partition.MirrorDiverged:
		f.ready = false
		w.say("%s is %s", c.label(id), e.Text)
		if w.honest() && e.Ref == refCurrent {
			w.found("I28", "%s is DIVERGED though every election was clean: %s", c.label(id), e.Text)
		}
	case partition.MirrorStale, partition.MirrorAgain, partition.MirrorEpochTooLow, partition.MirrorRejected, partition.MirrorUnsaved:
		f.ready = false
	default:
		panic(fmt.Sprintf("model: outcome %d", e.Outcome))
	}
}

// floorLeaves puts a floor on its way. When there are more than the bound, the oldest is lost.
func (w *world) floorLeaves(i int, e highwater.PublishFloor) {
	if e.Floor == core.Unknown {
		return
	}
	w.say("%s states floor %d of source epoch %d, ISR %v", w.cl[i].name, e.Floor, e.SourceEpoch, e.ISR)
	if int(e.ISRSize) < w.bounds.MinISR && e.Floor > w.highestStated(i, e) {
		w.foundIf("R5", "%s states floor %d on %d in-sync replicas; min ISR is %d", w.cl[i].name, e.Floor, e.ISRSize, w.bounds.MinISR)
	}
	w.state(statement{int8(i - 1), e.Epoch, e.SourceEpoch, e.Floor})
	if e.Floor == 0 && w.produced == 0 {
		return // of the empty log: nothing depends on when it arrives but that it is first
	}
	report := highwater.ReportFloor{Key: keys[i-1], Epoch: e.Epoch, SourceEpoch: e.SourceEpoch, SourceIncarnation: e.SourceIncarnation, Incarnation: e.Incarnation,
		Floor: e.Floor, ISRSize: e.ISRSize, MinISR: e.MinISR, DestEpoch: e.DestEpoch, Seq: e.Seq}
	all := append(w.floors[:len(w.floors):len(w.floors)], floorOnWay{report})
	w.floors = all[max(0, len(all)-w.bounds.Floors):]
}

// highestStated is the floor stated before, in the same source epoch and registration.
func (w *world) highestStated(i int, e highwater.PublishFloor) core.Offset {
	for _, s := range w.stated {
		if int(s.dest) == i-1 && s.re == e.Epoch && s.epoch == e.SourceEpoch {
			return s.floor
		}
	}
	return core.Unknown
}

func (w *world) state(s statement) {
	all := make([]statement, 0, len(w.stated)+1)
	for _, old := range w.stated {
		if old.dest == s.dest && old.re == s.re && old.epoch == s.epoch {
			s.floor = max(s.floor, old.floor)
			continue
		}
		all = append(all, old)
	}
	w.stated = append(all, s)
}

func (w *world) found(id, format string, args ...any) {
	if w.violation == nil {
		w.violation = &invariants.Violation{ID: id, Text: fmt.Sprintf(format, args...)}
	}
}
