package sim

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/invariants"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// oracle sees everything in its true order and says what must never have happened.
type oracle struct {
	world      *world
	partitions map[core.PartitionID]*truth
	values     map[uint64]*valueTruth
	moves      map[moveKey]*moveTruth
	keys       map[moveKey]*keyTruth
	wholly     map[int]core.ReleaseNumber // newest release of a whole mirror, by site
	counts     Counts
}

// truth is what is known of one partition over all clusters that hold it.
type truth struct {
	id    core.PartitionID
	acks  []ackTruth
	sites []siteTruth                         // by site
	seen  []map[core.Offset]invariants.Digest // by site: what consumers were shown
	topHW []core.Offset                       // by site: the highest HW any of its leaders decided

	gone  uint8        // sites that deleted it: what is left of it there owes nothing
	under uint8        // sites whose in-sync replicas were ever too few
	made  uint8        // sites at which it exists, or did: a bit each
	born  []image.Gate // who gated its topic when it was added

	committed [][]commit // by site: what its high watermarks passed, in order

	deleted []core.Offset // by site: below it clients have deleted what it holds, or its source had
}

// siteTruth is what one cluster owes of a partition.
type siteTruth struct {
	forked   core.Offset // where its own history begins after mirroring ended; Unknown while it follows
	claimed  int         // acks of the source below this index were covered by a claim
	diverged bool
	dup      bool // producer state was dropped here: a retry may be appended twice
}

// ackTruth is one acknowledged batch.
type ackTruth struct {
	base, last core.Offset
	digest     invariants.Digest
	acks       int16
	site       int
	wall       int64
	owed       uint8 // sites that must hold it: a bit each
}

// valueTruth is what happened to one record.
type valueTruth struct {
	acked      bool // to the client, acks=all
	duplicates bool // its producer may write it twice
	sending    *sending
	at         core.PartitionID
}

// replicaTruth is what is kept beside a replica.
type replicaTruth struct {
	stamps  []stampTruth // of the HW's leader epoch: up to where which gates counted
	checked core.Offset  // what it shows was compared up to here
	stated  core.Offset
	statedE core.LeaderEpoch
	statedI core.Incarnation
	weak    int // answers to acks=1 under a gate that are not stamped yet
}

type stampTruth struct {
	to    core.Offset
	gates uint8
}

func newOracle(w *world) *oracle {
	return &oracle{world: w, partitions: map[core.PartitionID]*truth{}, values: map[uint64]*valueTruth{}, moves: map[moveKey]*moveTruth{},
		keys: map[moveKey]*keyTruth{}, wholly: map[int]core.ReleaseNumber{}}
}

func (o *oracle) truth(id core.PartitionID) *truth {
	t := o.partitions[id]
	if t == nil {
		t = &truth{id: id}
		for range o.world.sites {
			t.sites = append(t.sites, siteTruth{forked: core.Unknown})
			t.topHW = append(t.topHW, 0)
			t.committed = append(t.committed, nil)
			t.deleted = append(t.deleted, 0)
			t.seen = append(t.seen, map[core.Offset]invariants.Digest{})
		}
		o.partitions[id] = t
	}
	return t
}

// digest stands for the bytes of a batch: its CRC covers all but offset and epoch.
func digest(b batch.Batch) invariants.Digest {
	return invariants.Digest(splitmix(uint64(b.CRC)<<32 ^ splitmix(uint64(b.BaseOffset)<<20^uint64(uint32(b.LeaderEpoch))) ^ uint64(uint32(b.LastOffsetDelta))))
}

func siteBit(i int) uint8 { return 1 << i }

// lineage is whose leader epochs stand in a log at an offset: a mirror's log is the source's up to its fence.
func (t *truth) lineage(site int, at core.Offset) int {
	if site == 0 || t.sites[site].forked != core.Unknown && at >= t.sites[site].forked {
		return site
	}
	return 0
}

func (o *oracle) sends(p *producer, s *sending) {
	for _, v := range s.values {
		o.values[v] = &valueTruth{duplicates: !p.idempotent, sending: s, at: p.id}
	}
}

func (o *oracle) clientAcked(p *producer, s *sending, _ core.Offset) {
	if p.acks != -1 {
		return
	}
	for _, v := range s.values {
		o.values[v].acked = true
	}
}

// acked is a success that leaves a broker. Whatever the ack rests on must be on disk now (I01, I02, I06).
func (o *oracle) acked(r *replica, one batch.Batch, acks int16, base core.Offset) {
	w := o.world
	t := o.truth(r.id)
	site := r.broker.home.site
	if t.gone&siteBit(site.index) != 0 {
		return
	}
	o.counts.Acked++
	if base+core.Offset(one.LastOffsetDelta) < t.goneBelow(site.index) {
		return // it was deleted before its ack left: nobody owes it
	}
	if now, known := r.broker.home.newest.Partition(r.id); acks != -1 && known && now.Leader != r.broker.id {
		return // append and cut were one sync: as with Kafka, acks=1 vouches for nothing that outlives its leader
	}
	i := find(r.log.disk, base)
	if i == len(r.log.disk) || core.Offset(r.log.disk[i].BaseOffset) != base {
		w.found("I06", "%s acked offset %d of %s, which is not on its own disk", r.partition.spec.id, base, r.id)
		return
	}
	b := r.log.disk[i]
	if b.CRC != one.CRC {
		w.found("I07", "%s acked offset %d of %s, where another batch is", r.partition.spec.id, base, r.id)
		return
	}
	a := ackTruth{base: base, last: core.Offset(b.LastOffset()), digest: digest(b), acks: acks, site: site.index, wall: site.wall()}
	w.mix(uint64(a.digest))
	if acks == -1 {
		a.owed = siteBit(site.index) | r.stampOf(a.last)
		if a.owed&^siteBit(site.index) != 0 {
			o.counts.AckedSync++
		}
		if hw := t.topHW[site.index]; hw <= a.last {
			w.found("I15", "%s acked up to %d with HW %d", r.partition.spec.id, a.last, hw)
		}
	}
	if w.tells {
		w.say("%s acks %d..%d of %s to %d, owed to sites %03b", site.id, a.base, a.last, r.id, acks, a.owed)
	}
	t.acks = append(t.acks, a)
	o.ackedAfterMove(t, &a)
	o.writesTooEarly(t, r.broker.home, base)
	for s := range w.sites {
		if a.owed&siteBit(s) != 0 {
			o.checkAck(t, &a, s, "when it was acknowledged")
		}
	}
}

// stampOf is which gates the HW had passed that covered an offset.
func (r *replica) stampOf(at core.Offset) uint8 {
	for i := len(r.truth.stamps) - 1; i >= 0; i-- {
		if i == 0 || r.truth.stamps[i-1].to <= at {
			if r.truth.stamps[i].to > at {
				return r.truth.stamps[i].gates
			}
			return 0
		}
	}
	return 0
}

// electable lists who could lead a partition of a cluster now: the committed ISR.
func (o *oracle) electable(s *site, id core.PartitionID) (list []core.ReplicaID, ok bool) {
	if s.proc == nil || s.gone {
		return nil, false
	}
	p, known := s.proc.newest.Partition(id)
	return s.intact(p.ISR), known
}

// onDisk is what a broker of a site durably holds of a partition.
func (s *site) onDisk(broker core.ReplicaID, id core.PartitionID) []batch.Batch {
	if st := s.volumes[broker-1].streams[s.stream(broker, id)]; st != nil {
		return st.disk
	}
	return nil
}

func (o *oracle) checkAck(t *truth, a *ackTruth, site int, when string) {
	s := o.world.sites[site]
	isr, ok := o.electable(s, t.id)
	if !ok {
		return
	}
	for _, broker := range isr {
		o.holds(t, a, s, broker, when)
	}
}

func (o *oracle) holds(t *truth, a *ackTruth, s *site, broker core.ReplicaID, when string) bool {
	if a.last < t.goneBelow(s.index) {
		return true
	}
	list := s.onDisk(broker, t.id)
	i := find(list, a.base)
	if i < len(list) && core.Offset(list[i].BaseOffset) == a.base && digest(list[i]) == a.digest {
		return true
	}
	end := core.Offset(0)
	if n := len(list); n > 0 {
		end = core.Offset(list[n-1].LastOffset()) + 1
	}
	what := "which ends at"
	if i < len(list) {
		what = "which holds other bytes there and ends at"
	}
	o.world.found("I01", "the batch %d..%d of %s, acknowledged by %s, is not on %s/broker-%d, %s %d (%s)",
		a.base, a.last, t.id, o.world.sites[a.site].id, s.id, broker, what, end, when)
	return false
}

// checkMember compares everything that a site owes with one replica of it.
func (o *oracle) checkMember(t *truth, s *site, broker core.ReplicaID, when string) {
	for i := range t.acks {
		if a := &t.acks[i]; a.owed&siteBit(s.index) != 0 && !o.holds(t, a, s, broker, when) {
			return
		}
	}
}

// published compares an image with the one before: whoever became electable must hold all that is owed.
func (o *oracle) published(p *process, before *image.Image, facts []image.Fact) {
	for _, fact := range facts {
		var ids []core.PartitionID
		switch f := fact.(type) {
		case image.PartitionChanged:
			ids = []core.PartitionID{f.ID}
		case image.TopicGone:
			if t, known := before.Topic(f.ID); known {
				o.deleted(p.site, *t)
			}
			continue
		case image.TopicChanged:
			ids = partitionsOf(f.Topic)
			o.grew(p, before, f.Topic)
		default:
			continue
		}
		for _, id := range ids {
			was, _ := before.Partition(id)
			now, _ := p.newest.Partition(id)
			if len(was.Removing) > 0 && len(now.Removing) == 0 {
				o.counts.Moved += len(was.Removing)
				if slices.Contains(was.Removing, was.Leader) {
					o.counts.HandedOver++
				}
			}
			if now.LeaderEpoch != was.LeaderEpoch {
				o.counts.Elections++
				o.world.say("%s: broker %d leads %s in epoch %d, ISR %v", p.site.id, now.Leader, id, now.LeaderEpoch, now.ISR)
			} else if !slices.Equal(now.ISR, was.ISR) {
				o.world.say("%s: ISR of %s is %v", p.site.id, id, now.ISR)
			}
			t := o.truth(id)
			if len(now.ISR) < int(now.MinISR) {
				t.under |= siteBit(p.site.index)
			}
			for _, broker := range now.ISR {
				if now.Leader != was.Leader || !slices.Contains(was.ISR, broker) {
					o.checkMember(t, p.site, broker, "when it became electable")
				}
			}
		}
	}
}

func (o *oracle) partitionEvent(r *replica, ev partition.Event) {
	switch e := ev.(type) {
	case partition.LogTruncated:
		o.counts.Truncations++
		o.world.say("%s %s cuts %s from %d to %d", r.broker.home.site.id, r.broker.name(), r.id, e.From, e.To)
		o.truncated(r, e)
	case partition.SourceEpochAdopted:
		o.world.say("%s %s adopts source epoch %d for %s", r.broker.home.site.id, r.broker.name(), e.SourceEpoch, r.id)
	case partition.LogStartAdvanced:
		o.starts(r, e.To, e.Reason == partition.ReasonClient)
	case partition.LogStartedAt:
		o.starts(r, e.Start, false)
	case partition.BatchAppended, partition.LeaderEpochBegan, partition.SourceHighWatermarkTracked, partition.MirroringFenced:
	default: // volatile
	}
}

func (o *oracle) highwaterEvent(r *replica, ev highwater.Event) {
	t, site := o.truth(r.id), r.broker.home.site.index
	if t.gone&siteBit(site) != 0 {
		return
	}
	switch e := ev.(type) {
	case highwater.LeaderBegan:
		r.truth = replicaTruth{stated: core.Unknown, checked: r.truth.checked}
		if e.Started.Mode != highwater.Mirroring {
			o.leads(t, r)
		}
	case highwater.WeakAckCounted:
		r.truth.weak--
	case highwater.HighWatermarkAdvanced:
		if v := invariants.HighWatermarkKept(r.highwater.spec.id, e.From, e.To); v != nil {
			o.world.found(v.ID, "%s", v.Text)
		}
		// A destination that opens counts what all its electable replicas hold, however few they are (R8).
		if p, known := r.broker.home.newest.Partition(r.id); known && site == 0 && len(e.Replicas) < int(p.MinISR) {
			o.world.found("I06", "HW of %s moved to %d on %d replicas, below min.insync.replicas %d", r.highwater.spec.id, e.To, len(e.Replicas), p.MinISR)
		}
		gates := uint8(0)
		for _, g := range e.Gates {
			if g.Floor == core.Unknown {
				o.world.found("I05", "HW of %s moved to %d while mirror %s/%s has not reported", r.highwater.spec.id, e.To, g.Cluster, g.Mirror)
			} else if g.Floor < e.To {
				o.world.found("I16", "HW of %s moved to %d above the floor %d of %s/%s", r.highwater.spec.id, e.To, g.Floor, g.Cluster, g.Mirror)
			}
			for _, s := range o.world.sites {
				if s.id == g.Cluster {
					gates |= siteBit(s.index)
				}
			}
		}
		if n := len(r.truth.stamps); n > 0 && r.truth.stamps[n-1].gates == gates {
			r.truth.stamps[n-1].to = e.To
		} else {
			r.truth.stamps = append(r.truth.stamps, stampTruth{e.To, gates})
		}
		t.topHW[site] = max(t.topHW[site], e.To)
		o.commits(t, r, site, e.From, e.To)
	case highwater.HighWatermarkFollowed:
		if e.To > t.topHW[0] {
			o.world.found("I19", "%s shows HW %d of the mirrored %s; the source has committed up to %d", r.broker.home.site.id, e.To, r.id, t.topHW[0])
		}
		t.topHW[site] = max(t.topHW[site], e.To)
		o.commits(t, r, site, 0, e.To)
	default: // nothing the outside could see
	}
}

// view checks what readers are shown.
func (o *oracle) view(r *replica, before, now partition.View) {
	if o.truth(r.id).gone&siteBit(r.broker.home.site.index) != 0 {
		return
	}
	if now.HW > now.LEO {
		o.world.found("I15", "%s shows HW %d above its end %d", r.partition.spec.id, now.HW, now.LEO)
	}
	o.shows(r, now.HW)
	if before.IsLeader && now.IsLeader && before.Epoch == now.Epoch && before.Adopted == now.Adopted {
		if v := invariants.HighWatermarkKept(r.partition.spec.id, before.HW, now.HW); v != nil {
			o.world.found(v.ID, "%s", v.Text)
		}
	}
	if !r.viewed {
		r.viewed = true
		o.world.viewed = append(o.world.viewed, r)
	}
}
