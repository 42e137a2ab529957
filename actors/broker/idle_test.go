package broker

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// Each broker forgets producers that were idle for producer.id.expiration.ms, which may change while it runs.
func TestBrokersForgetIdleProducers(t *testing.T) { // T05
	r := &rig{t: t, settings: map[string]string{"producer.id.expiration.check.interval.ms": "5"}}
	r.inMemory(2)
	id := r.create("orders")
	leader := r.leader(id)
	known := func(of *Replica) int {
		answer := make(chan any, 1)
		of.Ask(func(ref core.RequestID) partition.Command { return partition.DescribeProducers{Ref: ref} }, func(a any) { answer <- a })
		return len((<-answer).(partition.ProducersDescribed).Producers)
	}
	write := func(producer int64) {
		b := batch.Build(batch.Batch{ProducerID: producer}, []batch.Record{{Value: []byte("v")}})
		answer := make(chan any, 1)
		leader.Ask(func(ref core.RequestID) partition.Command {
			return partition.AppendBatch{Ref: ref, Batch: b, Acks: -1, Deadline: r.Now().Mono + 5e9}
		}, func(a any) { answer <- a })
		if a, ok := (<-answer).(partition.AckProduce); !ok {
			t.Fatalf("%+v", a)
		}
	}
	for producer := range int64(5) {
		write(producer + 1)
	}
	if n := known(leader); n != 5 {
		t.Fatalf("%d producers are known, want 5", n)
	}
	r.alterBroker(controller.AlterBroker{Broker: leader.Broker(), Set: map[string]string{"producer.id.expiration.ms": "20"}})
	r.eventually("all are forgotten but the one with the highest id", func() bool { return known(leader) == 1 })
	other, _ := r.replica(3-leader.Broker(), id)
	r.eventually("so are they at the follower", func() bool { return known(other) == 1 })
}
