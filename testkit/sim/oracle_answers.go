package sim

import (
	"fmt"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// attempt is one produce request of a client, from the moment a broker has it.
type attempt struct {
	home    *process
	leader  *broker
	one     *sending
	sent    int64 // true time
	timeout int64
	acks    int16
	answers int
	weak    partition.WeakAcks
	epoch   core.LeaderEpoch // in which its leader gated then; NoEpoch: it did not
	gates   []highwater.GateState
}

// begins notes a request at its broker.
func (o *oracle) begins(a *attempt, id core.PartitionID) {
	a.sent, a.epoch = o.world.now, core.NoEpoch
	a.weak = o.world.options.Topics[id.Topic[1]-1].Weak
	if r := a.leader.replicas[id]; r != nil && r.view.IsLeader && r.gates.Epoch == r.view.Epoch && len(r.gates.Gates) > 0 {
		a.epoch, a.gates = r.view.Epoch, r.gates.Gates
	}
	a.one.open++
}

// waits says that nothing was wrong with the machine since the request came, so that it must be answered in time. A sync that
// a slow disk began goes on for up to ten seconds.
func (a *attempt) waits(id core.PartitionID) bool {
	r := a.leader.replicas[id]
	if w := a.home.site.world; w.healed && a.sent < w.healedAt+15*sec {
		return false // what stood still then may have its next turn later
	}
	if a.home.dead || a.home.pausedUntil > a.sent || a.leader.disk.slow > 0 && a.leader.disk.slow+10*sec > a.sent || a.leader.lost != nil {
		return false
	}
	if _, closing := a.leader.retiring[id]; r == nil && (closing || a.leader.dropping[id] > 0) {
		return false // it is being closed, which may have to wait for its mailbox
	}
	return r == nil || max(r.partition.box.slow, r.partition.box.stuck) <= a.sent && r.highwater.box.slow <= a.sent
}

// overdue is I10, timeoutMs + 1 s after a request came: it was answered, once. One whose machine was slow gets more time.
func (o *oracle) overdue(a *attempt, id core.PartitionID) {
	switch {
	case a.answers == 1 || a.home.dead:
	case a.waits(id) || o.world.now-a.sent > a.timeout+60*sec:
		o.world.found("I10", "a produce to %s of %s was answered %d times in %d ms; it may wait %d", id, a.home.site.id, a.answers, (o.world.now-a.sent)/ms, a.timeout/ms)
	default:
		o.world.after(5*sec, func() { o.overdue(a, id) })
	}
}

// answers is told of every answer to a produce.
func (o *oracle) answers(a *attempt, id core.PartitionID, reply any) {
	if a.answers++; a.answers > 1 {
		o.world.found("I10", "a produce to %s of %s is answered %d times", id, a.home.site.id, a.answers)
	}
	refused, ok := reply.(partition.RefuseProduce)
	if !ok {
		return
	}
	switch refused.Code {
	case perr.RequestTimedOut, perr.MirrorSyncReplicationTimeout:
		if waited := a.home.site.stretch(o.world.now - a.sent); waited < a.timeout*9/10-ms {
			o.world.found("I09", "a produce to %s times out after %d ms of %d: %s", id, waited/ms, a.timeout/ms, refused.Text)
		}
	case perr.NotEnoughReplicas, perr.InvalidRequiredAcks, perr.ReadOnlyTopic, perr.LeaderNotAvailable, perr.UnknownTopicOrPartition:
		a.one.open-- // said before anything was appended
	default:
	}
}

// granted is I08: what acks=1 meets on a partition that gates. It returns the acks that were kept.
func (o *oracle) granted(a *attempt, r *replica, one batch.Batch, base core.Offset) int16 {
	if a.acks == -1 || a.epoch == core.NoEpoch || r.highwater.state == nil {
		return a.acks
	}
	now := highwater.Describe(r.highwater.state)
	if !now.Leading || now.Epoch != a.epoch || !a.gatedSince(now.Gates.Gates) {
		return a.acks
	}
	return o.grantedWeakly(a, r, core.Offset(base)+core.Offset(one.LastOffsetDelta))
}

// gatedSince says that one registration gated all the time: between two of them a batch is appended as if there were none.
func (a *attempt) gatedSince(now []highwater.GateState) bool {
	for _, g := range now {
		for _, was := range a.gates {
			if g.Key == was.Key && g.Epoch == was.Epoch {
				return true
			}
		}
	}
	return false
}

func (o *oracle) grantedWeakly(a *attempt, r *replica, last core.Offset) int16 {
	switch a.weak {
	case partition.WeakRefuse:
		o.world.found("I08", "%s grants acks=%d up to %d, and its topic refuses that while it is gated", r.id, a.acks, last)
	case partition.WeakUpgrade:
		if hw := o.truth(r.id).topHW[r.broker.home.site.index]; hw <= last {
			o.world.found("I08", "%s grants acks=%d up to %d, its topic makes that acks=all, and HW is %d", r.id, a.acks, last, hw)
		}
		return -1
	default:
		r.truth.weak++
	}
	return a.acks
}

// weaklyCounted is the rest of I08, once a run has come to rest: every grant that nothing protects was stamped as such.
func (o *oracle) weaklyCounted(r *replica) {
	if r.truth.weak > 0 {
		o.world.found("I08", "%s: %d answers to acks=1 of %s were given while it was gated, and not stamped UNPROTECTED", r.broker.home.site.id, r.truth.weak, r.id)
	}
}

// blames is I09: an error names who is behind, and why.
func (o *oracle) blames(r *replica, e highwater.Refuse) {
	now := highwater.Describe(r.highwater.state)
	switch e.Code {
	case perr.MirrorSyncReplicationTimeout:
		var base core.Offset
		var name string
		if _, err := fmt.Sscanf(e.Text, "appended at offset %d, not yet durable on %s", &base, &name); err != nil {
			o.world.found("I09", "%s answers %q, which names no mirror", r.id, e.Text)
			return
		}
		o.blamesMirror(r, now, base, name)
	case perr.RequestTimedOut:
		var base core.Offset
		if _, err := fmt.Sscanf(e.Text, "appended at offset %d, not yet durable on the in-sync", &base); err != nil || len(now.Gates.Gates) == 0 {
			return
		}
		for _, member := range now.Replicas {
			if member.LEO < base+mostRecords {
				return
			}
		}
		o.world.found("I09", "%s answers %q, and all its replicas are past that: %v", r.id, e.Text, now.Replicas)
	case perr.NotEnoughRemoteReplicasAfterAppend:
		for _, d := range o.world.sites[1:] {
			if strings.Contains(e.Text, "mirror "+string(mirrorName(d))+" ") && o.truth(r.id).under&siteBit(d.index) != 0 {
				return
			}
		}
		o.world.found("I09", "%s answers %q, and that mirror never had too few in-sync replicas", r.id, e.Text)
	default:
	}
}

func (o *oracle) blamesMirror(r *replica, now highwater.Description, base core.Offset, name string) {
	floor := core.Unknown - 1
	for _, g := range now.Gates.Gates {
		if string(g.Key.Mirror) == name {
			floor = g.Floor
		}
	}
	for _, g := range now.Gates.Gates {
		if g.Floor < floor || floor < core.Unknown {
			o.world.found("I09", "%s names mirror %s for offset %d, and its gates are %v", r.id, name, base, now.Gates.Gates)
			return
		}
	}
	s := r.broker.home.site
	isr, _ := o.electable(s, r.id)
	for _, broker := range isr {
		if end := s.ends(broker, r.id); end <= base {
			o.world.found("I09", "%s names mirror %s for offset %d, and its own in-sync broker %d ends at %d", r.id, name, base, broker, end)
			return
		}
	}
}

// appeared is I11: a record is in a log with the bytes that were sent, in its partition, and not at all if every try was
// refused before it was appended.
func (o *oracle) appeared(s *site, id core.PartitionID, b batch.Batch, v uint64) {
	known := o.values[v]
	switch {
	case known == nil || known.at != id:
		o.world.found("I11", "%s: the value %x is at offset %d of %s, where nobody sent it", s.id, v, b.BaseOffset, id)
	case known.sending.crc != b.CRC:
		o.world.found("I11", "%s: the value %x is at offset %d of %s with other bytes than were sent", s.id, v, b.BaseOffset, id)
	case known.sending.open == 0 && !known.acked:
		o.world.found("I11", "%s: the value %x is at offset %d of %s, and every try to send it was refused before it was appended", s.id, v, b.BaseOffset, id)
	}
}

func (o *oracle) weaklyStamped() {
	for _, s := range o.world.sites {
		p := s.alive()
		if p == nil {
			continue
		}
		for _, id := range sortedPartitions(o.partitions) {
			if r := p.leader(id); r != nil {
				o.weaklyCounted(r)
			}
		}
	}
}
