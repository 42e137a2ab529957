package broker

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/journal"
	"lockstep/journal/memory"
	"lockstep/protocol/perr"
)

func TestAckedRecordsAreReadableAtOnceAndEverywhereSoon(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	for i := range 20 {
		at := r.mustAck(leader, fmt.Sprint(i))
		if at != core.Offset(i) {
			t.Fatalf("record %d at offset %d", i, at)
		}
		if v := leader.View(); v.Coming <= at {
			t.Fatalf("acknowledged %d while HW is %d, and on its way to %d", at, v.HW, v.Coming)
		}
	}
	r.eventually("readers see all of it", func() bool { return leader.View().HW == 20 })
	for _, b := range r.Brokers() {
		replica, _ := b.Replica(id)
		r.eventually("every replica has all records", func() bool { return replica.View().LEO == 20 })
		if got := r.values(replica); len(got) != 20 || got[19] != "19" {
			t.Fatalf("broker %d: %v", b.ID(), got)
		}
	}
}

func TestStoppedLeaderGivesWayTruncatesAndRejoins(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	old := r.leader(id)
	epoch := old.View().Epoch
	r.mustAck(old, "before")
	r.command(r.StopBroker, old.Broker())
	next := r.leader(id)
	if next.Broker() == old.Broker() || next.View().Epoch <= epoch {
		t.Fatalf("leader %d in epoch %d after %d in %d", next.Broker(), next.View().Epoch, old.Broker(), epoch)
	}
	if slices.Contains(r.isr(id), old.Broker()) {
		t.Fatalf("stopped broker %d is in ISR %v", old.Broker(), r.isr(id))
	}
	if f, ok := r.produce(old, -1, "late").(shell.Failed); !ok || f.Code != perr.NotLeaderOrFollower {
		t.Fatalf("stopped leader answered %+v", f)
	}
	r.mustAck(next, "after")
	r.command(r.StartBroker, old.Broker())
	r.eventually("the ISR is whole again", func() bool { return len(r.isr(id)) == 3 })
	r.mustAck(next, "whole")
	back, _ := r.replica(old.Broker(), id)
	r.eventually("the rejoined replica has everything", func() bool { return back.View().LEO == 3 })
	if got := r.values(back); !slices.Equal(got, []string{"before", "after", "whole"}) {
		t.Fatalf("rejoined: %v", got)
	}
}

func TestRestartKeepsWhatWasAckedAndRaisesTheEpoch(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	epoch := leader.View().Epoch
	for i := range 50 {
		r.mustAck(leader, fmt.Sprint(i))
	}
	r.crash()
	leader = r.leader(id)
	if leader.View().Epoch <= epoch {
		t.Fatalf("epoch %d after %d", leader.View().Epoch, epoch)
	}
	r.eventually("HW covers what was acknowledged", func() bool { return leader.View().HW >= 50 })
	if got := r.values(leader); len(got) < 50 || got[49] != "49" {
		t.Fatalf("after the crash: %v", got)
	}
	r.mustAck(leader, "more")
}

func TestPoisonedVolumeLeavesTheISRAndAcksGoOn(t *testing.T) {
	for _, who := range []string{"leader", "follower"} {
		t.Run(who, func(t *testing.T) {
			r := memoryRig(t, 3)
			id := r.create("orders")
			leader := r.leader(id)
			r.mustAck(leader, "before")
			victim := leader.Broker()
			if who == "follower" {
				victim = victim%3 + 1
			}
			r.memory(victim).Poison(errors.New("input/output error"))
			answer := r.produce(leader, -1, "during") // whoever is hurt hears of it by this write
			if who == "leader" {
				if f, ok := answer.(shell.Failed); !ok || f.Code != perr.KafkaStorageError {
					t.Fatalf("poisoned leader answered %+v", answer)
				}
			} else if _, ok := answer.(partition.AckProduce); !ok {
				t.Fatalf("with a poisoned follower: %+v", answer)
			}
			r.eventually("the broker is fenced", func() bool { return !r.Newest().Brokers[victim].Live })
			if slices.Contains(r.isr(id), victim) {
				t.Fatalf("poisoned %d in ISR %v", victim, r.isr(id))
			}
			r.mustAck(r.leader(id), "after")
			if len(r.exits) != 0 {
				t.Fatal("process exit:", <-r.exits)
			}
		})
	}
}

func TestALostVolumeFailsWhoWaitsOnItsOtherPartitions(t *testing.T) {
	r := memoryRig(t, 3)
	quiet := r.create("quiet")
	leader := r.leader(quiet)
	parked := make(chan any, 1)
	leader.Ask(func(ref core.RequestID) partition.Command {
		return partition.ParkFetch{Ref: ref, Until: partition.PositionHW, Beyond: leader.View().HW}
	}, func(a any) { parked <- a })
	r.eventually("the broker leads something else too", func() bool {
		other := r.create(fmt.Sprint("busy", len(r.Newest().Topics)))
		busy := r.leader(other)
		if busy.Broker() != leader.Broker() {
			return false
		}
		r.memory(leader.Broker()).Poison(errors.New("input/output error"))
		_, failed := r.produce(busy, -1, "x").(shell.Failed)
		return failed
	})
	if f, ok := (<-parked).(shell.Failed); !ok || f.Code != perr.KafkaStorageError {
		t.Fatalf("parked on the lost volume: %+v", f)
	}
}

// TestALostVolumeKeepsNoActorOfADeletedTopic: the replica of a topic that was deleted while its volume was lost stayed
// behind, and one of an id that came back took its place on a name and a stream that were still taken (testkit sim, I49
// of seed 0x669086f0b361d9b2).
func TestALostVolumeKeepsNoActorOfADeletedTopic(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	r.mustAck(r.leader(id), "before")
	b := r.Brokers()[0]
	r.memory(b.ID()).Poison(errors.New("input/output error"))
	r.produce(r.leader(id), -1, "during")
	r.eventually("the volume is lost", func() bool { return b.Err() != nil })
	b.drop(id)
	if again := b.ensure(id); again != nil {
		t.Error("a replica stands on a lost volume")
	}
	b.drop(id) // told once more
	b.stopping.wait()
	b.mu.Lock()
	r.stores[0] = memory.New(memory.Options{})
	b.store, b.lost = r.stores[0], nil
	b.mu.Unlock()
	r.eventually("a replica on the volume that came back", func() bool { return b.ensure(id) != nil })
	if len(r.exits) != 0 {
		t.Fatal("process exit:", <-r.exits)
	}
}

// TestABrokerComesBackOnceItsStopIsKnown: while the control quorum took its time to write who leads instead, a broker that was
// started again led by an image of before, and answered readers of its successor that its log ended below them (testkit sim,
// I14 of seed 0xcf749ada154c0f0a).
func TestABrokerComesBackOnceItsStopIsKnown(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	b, _ := r.Broker(r.leader(id).Broker())
	r.control.(*memory.Journal).SetLatency(100 * time.Millisecond)
	var known atomic.Bool
	started := make(chan any, 1)
	r.StopBroker(b.ID(), func(any) { known.Store(true) })
	r.StartBroker(b.ID(), func(a any) { started <- a })
	r.eventually("the replica is back", func() bool { _, back := b.Replica(id); return back })
	if !known.Load() {
		t.Error("the broker has its replicas back before anybody has heard that it stopped")
	}
	if a := (<-started).(controller.Done); a.Code != perr.None {
		t.Fatalf("%+v", a)
	}
}

// TestADropWaitsForTheReplicaThatIsBeingClosed: an actor that had not come to its close yet wrote to streams that a second
// drop, or one of a stopped broker, had removed (testkit sim, I26 of seed 0x1fff6c7290d0188d).
func TestADropWaitsForTheReplicaThatIsBeingClosed(t *testing.T) {
	for name, first := range map[string]func(*rig, *Broker, core.PartitionID){
		"dropped before":     func(_ *rig, b *Broker, id core.PartitionID) { b.drop(id) },
		"its broker stopped": func(r *rig, b *Broker, _ core.PartitionID) { r.StopBroker(b.ID(), func(any) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := memoryRig(t, 3)
			id := r.create("orders")
			leader := r.leader(id)
			r.mustAck(leader, "before")
			b, _ := r.Broker(leader.Broker())
			store, stream := r.memory(b.ID()), journal.Stream(identity(id, b))
			stuck, release := make(chan struct{}), make(chan struct{})
			leader.Ask(func(ref core.RequestID) partition.Command {
				return partition.ParkFetch{Ref: ref, Until: partition.PositionLEO, Beyond: 0}
			}, func(any) { close(stuck); <-release })
			<-stuck
			first(r, b, id)
			b.drop(id)
			behind := make(chan struct{})
			store.Drop("partition/other", func(journal.Seq, error) { close(behind) })
			<-behind
			if names, err := store.Streams(string(stream)); err != nil || len(names) != 1 {
				t.Errorf("with its actor alive the stream is gone: %v, %v", names, err)
			}
			close(release)
			r.eventually("both are done once the actor is", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.dropping[id] == 0
			})
		})
	}
}

// TestABrokerThatStartsHasHeardWhoLeads: with the image of before it was stopped, a broker led again what another led
// since, and a consumer that had read from that one was told that it was out of range (testkit sim, I14 of seed
// 0x28f38aaca537a5be).
func TestABrokerThatStartsHasHeardWhoLeads(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	b, _ := r.Broker(r.leader(id).Broker())
	heard := make(chan struct{})
	b.feed.inbox.Post(func() { <-heard })
	answer := make(chan any, 1)
	r.StopBroker(b.ID(), func(a any) { answer <- a })
	<-answer
	r.eventually("another leads", func() bool { p, _ := r.Newest().Partition(id); return p.Leader > 0 && p.Leader != b.ID() })
	r.StartBroker(b.ID(), func(a any) { answer <- a })
	waited := make(chan struct{})
	b.io.Post(func() { close(waited) }) // behind the first step of the start
	<-waited
	if old, here := b.Replica(id); here {
		t.Errorf("made while its broker has not heard of the new leader: %+v", old.View())
	}
	close(heard)
	if done, ok := (<-answer).(controller.Done); !ok || done.Code != perr.None {
		t.Fatalf("start: %+v", done)
	}
	r.eventually("it follows", func() bool { f, here := b.Replica(id); return here && !f.View().IsLeader && f.View().Epoch > 0 })
}

// alien is a command no machine knows: deciding it panics.
type alien struct{ partition.Command }

func TestPanickedLeaderComesBackInANewEpoch(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	epoch := leader.View().Epoch
	r.mustAck(leader, "before")
	leader.Tell(alien{})
	r.eventually("a new epoch", func() bool { l := r.leader(id); return l.View().Epoch > epoch })
	next := r.leader(id)
	r.mustAck(next, "after")
	if got := r.values(next); got[0] != "before" || got[len(got)-1] != "after" {
		t.Fatalf("%v", got)
	}
}

func TestDeletedTopicTakesItsStreamsAlong(t *testing.T) {
	r := memoryRig(t, 2)
	id := r.create("orders")
	r.mustAck(r.leader(id), "x")
	answer := make(chan any, 1)
	r.DeleteTopic(controller.DeleteTopic{ID: id.Topic}, func(a any) { answer <- a })
	if done := (<-answer).(controller.Done); done.Code != 0 {
		t.Fatalf("%+v", done)
	}
	for i := range r.stores {
		r.eventually("no stream is left", func() bool {
			partitions, _ := r.stores[i].Streams("partition/")
			ledgers, _ := r.stores[i].Streams("ledger/")
			return len(partitions)+len(ledgers) == 0
		})
	}
}

func TestProducerIDsAreDrawnOnceAlsoOverARestart(t *testing.T) {
	r := memoryRig(t, 2)
	seen := map[int64]bool{}
	for range 3 {
		for _, b := range r.Brokers() {
			for range 600 {
				drawn := make(chan int64, 1)
				b.ProducerID(func(id int64, text string) { drawn <- id })
				id := <-drawn
				if id <= 0 || seen[id] {
					t.Fatalf("id %d again, or none", id)
				}
				seen[id] = true
			}
		}
		r.crash()
	}
}

// A start in the middle of a stop: the replicas still had their names and streams, and the broker, with its lock held,
// waited for ever for a second actor on one of them.
func TestAStartWaitsForTheStopThatIsUnderWay(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	r.mustAck(r.leader(id), "before")
	stopped := make(chan any, 10)
	for range cap(stopped) {
		old := r.leader(id).Broker()
		r.StopBroker(old, func(a any) { stopped <- a })
		r.command(r.StartBroker, old)
		if done, ok := (<-stopped).(controller.Done); !ok || done.Code != 0 {
			t.Fatalf("stop: %+v", done)
		}
		r.eventually("the ISR is whole again", func() bool { return len(r.isr(id)) == 3 })
	}
	r.mustAck(r.leader(id), "after")
}

// command runs StopBroker or StartBroker to its end.
func (r *rig) command(f func(core.ReplicaID, func(any)), id core.ReplicaID) {
	r.t.Helper()
	answer := make(chan any, 1)
	f(id, func(a any) { answer <- a })
	select {
	case a := <-answer:
		if done, ok := a.(controller.Done); !ok || done.Code != 0 {
			r.t.Fatalf("broker %d: %+v", id, a)
		}
	case <-time.After(time.Minute):
		r.t.Fatalf("broker %d: no answer for a minute", id)
	}
}
