package sim

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// leads is a replica at the source whose machines do nothing.
func (w *world) leads(id core.PartitionID) *replica {
	p := newProcess(w.sites[0])
	w.sites[0].proc, p.attached = p, true
	p.newest = image.ApplyAll(image.Empty(), []image.Fact{image.TopicChanged{Topic: image.Topic{ID: id.Topic, Partitions: []image.Partition{{Leader: 1, ISR: []core.ReplicaID{1}}}}}})
	r := newReplica(p.brokers[0], id)
	p.brokers[0].replicas[id] = r
	r.highwater.state = r.highwater.spec.machine.Init("x")
	return r
}

// TestAnswersThatAreMissingOrTwiceAreNoticed: I10.
func TestAnswersThatAreMissingOrTwiceAreNoticed(t *testing.T) {
	w := twoSites()
	id := core.PartitionID{Topic: topicID(0)}
	r := w.leads(id)
	a := &attempt{home: r.broker.home, leader: r.broker, one: &sending{}, timeout: 2 * sec}
	w.oracle.begins(a, id)
	w.now = 3 * sec
	w.oracle.overdue(a, id)
	w.wants(t, "I10")
	w.oracle.answers(a, id, partition.AckProduce{})
	w.oracle.overdue(a, id)
	w.wants(t, "")
	w.oracle.answers(a, id, partition.AckProduce{})
	w.wants(t, "I10")
}

// TestWeakAnswersAreNoticed: I08.
func TestWeakAnswersAreNoticed(t *testing.T) {
	w := twoSites()
	r := w.leads(core.PartitionID{Topic: topicID(0)})
	w.oracle.truth(r.id).topHW[0] = 4
	w.oracle.grantedWeakly(&attempt{acks: 1, weak: partition.WeakRefuse}, r, 3)
	w.wants(t, "I08")
	if acks := w.oracle.grantedWeakly(&attempt{acks: 1, weak: partition.WeakUpgrade}, r, 3); acks != -1 {
		t.Errorf("an upgraded answer is one of acks=%d", acks)
	}
	w.wants(t, "")
	w.oracle.grantedWeakly(&attempt{acks: 1, weak: partition.WeakUpgrade}, r, 4)
	w.wants(t, "I08")
	w.oracle.grantedWeakly(&attempt{acks: 1}, r, 4)
	w.oracle.weaklyCounted(r)
	w.wants(t, "I08")
	w.oracle.highwaterEvent(r, highwater.WeakAckCounted{})
	w.oracle.weaklyCounted(r)
	w.wants(t, "")
}

// TestErrorsThatBlameTheWrongOneAreNoticed: I09.
func TestErrorsThatBlameTheWrongOneAreNoticed(t *testing.T) {
	w := twoSites()
	r := w.leads(core.PartitionID{Topic: topicID(0)})
	gates := []highwater.GateState{
		{Key: core.MirrorKey{Cluster: "dc2", Mirror: "near"}, Floor: 90}, {Key: core.MirrorKey{Cluster: "dc3", Mirror: "far"}, Floor: 40},
	}
	now := highwater.Description{Gates: highwater.PublishGates{Gates: gates}}
	w.oracle.blamesMirror(r, now, 50, "near")
	w.wants(t, "I09") // far is slower
	w.oracle.blamesMirror(r, now, 50, "nobody")
	w.wants(t, "I09")
	w.oracle.blamesMirror(r, now, 50, "far")
	w.wants(t, "I09") // its own disk does not reach 50 either
	r.log.disk = []batch.Batch{{BaseOffset: 50, LastOffsetDelta: 1}}
	w.oracle.blamesMirror(r, now, 50, "far")
	w.wants(t, "")
	under := highwater.Refuse{Code: perr.NotEnoughRemoteReplicasAfterAppend, Text: "appended, not committed: mirror from-dc1-to-dc2 of cluster dc2 has 1 in-sync replicas and needs 2"}
	w.oracle.blames(r, under)
	w.wants(t, "I09")
	w.oracle.truth(r.id).under = siteBit(1)
	w.oracle.blames(r, under)
	w.wants(t, "")
	a := &attempt{home: r.broker.home, timeout: 2 * sec, one: &sending{}}
	w.now = sec
	w.oracle.answers(a, r.id, partition.RefuseProduce{Code: perr.RequestTimedOut})
	w.wants(t, "I09") // a second early
}

// TestRecordsNobodySentAreNoticed: I11.
func TestRecordsNobodySentAreNoticed(t *testing.T) {
	w := twoSites()
	id := core.PartitionID{Topic: topicID(0)}
	s := &sending{values: []uint64{5}, crc: 77, open: 1}
	w.oracle.sends(&producer{id: id}, s)
	w.oracle.appeared(w.sites[0], id, batch.Batch{CRC: 77}, 5)
	w.wants(t, "")
	w.oracle.appeared(w.sites[0], id, batch.Batch{CRC: 78}, 5)
	w.wants(t, "I11")
	w.oracle.appeared(w.sites[0], core.PartitionID{Topic: id.Topic, Index: 1}, batch.Batch{CRC: 77}, 5)
	w.wants(t, "I11")
	w.oracle.answers(&attempt{home: &process{site: w.sites[0]}, one: s}, id, partition.RefuseProduce{Code: perr.NotEnoughReplicas})
	w.oracle.appeared(w.sites[0], id, batch.Batch{CRC: 77}, 5)
	w.wants(t, "I11") // the only try was refused before append
}

// TestCommandsOutOfOrderAreNoticed: I37, I39.
func TestCommandsOutOfOrderAreNoticed(t *testing.T) {
	w := twoSites()
	o, d, topic := w.oracle, w.sites[1], topicID(0)
	register := func(g core.Generation, echo core.ReleaseNumber) {
		o.ledgerEvent(registration.TopicRegistered{Cluster: d.id, Topic: topic, Generation: g, Content: registration.CommandRecord{Echo: echo}})
	}
	register(4, 0)
	o.answered(d, topic, 4)
	w.wants(t, "")
	o.ledgerEvent(registration.TopicUnregistered{Cluster: d.id, Topic: topic, Generation: 3})
	w.wants(t, "I39")
	o.releasedAt(d, 9, []core.TopicID{topic})
	register(5, 0)
	w.wants(t, "I37") // it undoes the release
	register(5, 9)
	w.wants(t, "I37") // it guessed the number
	o.key(1, topic).admitted = 0
	o.noted(d, mirror.TopicUnclaimed{Topic: topic, Release: 9})
	register(5, 9)
	w.wants(t, "")
	o.releasedAt(d, 10, nil)
	register(6, 9)
	w.wants(t, "I37") // the whole mirror was released since
}

// TestClaimsAndGatesOfNobodyAreNoticed: I36, I40, I48.
func TestClaimsAndGatesOfNobodyAreNoticed(t *testing.T) {
	w := twoSites()
	o, d := w.oracle, w.sites[1]
	o.wants(d, mirror.TopicDescription{Effective: mirror.TypeSync, Desired: mirror.TypeAsync})
	w.wants(t, "I36")
	gates := []image.Gate{{Key: core.MirrorKey{Cluster: d.id, Mirror: mirrorName(d)}, Epoch: 3}}
	o.orphan(d, mirror.TopicDescription{Phase: mirror.Async}, gates)
	w.wants(t, "I40")
	o.orphan(d, mirror.TopicDescription{Phase: mirror.Sync, Reporting: true}, gates)
	o.orphan(d, mirror.TopicDescription{Phase: mirror.Stopped}, gates)
	w.wants(t, "")
	now := highwater.Description{Leading: true, Gates: highwater.PublishGates{Gates: []highwater.GateState{{Key: gates[0].Key, Epoch: 3}}}}
	o.stillGates(core.PartitionID{}, gates[0], now, 0)
	w.wants(t, "I48")
	gates[0].Epoch = 2
	o.stillGates(core.PartitionID{}, gates[0], now, 0)
	w.wants(t, "")
}
