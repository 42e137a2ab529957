package broker

import (
	"fmt"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
)

var dr = core.MirrorKey{Cluster: "dc2", Mirror: "dr"}

// register lets a destination register a topic and returns its registration epoch.
func (r *rig) register(id core.PartitionID, generation core.Generation) core.RegistrationEpoch {
	r.t.Helper()
	answer := make(chan any, 1)
	r.Registration(func(ref core.RequestID) registration.Command {
		return registration.RegisterTopic{Ref: ref, Key: dr, Topic: id.Topic, Name: "orders", Generation: generation,
			Incarnation: core.Incarnation{1}, MinISR: 1, Path: []core.ClusterID{dr.Cluster}, CanGate: true}
	}, func(a any) { answer <- a })
	a, ok := (<-answer).(registration.RegisterAnswered)
	if !ok || a.Code != 0 {
		r.t.Fatalf("register: %+v", a)
	}
	return a.Epoch
}

func (r *rig) release() {
	r.t.Helper()
	answer := make(chan any, 1)
	r.Registration(func(ref core.RequestID) registration.Command {
		return registration.ReleaseMirror{Ref: ref, Mirror: dr.Mirror}
	}, func(a any) { answer <- a })
	if a, ok := (<-answer).(registration.ReleaseAnswered); !ok || a.Code != 0 {
		r.t.Fatalf("release: %+v", a)
	}
}

// floor is a destination's report that it has everything below upTo.
func (r *rig) floor(id core.PartitionID, re core.RegistrationEpoch, upTo core.Offset, seq int64) {
	r.t.Helper()
	p, _ := r.Newest().Partition(id)
	r.ReportFloor(id, highwater.ReportFloor{Key: dr, Epoch: re, SourceEpoch: p.LeaderEpoch, SourceIncarnation: r.Newest().Incarnation, Incarnation: core.Incarnation{1}, Floor: upTo, ISRSize: 1, MinISR: 1, DestEpoch: 1, Seq: seq})
}

func (r *rig) vouched(id core.PartitionID) bool {
	e, ok := r.Evidence(id)
	return ok && len(e.Gates) == 1
}

// settled waits until a broker has acted on everything published before.
func (r *rig) settled() {
	done := make(chan struct{})
	r.publisher.settle(func() { close(done) })
	<-done
}

func TestALeaderThatHasNotAppliedARegistrationGivesNoEvidence(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	leader.broker.HoldImage(true)
	re := r.register(id, 1)
	r.settled()
	if entry, known := r.Registrations().Look(dr, id.Topic); !known || entry.Epoch != re {
		t.Fatalf("the ledger knows %+v: a fetch must be told 953", entry)
	}
	if r.vouched(id) || len(leader.Gates().Gates) != 0 {
		t.Fatalf("evidence of a gate that nobody applied: %+v", leader.Gates())
	}
	leader.broker.HoldImage(false)
	r.eventually("the leader gates and says so", func() bool { return r.vouched(id) })
	waiting := r.send(leader, -1, "gated")
	r.eventually("the record waits for the mirror", func() bool { return leader.View().LEO == 1 && leader.Gates().HasWaiters })
	r.floor(id, re, 1, 1)
	if ack, ok := (<-waiting).(partition.AckProduce); !ok {
		t.Fatalf("after the floor: %+v", ack)
	}
}

func TestAReleaseEndsEvidenceBeforeTheLeaderHearsOfIt(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	r.register(id, 1)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	waiting := r.send(leader, -1, "gated")
	r.eventually("the record waits for the mirror", func() bool { return leader.Gates().HasWaiters })
	leader.broker.HoldImage(true)
	r.release()
	if r.vouched(id) {
		t.Fatal("evidence after the release was journaled")
	}
	if len(leader.Gates().Gates) != 1 {
		t.Fatalf("the held leader un-gated: %+v", leader.Gates())
	}
	leader.broker.HoldImage(false)
	if ack, ok := (<-waiting).(partition.AckProduce); !ok {
		t.Fatalf("after the release: %+v", ack)
	}
}

func TestALeaderOfAnOlderEpochGivesNoEvidence(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	r.register(id, 1)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	leader.broker.HoldImage(true)
	raised := make(chan any, 1)
	r.RaiseEpoch(controller.RaiseEpoch{ID: id, Bump: true}, func(a any) { raised <- a })
	if a, ok := (<-raised).(controller.EpochRaised); !ok || a.Code != 0 {
		t.Fatalf("%+v", a)
	}
	if r.vouched(id) {
		t.Fatalf("evidence of epoch %d, which is over", leader.Gates().Epoch)
	}
	leader.broker.HoldImage(false)
	r.eventually("the leader gates in its new epoch", func() bool { return r.vouched(id) })
}

func TestAnElectionCarriesEveryRegistrationBeforeIt(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	old := r.leader(id)
	for _, b := range r.Brokers() {
		if b.ID() != old.Broker() {
			b.HoldImage(true)
		}
	}
	re := r.register(id, 1)
	r.eventually("the old leader gates", func() bool { return r.vouched(id) })
	r.command(r.StopBroker, old.Broker())
	next, ok := r.Leader(id)
	if !ok || next.Broker() == old.Broker() || next.View().IsLeader || r.vouched(id) {
		t.Fatalf("a leader that has not heard of its election serves: %+v", next.View())
	}
	for _, b := range r.Brokers() {
		b.HoldImage(false)
	}
	next = r.leader(id)
	waiting := r.send(next, -1, "gated")
	r.eventually("the new leader gates its first record", func() bool { return next.View().LEO == 1 && next.Gates().HasWaiters })
	if len(next.Gates().Gates) != 1 || len(waiting) != 0 {
		t.Fatalf("the new leader acknowledged outside the gate: %+v", next.Gates())
	}
	r.floor(id, re, 1, 2)
	if ack, ok := (<-waiting).(partition.AckProduce); !ok {
		t.Fatalf("after the floor: %+v", ack)
	}
}

func TestFollowersThatHearOfAnElectionFirstNeedNoTick(t *testing.T) {
	r := (&rig{t: t, manual: true}).inMemory(3)
	id := r.create("orders")
	leader := r.leader(id)
	leader.broker.HoldImage(true)
	raised := make(chan any, 1)
	r.RaiseEpoch(controller.RaiseEpoch{ID: id, Bump: true}, func(a any) { raised <- a })
	<-raised
	for _, b := range r.Brokers() {
		if follower, _ := b.Replica(id); follower != leader {
			r.eventually("the follower asks to join the new epoch", func() bool { return follower.View().Epoch == 1 })
		}
	}
	leader.broker.HoldImage(false)
	answer := r.send(r.leader(id), -1, "x")
	r.eventually("an ack, though the clock stands still", func() bool { return len(answer) == 1 })
	if ack, ok := (<-answer).(partition.AckProduce); !ok {
		t.Fatalf("%+v", ack)
	}
}

func TestANewTopicTakesWritesWithoutATick(t *testing.T) {
	r := (&rig{t: t, manual: true}).inMemory(3)
	for i := range 40 {
		answer := r.send(r.leader(r.create(fmt.Sprint("topic", i))), -1, "x")
		r.eventually("an ack, though the clock stands still", func() bool { return len(answer) == 1 })
		if ack, ok := (<-answer).(partition.AckProduce); !ok {
			t.Fatalf("%+v", ack)
		}
	}
}

func TestRegistrationsAndLedgersSurviveARestart(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	re := r.register(id, 1)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	r.crash()
	leader := r.leader(id)
	waiting := r.send(leader, -1, "gated")
	r.eventually("the record waits for the mirror again", func() bool { return leader.Gates().HasWaiters })
	if len(waiting) != 0 {
		t.Fatalf("acknowledged outside the gate: %+v", <-waiting)
	}
	r.floor(id, re, leader.View().LEO, 1)
	if ack, ok := (<-waiting).(partition.AckProduce); !ok {
		t.Fatalf("after the floor: %+v", ack)
	}
}

func TestATopicMadeAgainUnderItsIDStartsEmpty(t *testing.T) {
	r := memoryRig(t, 2)
	topic := core.TopicID{7}
	id := core.PartitionID{Topic: topic}
	for range 3 {
		answer := make(chan any, 1)
		r.CreateTopic(controller.CreateTopic{ID: topic, Name: "orders", Partitions: 1, Replication: -1, Mirrored: true}, func(a any) { answer <- a })
		if created := (<-answer).(controller.CreatedTopic); created.Code != 0 {
			t.Fatalf("%+v", created)
		}
		leader := r.leader(id)
		if v := leader.View(); v.LEO != 0 {
			t.Fatalf("the new log begins with %d records", v.LEO)
		}
		r.mustAck(leader, "x")
		r.DeleteTopic(controller.DeleteTopic{ID: topic}, func(a any) { answer <- a })
		if done := (<-answer).(controller.Done); done.Code != 0 {
			t.Fatalf("%+v", done)
		}
	}
}

// I41: the order to drop a replica may overtake the image, and what is gone must not come back without its log.
func TestADeletedPartitionDoesNotComeBackEmpty(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	b := leader.broker
	b.HoldImage(true)
	answer := make(chan any, 1)
	r.DeleteTopic(controller.DeleteTopic{ID: id.Topic}, func(a any) { answer <- a })
	if a, ok := (<-answer).(controller.Done); !ok || a.Code != 0 {
		t.Fatalf("delete: %+v", a)
	}
	r.eventually("the streams are dropped", func() bool {
		b.mu.RLock()
		defer b.mu.RUnlock()
		return b.replicas[id] != leader && len(b.dropping) == 0
	})
	r.settled()
	if again, made := b.Replica(id); made {
		t.Errorf("a deleted partition leads again, with a log that ends at %d", again.View().LEO)
	}
	b.HoldImage(false)
	r.settled()
	if _, made := b.Replica(id); made {
		t.Error("it is there after the image followed")
	}
}
