package controller

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

func TestAStaleISRProposalChangesNothingAndIsToldTheTruth(t *testing.T) {
	good := ChangeISR{ID: part, Leader: 1, Epoch: 0, PartitionEpoch: 0, ISR: []core.ReplicaID{1, 2}}
	bad := map[string]func(*ChangeISR){
		"older partition epoch": func(c *ChangeISR) { c.PartitionEpoch = -1 },
		"newer partition epoch": func(c *ChangeISR) { c.PartitionEpoch = 1 },
		"other leader":          func(c *ChangeISR) { c.Leader = 2 },
		"older leader epoch":    func(c *ChangeISR) { c.Epoch = -1 },
		"without the leader":    func(c *ChangeISR) { c.ISR = []core.ReplicaID{2, 3} },
		"a stranger":            func(c *ChangeISR) { c.ISR = []core.ReplicaID{1, 4} },
		"twice":                 func(c *ChangeISR) { c.ISR = []core.ReplicaID{1, 2, 2} },
		"nobody":                func(c *ChangeISR) { c.ISR = nil },
	}
	for name, spoil := range bad {
		w := cluster(t, nil)
		c := good
		spoil(&c)
		events := len(w.entries)
		effects := w.do(c)
		pub, refused := find[Publish](t, effects), find[ISRRefused](t, effects)
		if len(w.entries) != events || refused.ID != part || len(pub.Facts) != 1 || pub.Facts[0].(image.PartitionChanged).Partition.PartitionEpoch != 0 {
			t.Errorf("%s: %d events, %#v", name, len(w.entries)-events, effects)
		}
	}
	w := cluster(t, nil)
	w.do(good)
	if got, want := w.state(), "leader 1 epoch 0 isr [1 2] lossy [] unclean -1"; got != want || w.p().PartitionEpoch != 1 {
		t.Fatalf("got %s", got)
	}
	w.do(StopBroker{Broker: 3})
	p := w.p()
	effects := w.do(ChangeISR{ID: part, Leader: 1, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: []core.ReplicaID{1, 2, 3}})
	find[ISRRefused](t, effects) // 3 is fenced
	if w.do(ChangeISR{ID: core.PartitionID{Topic: core.TopicID{9}}, Leader: 1, ISR: []core.ReplicaID{1}}) != nil {
		t.Error("a deleted topic has nothing to say")
	}
}

func TestRaisedEpochsKeepTheLeader(t *testing.T) {
	w := cluster(t, nil)
	for _, c := range []struct {
		cmd  RaiseEpoch
		want core.LeaderEpoch
	}{
		{RaiseEpoch{ID: part, Bump: true}, 1},
		{RaiseEpoch{ID: part, Min: 12}, 12},
		{RaiseEpoch{ID: part, Min: 5}, 12},
		{RaiseEpoch{ID: part, Min: 5, Bump: true}, 13},
		{RaiseEpoch{ID: part, Min: 1024, Bump: true}, 1024},
	} {
		effects := w.do(c.cmd)
		told := find[Publish](t, effects).Facts[0].(image.PartitionChanged).Partition
		if got := find[EpochRaised](t, effects).Epoch; got != c.want || told.LeaderEpoch != c.want || told.Leader != 1 {
			t.Errorf("%+v: epoch %d, told %+v", c.cmd, got, told)
		}
	}
	if e := find[EpochRaised](t, w.do(RaiseEpoch{ID: core.PartitionID{Topic: core.TopicID{1}, Index: 3}})); e.Code != perr.UnknownTopicOrPartition {
		t.Errorf("got %+v", e)
	}
}

func TestNoProducerIDIsHandedOutTwice(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		w, used := newWorld(t), map[int64]bool{}
		highest := int64(0)
		for step := range 40 {
			switch r.IntN(6) {
			case 0:
				w.replay()
			case 1: // the control stream is lost back to an older snapshot; the logs know better
				if w.snapshot != nil {
					w.s, _ = Machine().Restore("", w.snapshot)
					w.entries = w.entries[:w.covered]
				}
			}
			got := find[ProducerIDs](t, w.do(AllocateProducerIDs{Count: int64(r.IntN(4)), Above: highest, Prefix: -1<<31 + 77}))
			for id := got.First; id < got.First+got.Count; id++ {
				if used[id] || id < 0 || id>>32 != 77 {
					t.Fatalf("seed %d step %d: id %x", seed, step, id)
				}
				used[id] = true
				highest = max(highest, id) // a batch with the last id of the block was written
			}
		}
	}
}

func TestProducerIDsOfTwoClustersDoNotMeet(t *testing.T) {
	a := find[ProducerIDs](t, newWorld(t).do(AllocateProducerIDs{Count: 10, Prefix: 5}))
	b := find[ProducerIDs](t, newWorld(t).do(AllocateProducerIDs{Count: 10, Prefix: 6, Above: a.First + 9}))
	if a.First+10 > b.First && b.First+10 > a.First {
		t.Fatalf("blocks meet: %+v %+v", a, b)
	}
	if a.First != 5<<32 || b.First != 6<<32 {
		t.Fatalf("blocks start at %x and %x", a.First, b.First)
	}
}

// The world checks its laws after every step of a random life.
func TestARandomLifeKeepsTheLaws(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := newWorld(t)
		w.do(RestartCluster{Cluster: "dc1", Brokers: brokersUpTo(3)})
		anyID := func() core.PartitionID {
			return core.PartitionID{Topic: core.TopicID{byte(1 + r.IntN(4))}, Index: int32(r.IntN(3))}
		}
		logs := func() (out []ReplicaLog) {
			for range r.IntN(12) {
				out = append(out, ReplicaLog{ID: anyID(), Replica: core.ReplicaID(1 + r.IntN(3)), LastEpoch: core.LeaderEpoch(r.IntN(6)),
					LEO: core.Offset(r.IntN(9)), Lossy: r.IntN(4) == 0})
			}
			return out
		}
		for range 80 {
			broker := core.ReplicaID(1 + r.IntN(3))
			switch r.IntN(9) {
			case 0:
				n := 1 + r.IntN(4)
				w.do(CreateTopic{Name: fmt.Sprint("t", n), Fresh: core.TopicID{byte(n)}, Partitions: int32(1 + r.IntN(3)), Replication: int16(1 + r.IntN(3)),
					Config: map[string]string{"unclean.leader.election.enable": fmt.Sprint(r.IntN(2) == 0)}})
			case 1:
				if r.IntN(4) == 0 {
					w.do(DeleteTopic{Name: fmt.Sprint("t", 1+r.IntN(4))})
				}
			case 2:
				w.do(StopBroker{Broker: broker, Logs: logs()})
			case 3, 4:
				w.do(StartBroker{Broker: image.Broker{ID: broker, Lossy: r.IntN(6) == 0}, Logs: logs()})
			case 5:
				w.do(RaiseEpoch{ID: anyID(), Min: core.LeaderEpoch(r.IntN(30)), Bump: r.IntN(2) == 0})
			case 6:
				if r.IntN(3) == 0 {
					all := brokersUpTo(3)
					all[r.IntN(3)].Live = r.IntN(2) == 0
					w.do(RestartCluster{Cluster: "dc1", Brokers: all, Logs: logs()})
				}
			case 7:
				w.replay()
			default:
				id := anyID()
				if _, p, known := w.s.partition(id); known && p.Leader != core.NoReplica {
					isr := []core.ReplicaID{p.Leader}
					for _, r2 := range p.Replicas {
						if r2 != p.Leader && r.IntN(2) == 0 {
							isr = append(isr, r2)
						}
					}
					w.do(ChangeISR{ID: id, Leader: p.Leader, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch - int32(r.IntN(2)), ISR: isr})
				}
			}
		}
		w.replay()
	}
}
