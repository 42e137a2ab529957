package broker

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/retention"
	"lockstep/protocol/batch"
)

// R04: a replica that was the leader before an unclean election holds a longer log, and what its records are is not known
// before its leader has compared it: a key that was deleted meanwhile must not come back with it.
func TestTombstonesWaitForAReplicaThatWasNotCompared(t *testing.T) {
	r := memoryRig(t, 2)
	leader := r.compacts("t", "unclean.leader.election.enable", "true")
	id, first := leader.ID(), leader.broker.id
	second := 3 - first
	r.put(leader, "a=1")
	r.change(func(reply func(any)) { r.StopBroker(second, reply) })
	leader = r.leader(id)
	r.put(leader, "x=1", "x=2", "x=3", "x=4", "x=5")
	r.change(func(reply func(any)) { r.StopBroker(first, reply) })
	r.change(func(reply func(any)) { r.StartBroker(second, reply) })
	leader = r.leader(id)
	r.put(leader, "a", "b=1", "end=1")
	r.becomes(leader, "1:a 2:b=1 3:end=1")

	leader.telling.Lock() // it does not hear that the other one is back
	r.change(func(reply func(any)) { r.StartBroker(first, reply) })
	var back *Replica
	r.eventually("the longer log is there", func() bool {
		var ok bool
		back, ok = r.replica(first, id)
		return ok && back.View().LEO == 6
	})
	for range 5 {
		r.look()
	}
	got := r.shown(leader)
	leader.telling.Unlock()
	if got != "1:a 2:b=1 3:end=1" {
		t.Errorf("nobody has compared the longer log, and what is left is %s", got)
	}
	r.becomes(leader, "2:b=1 3:end=1")
	r.becomes(back, "2:b=1 3:end=1")
}

// A segment that is written to all the time is not young for ever: nothing stays for longer than the greatest lag.
func TestTheGreatestLagEndsASegment(t *testing.T) {
	const hour = int64(3_600_000)
	r := &rig{t: t, manual: true}
	r.inMemory(1)
	answer := make(chan any, 1)
	r.CreateTopic(controller.CreateTopic{Name: "t", Partitions: 1, Replication: 1, Config: map[string]string{
		"cleanup.policy": "compact", "min.compaction.lag.ms": "600000", "max.compaction.lag.ms": "3600000", "min.cleanable.dirty.ratio": "1",
	}}, func(a any) { answer <- a })
	created := (<-answer).(controller.CreatedTopic)
	leader := r.leader(core.PartitionID{Topic: created.Topic.ID})
	topic, _ := r.Newest().Topic(leader.id.Topic)
	rules, compacts := r.Brokers()[0].compactor.rules(r.Newest(), topic)
	if !compacts {
		t.Fatal("the topic is compacted")
	}
	log := &retention.Log{}
	for i := int64(0); i < 5*12; i++ { // one batch in five minutes, for five hours
		log.Add(retention.Batch{Base: core.Offset(i), Last: core.Offset(i), MaxTimestamp: i * hour / 12, Bytes: batch.HeaderLen}, rules.segments)
	}
	if to, due := log.Dirty(0, rules.lag, 5*hour, 60); !due || to < 3*12 {
		t.Errorf("what may be looked at ends at %d of 60, due %v", to, due)
	}
}
