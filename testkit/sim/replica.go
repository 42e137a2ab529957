package sim

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/orders"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
)

type (
	partitionActor = actor[partition.State, partition.Command, partition.Event, partition.Effect]
	highwaterActor = actor[highwater.State, highwater.Command, highwater.Event, highwater.Effect]
)

// replica is one partition at one broker: its two actors, and what they let be seen. It repeats the wiring
// of actors/broker.Replica.
type replica struct {
	id        core.PartitionID
	broker    *broker
	log       *diskStream
	partition *partitionActor
	highwater *highwaterActor
	known     *known

	view  partition.View
	gates highwater.PublishGates
	floor *highwater.PublishFloor

	lagging   map[core.ReplicaID]lag // followers whose question this leader's next view may answer
	sentEpoch core.LeaderEpoch
	early     map[core.ReplicaID]partition.JoinLeader
	notBefore core.LeaderEpoch
	truth     replicaTruth // what the oracle keeps of it
	viewed    bool         // the oracle has yet to look at the view
}

const (
	retryNs      = 100 * ms
	catchUpBytes = 1 << 20
)

func newReplica(b *broker, id core.PartitionID) *replica {
	p := b.home
	name := partitionStream(id, b.id)
	r := &replica{id: id, broker: b, log: b.disk.stream(name), known: p.knownOf(id), sentEpoch: core.NoEpoch, notBefore: b.barred[id], early: map[core.ReplicaID]partition.JoinLeader{}, lagging: map[core.ReplicaID]lag{},
		view:  partition.View{Leader: core.NoReplica, Epoch: core.NoEpoch, Adopted: core.NoEpoch},
		gates: highwater.PublishGates{Epoch: core.NoEpoch}}
	o := p.site.world.oracle
	r.partition = spawn(p, spec[partition.State, partition.Command, partition.Event, partition.Effect]{
		id: name, machine: partition.Machine(), store: b.disk, stream: name, tick: partition.Tick{},
		accept: func(cmd partition.Command) bool {
			lead, ok := cmd.(partition.Lead)
			return !ok || lead.Epoch >= r.notBefore
		},
		timer:   func(f partition.Effect) (int64, bool) { t, ok := f.(partition.ArmTimer); return t.At, ok },
		perform: r.performPartition, compact: orders.CompactReports,
		observe: func(ev partition.Event) { o.partitionEvent(r, ev) },
		started: func(s *partition.State, again bool) {
			r.view = partition.Describe(s)
			for prefix, highest := range partition.HighestProducerIDs(s) {
				p.highest[prefix] = max(p.highest[prefix], highest)
			}
			r.started(again)
		},
		lost: b.volumeLost,
	})
	r.highwater = spawn(p, spec[highwater.State, highwater.Command, highwater.Event, highwater.Effect]{
		id: fmt.Sprintf("ledger/%s/%s", id, b.name()), machine: highwater.Machine(), store: b.disk, stream: ledgerStream(id), tick: highwater.Tick{},
		accept: func(cmd highwater.Command) bool {
			started, ok := cmd.(highwater.LeaderStarted)
			return !ok || started.Epoch >= r.notBefore
		},
		timer:   func(f highwater.Effect) (int64, bool) { t, ok := f.(highwater.ArmTimer); return t.At, ok },
		perform: r.performHighWatermark,
		observe: func(ev highwater.Event) { o.highwaterEvent(r, ev) },
		started: func(s *highwater.State, again bool) {
			hw := highwater.HighWatermark(s)
			r.known.acked, r.known.shown = max(r.known.acked, hw), max(r.known.shown, hw)
			r.started(again)
		},
		lost: b.volumeLost,
	})
	return r
}

func (r *replica) start() {
	r.partition.start()
	r.highwater.start()
}

// started follows each replay. After a panic the replica may lead only in an epoch that the controller
// makes durable from now on (R12).
func (r *replica) started(again bool) {
	if again {
		r.notBefore = max(r.notBefore, r.sentEpoch+1)
		r.requestEpoch()
	}
	r.tellRole()
}

func (r *replica) requestEpoch() {
	p := r.broker.home
	now, known := p.newest.Partition(r.id)
	if !known || now.Leader != r.broker.id || now.LeaderEpoch >= r.notBefore {
		return
	}
	p.raiseEpoch(r.id, r.notBefore, func(answer any) {
		if _, failed := answer.(shell.Failed); failed {
			p.wake(p.mono()+retryNs, r.requestEpoch)
		}
	})
}

// panic restarts the pair.
func (r *replica) panic() {
	r.partition.panicked()
	r.highwater.panicked()
}

func (r *replica) tellRole() {
	img := r.broker.feed.image
	p, known := img.Partition(r.id)
	if !known {
		return
	}
	if p.Leader != r.broker.id {
		r.partition.tell(partition.Follow{Epoch: p.LeaderEpoch, Leader: p.Leader})
		return
	}
	if p.LeaderEpoch < r.notBefore {
		return
	}
	r.sentEpoch = max(r.sentEpoch, p.LeaderEpoch)
	r.partition.tell(orders.Lead(img, r.id, p))
	r.highwater.tell(orders.Applied(img, r.id, p))
	for _, from := range p.Replicas {
		if join, waits := r.early[from]; waits && join.Epoch <= r.sentEpoch {
			delete(r.early, from)
			r.partition.tell(join)
		}
	}
}

func (r *replica) join(cmd partition.JoinLeader) {
	if cmd.Epoch > r.sentEpoch {
		r.early[cmd.From] = cmd
		return
	}
	r.partition.tell(cmd)
}

func (r *replica) tellImage() {
	img := r.broker.feed.image
	if p, known := img.Partition(r.id); known && p.Leader == r.broker.id {
		r.highwater.tell(orders.Applied(img, r.id, p))
	}
}

func (r *replica) ask(build func(core.RequestID) partition.Command, reply func(any)) core.RequestID {
	return r.partition.ask(build, reply)
}

func (r *replica) close(done func()) {
	left := 2
	one := func() {
		if left--; left == 0 {
			done()
		}
	}
	r.partition.close(one)
	r.highwater.close(one)
}

func (r *replica) performPartition(f partition.Effect) {
	p := r.broker.home
	switch e := f.(type) {
	case partition.TellHighWatermark:
		r.tellHighWatermark(e.Command)
	case partition.TellReplica:
		if join, joins := e.Command.(partition.JoinLeader); joins {
			r.askToJoin(e.To, join)
		} else if other := p.replica(e.To, r.id); other != nil {
			other.partition.tell(e.Command)
		}
	case partition.ReportDurable:
		r.reportDurable(e)
	case partition.ReadLeaderLog:
		r.broker.io.post(func() { r.catchUp(e) })
	case partition.QuarantineRange:
		r.broker.io.post(func() { r.quarantine(e) })
	case partition.PublishView:
		r.publishView(e.View)
	case partition.CacheBatch, partition.DropCache, partition.DropCacheHead:
	case partition.AckProduce, partition.ArmTimer, partition.MarkerWritten, partition.MirrorAnswered, partition.MirrorFenced, partition.PidResetWritten,
		partition.ProducersDescribed, partition.RecordsDeleted, partition.CleaningPrepared, partition.BatchesCleaned, partition.RefuseProduce, partition.WakeFetch: // routed by the shell
	default:
		panic(fmt.Sprintf("sim: unknown partition effect %T", f))
	}
}

// publishView replaces what readers see. A leader shows at once what an earlier leader of this process has
// shown (I14).
func (r *replica) publishView(v partition.View) {
	if v.IsLeader && v.Role != partition.Mirroring {
		v = v.Shown(min(r.known.shown, v.LEO))
		r.known.shown = max(r.known.shown, v.HW)
	}
	r.broker.home.site.world.oracle.view(r, r.view, v)
	r.view = v
	for _, id := range sortedKeys(r.lagging) {
		if asked := r.lagging[id]; !orders.Ahead(asked.question, v) {
			delete(r.lagging, id)
			asked.follower.broker.io.post(func() { asked.follower.catchUp(asked.question) })
		}
	}
	r.reportFence()
}

// quarantine saves a range, or finds the disk full.
func (r *replica) quarantine(e partition.QuarantineRange) {
	if d := r.broker.disk; d.random.IntN(10) == 0 && !r.broker.home.site.world.healed {
		r.partition.tell(partition.QuarantineFailed{Session: e.Session, From: e.From, To: e.To, Text: "no space left on device"})
		return
	}
	r.partition.tell(partition.Quarantined{Session: e.Session, From: e.From, To: e.To})
}

func (r *replica) askToJoin(leader core.ReplicaID, join partition.JoinLeader) {
	p := r.broker.home
	b := p.broker(leader)
	now, exists := p.newest.Partition(r.id)
	if b == nil || !exists || !b.assigned(now) {
		return
	}
	if other := b.ensure(r.id); other != nil {
		other.join(join)
	}
}

func (r *replica) tellHighWatermark(cmd highwater.Command) {
	switch started := cmd.(type) {
	case highwater.LeaderStarted:
		r.floor = nil
		r.known.acked, r.known.shown = min(r.known.acked, started.LEO), min(r.known.shown, started.LEO)
		if known := r.known.acked; known > started.HW && started.Mode != highwater.Mirroring {
			started.HW = known
			r.partition.tell(partition.Advanced{Epoch: started.Epoch, HW: known})
		}
		r.highwater.tell(started)
		r.tellImage()
	case highwater.StepDown:
		r.floor = nil
		r.highwater.tell(cmd)
	default:
		r.highwater.tell(cmd)
	}
}

func (r *replica) reportDurable(e partition.ReportDurable) {
	self := r.broker.id
	report := highwater.ReportReplica{Replica: self, Epoch: e.Epoch, Term: e.Term, LEO: e.LEO}
	if e.Leader == self {
		r.highwater.tell(report)
		return
	}
	if leader := r.broker.home.replica(e.Leader, r.id); leader != nil {
		leader.highwater.tell(report)
		leader.partition.tell(partition.ReplicaReported{Replica: self, Epoch: e.Epoch, Term: e.Term, LEO: e.LEO})
	}
}

// lag is a question that waits at a leader, as in actors/broker.
type lag struct {
	follower *replica
	question partition.ReadLeaderLog
}

func (r *replica) catchUp(e partition.ReadLeaderLog) {
	leader := r.broker.home.replica(e.Leader, r.id)
	if leader == nil {
		return
	}
	v := leader.view
	if orders.Ahead(e, v) {
		leader.lagging[r.broker.id] = lag{r, e}
		return
	}
	if !v.IsLeader || v.Epoch != e.Epoch {
		return
	}
	r.partition.tell(partition.Replicate{From: e.Leader, Epoch: e.Epoch, Term: e.Term, HW: v.HW, LogStart: v.LogStart, Adopted: core.NoEpoch, SourceHW: core.Unknown,
		Batches: leader.log.read(e.From, v.LEO, catchUpBytes)})
}

func (r *replica) performHighWatermark(f highwater.Effect) {
	p := r.broker.home
	switch e := f.(type) {
	case highwater.Advance:
		if r.view.Role != partition.Mirroring {
			r.known.acked = max(r.known.acked, e.HW)
		}
		r.partition.tell(partition.Advanced(e))
	case highwater.Show:
		r.partition.tell(partition.Shown(e))
	case highwater.Refuse:
		p.site.world.oracle.blames(r, e)
		r.partition.tell(partition.Refused{Epoch: e.Epoch, Refs: e.Refs, Code: e.Code, Text: e.Text})
	case highwater.ChangeAdmission:
		r.partition.tell(partition.AdmissionChanged{Epoch: e.Epoch, Code: e.Code, Text: e.Text, Gated: e.Gated, Closed: e.Closed, R: e.R, H: e.H})
	case highwater.ProposeISR:
		change := controller.ChangeISR{ID: r.id, Leader: r.broker.id, Epoch: e.Epoch, PartitionEpoch: e.PartitionEpoch, ISR: e.ISR}
		if !p.site.world.faults.removing(r, change) {
			p.controller.tell(change)
		}
	case highwater.PublishFloor:
		r.floor = &e
		p.site.world.oracle.floorStated(r, e)
		p.publishFloor(r.id, e)
	case highwater.PublishGates:
		r.publishGates(e)
	case highwater.GateApplied:
		p.registration.tell(reportGate(r.id, e))
	case highwater.ConfirmAddition:
		p.registration.tell(registration.ReportAddition{Key: e.Key, ID: r.id, Epoch: e.Epoch})
	case highwater.NoteStamp:
		r.highwater.tell(highwater.StampDurable{Number: e.Number})
	case highwater.ArmTimer:
	default:
		panic(fmt.Sprintf("sim: unknown high watermark effect %T", f))
	}
}

func (r *replica) isrRefused(e controller.ISRRefused) {
	r.highwater.tell(highwater.ISRRefused{PartitionEpoch: e.PartitionEpoch})
}

// publishGates also tells the ledger of gates that this leader no longer applies: a stop waits for it (F17).
func (r *replica) publishGates(e highwater.PublishGates) {
	p, before := r.broker.home, r.gates
	if len(e.Gates) == 0 {
		r.truth.weak = 0
	}
	r.gates = e
	if before.Epoch == e.Epoch {
		for _, old := range before.Gates {
			if !orders.Applies(e, old) {
				p.registration.tell(reportUngated(r.id, old, r.view.LEO))
			}
		}
	}
	r.reportFence()
	p.inlet.changed(r.id)
}
