package controller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// five is a cluster of five brokers with topic "t" on 1, 2, 3.
func five(t *testing.T) *world {
	w := newWorld(t)
	w.do(RestartCluster{Cluster: "dc1", Brokers: brokersUpTo(5)})
	w.create(CreateTopic{Name: "t", Fresh: core.TopicID{1}, Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {1, 2, 3}}}, 0)
	return w
}

// reassign asks for a target and returns what is asked for in turn, and the code.
func (w *world) reassign(target ...core.ReplicaID) ([]HandOver, perr.Code) {
	w.t.Helper()
	return w.alterReassignment(AlterReassignments{Entries: []ReassignmentAlteration{{ID: part, Target: target}}})
}

func (w *world) alterReassignment(c AlterReassignments) ([]HandOver, perr.Code) {
	w.t.Helper()
	effects := w.do(c)
	r := find[ReassignmentsAnswered](w.t, effects).Results[0]
	if (r.Code == perr.None) != (r.Text == "") {
		w.t.Errorf("code %d says %q", r.Code, r.Text)
	}
	return handOvers(effects), r.Code
}

func handOvers(effects []Effect) (list []HandOver) {
	for _, e := range effects {
		if h, ok := e.(HandOver); ok {
			list = append(list, h)
		}
	}
	return list
}

// inSync is the leader's proposal of an ISR.
func (w *world) inSync(isr ...core.ReplicaID) []HandOver {
	w.t.Helper()
	p := w.p()
	return handOvers(w.do(ChangeISR{ID: part, Leader: p.Leader, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: isr}))
}

func (w *world) replicas() string {
	p := w.p()
	told := w.img.Topics[core.TopicID{1}].Partitions[0]
	return fmt.Sprintf("%v adding %v removing %v isr %v leader %d epoch %d min %d", p.Replicas, told.Adding, told.Removing, p.ISR, p.Leader, p.LeaderEpoch, told.MinISR)
}

func (w *world) want(what, replicas string) {
	w.t.Helper()
	if got := w.replicas(); got != replicas {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, replicas)
	}
	w.replay()
}

func TestReplicasAreAddedThenTakenAway(t *testing.T) {
	w := five(t)
	if h, code := w.reassign(4, 5, 2); code != 0 || h != nil {
		t.Fatalf("%v %v", h, code)
	}
	w.want("begun", "[4 5 2 1 3] adding [4 5] removing [1 3] isr [1 2 3] leader 1 epoch 1 min 2")
	if h := w.inSync(1, 2, 3, 4); h != nil {
		t.Errorf("with one of two in sync: %v", h)
	}
	h := w.inSync(1, 2, 3, 4, 5)
	if len(h) != 1 || h[0] != (HandOver{ID: part, Leader: 1, Epoch: 1}) {
		t.Fatalf("with all in sync: %v", h)
	}
	w.do(FinishReassignment{ID: part, Closed: core.NoReplica})
	w.want("a leader that was not closed stays", "[4 5 2 1 3] adding [4 5] removing [1 3] isr [1 2 3 4 5] leader 1 epoch 1 min 2")
	if again := handOvers(w.do(RestartCluster{Cluster: "dc1", Brokers: brokersUpTo(5)})); len(again) != 1 {
		t.Errorf("after a restart: %v", again)
	}
	leader := w.p().Leader
	w.do(FinishReassignment{ID: part, Closed: leader, Logs: []ReplicaLog{log(2, 0, 7, false), log(4, 0, 7, false), log(5, 0, 9, false)}})
	if leader == 4 {
		w.want("done", "[4 5 2] adding [] removing [] isr [2 4 5] leader 4 epoch 3 min 2")
	} else {
		w.want("done: the longest log leads", "[4 5 2] adding [] removing [] isr [2 4 5] leader 5 epoch 3 min 2")
	}
	// Whoever finds the log of a replica that was taken away drops it, and nobody else's.
	dropped := fmt.Sprint(slices.DeleteFunc(w.do(StartBroker{Broker: image.Broker{ID: 3}, Logs: []ReplicaLog{log(3, 0, 9, false)}}), func(e Effect) bool {
		_, drop := e.(DropReplica)
		return !drop
	}))
	if dropped != fmt.Sprint([]Effect{DropReplica{ID: part, Replica: 3}}) {
		t.Errorf("dropped %s", dropped)
	}
	w.reassign(3, 4, 5)
	for _, e := range w.do(StartBroker{Broker: image.Broker{ID: 3}, Logs: []ReplicaLog{log(3, 0, 9, false)}}) {
		if d, drop := e.(DropReplica); drop {
			t.Errorf("a replica that is to come back is dropped: %+v", d)
		}
	}
}

func TestALeaderThatStaysIsNotClosed(t *testing.T) {
	w := five(t)
	w.reassign(1, 4)
	w.want("begun", "[1 4 2 3] adding [4] removing [2 3] isr [1 2 3] leader 1 epoch 1 min 1")
	h := w.inSync(1, 2, 3, 4)
	if len(h) != 1 || h[0].Leader != core.NoReplica {
		t.Fatalf("%v", h)
	}
	w.do(FinishReassignment{ID: part, Closed: core.NoReplica})
	w.want("done", "[1 4] adding [] removing [] isr [1 4] leader 1 epoch 2 min 1")
}

func TestAReassignmentIsCancelledOrReplaced(t *testing.T) {
	w := five(t)
	if _, code := w.reassign(); code != perr.NoReassignmentInProgress {
		t.Errorf("cancelling nothing: %s", code)
	}
	w.reassign(4, 5, 1)
	w.inSync(1, 2, 3, 4)
	w.reassign(5, 1, 2)
	w.want("replaced", "[5 1 2 4 3] adding [5] removing [4 3] isr [1 2 3 4] leader 1 epoch 2 min 2")
	if h, code := w.reassign(5, 1, 2); code != 0 || h != nil {
		t.Errorf("asked again: %v %s", h, code)
	}
	w.want("as it was", "[5 1 2 4 3] adding [5] removing [4 3] isr [1 2 3 4] leader 1 epoch 2 min 2")
	h, code := w.reassign()
	if code != 0 || len(h) != 1 || h[0].Leader != core.NoReplica {
		t.Fatalf("cancelled: %v %s", h, code)
	}
	w.do(FinishReassignment{ID: part, Closed: core.NoReplica})
	w.want("as before", "[1 2 3] adding [] removing [] isr [1 2 3] leader 1 epoch 4 min 2")
}

func TestATargetThatIsThereNeedsNoMove(t *testing.T) {
	w := five(t)
	if h, code := w.reassign(1, 2, 3); code != 0 || h != nil {
		t.Errorf("%v %s", h, code)
	}
	w.want("nothing", "[1 2 3] adding [] removing [] isr [1 2 3] leader 1 epoch 0 min 2")
	w.reassign(3, 2, 1)
	w.want("another order", "[3 2 1] adding [] removing [] isr [1 2 3] leader 1 epoch 1 min 2")
}

func TestReassignmentsAreRefusedAsKafkaRefusesThem(t *testing.T) {
	w := five(t)
	for _, c := range []struct {
		target []core.ReplicaID
		same   bool
		want   perr.Code
	}{{[]core.ReplicaID{1, 9}, false, perr.InvalidReplicaAssignment}, {[]core.ReplicaID{1, 1}, false, perr.InvalidReplicaAssignment},
		{[]core.ReplicaID{}, false, perr.InvalidReplicaAssignment}, {[]core.ReplicaID{1, 2}, true, perr.InvalidReplicationFactor}} {
		if _, code := w.alterReassignment(AlterReassignments{Entries: []ReassignmentAlteration{{part, c.target}}, SameFactor: c.same}); code != c.want {
			t.Errorf("%v: %s, want %s", c.target, code, c.want)
		}
	}
	if _, code := w.alterReassignment(AlterReassignments{Entries: []ReassignmentAlteration{{core.PartitionID{Topic: core.TopicID{1}, Index: 7}, nil}}}); code != perr.UnknownTopicOrPartition {
		t.Error(code)
	}
	w.want("nothing", "[1 2 3] adding [] removing [] isr [1 2 3] leader 1 epoch 0 min 2")
}

// TestAClosedLeaderLeadsNoMoreInItsEpoch although the reassignment it was closed for cannot end any more (R12).
func TestAClosedLeaderLeadsNoMoreInItsEpoch(t *testing.T) {
	w := five(t)
	w.reassign(4, 2, 3)
	if h := w.inSync(1, 2, 3, 4); len(h) != 1 || h[0].Leader != 1 {
		t.Fatalf("%v", h)
	}
	w.do(StopBroker{Broker: 4}) // meanwhile
	w.do(FinishReassignment{ID: part, Closed: 1, Logs: []ReplicaLog{log(2, 0, 5, false), log(3, 0, 6, false)}})
	w.want("another leads", "[4 2 3 1] adding [4] removing [1] isr [1 2 3] leader 3 epoch 2 min 2")
	w.do(StartBroker{Broker: image.Broker{ID: 4}})
	if h := w.inSync(1, 2, 3, 4); len(h) != 1 || h[0].Leader != core.NoReplica {
		t.Fatalf("%v", h)
	}
	alone := five(t)
	alone.reassign(4)
	alone.inSync(1, 4)
	alone.do(StopBroker{Broker: 4})
	alone.do(FinishReassignment{ID: part, Closed: 1})
	alone.want("nobody else", "[4 1 2 3] adding [4] removing [1 2 3] isr [1] leader 1 epoch 2 min 1")
}

// TestOnlyWhoWasInSyncStays: in random histories no step makes anybody in sync whom no leader proposed, and what was
// acknowledged, which is on every member of the ISR, is on every later leader.
func TestOnlyWhoWasInSyncStays(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := five(t)
		ends := map[core.ReplicaID]core.Offset{1: 0, 2: 0, 3: 0, 4: 0, 5: 0}
		acked := core.Offset(0)
		logs := func() (list []ReplicaLog) {
			for id := core.ReplicaID(1); id <= 5; id++ {
				list = append(list, log(id, w.p().LeaderEpoch, ends[id], false))
			}
			return list
		}
		var asked []HandOver
		for range 40 {
			p := w.p()
			switch r.IntN(7) {
			case 0:
				var target []core.ReplicaID
				for _, id := range r.Perm(5)[:1+r.IntN(4)] {
					target = append(target, core.ReplicaID(id+1))
				}
				h, _ := w.reassign(target...)
				asked = append(asked, h...)
			case 1:
				h, _ := w.reassign()
				asked = append(asked, h...)
			case 2: // a record, on the ISR and acknowledged, or on the leader alone
				if p.Leader == core.NoReplica {
					continue
				}
				ends[p.Leader] = max(ends[p.Leader], acked) + 1
				if r.IntN(2) == 0 {
					acked = ends[p.Leader]
					for _, id := range p.ISR {
						ends[id] = max(ends[id], acked)
					}
				}
			case 3: // a follower catches up and is taken in, or one is put out
				if p.Leader == core.NoReplica {
					continue
				}
				isr := slices.Clone(p.ISR)
				id := p.Replicas[r.IntN(len(p.Replicas))]
				if at := slices.Index(isr, id); at < 0 {
					ends[id] = ends[p.Leader]
					isr = append(isr, id)
				} else if id != p.Leader {
					isr = slices.Delete(isr, at, at+1)
				}
				asked = append(asked, w.inSync(isr...)...)
			case 4:
				asked = append(asked, handOvers(w.do(StopBroker{Broker: core.ReplicaID(1 + r.IntN(5)), Logs: logs()}))...)
			case 5:
				asked = append(asked, handOvers(w.do(StartBroker{Broker: image.Broker{ID: core.ReplicaID(1 + r.IntN(5))}, Logs: logs()}))...)
			case 6:
				if len(asked) > 0 { // also late, and again
					h := asked[r.IntN(len(asked))]
					asked = append(asked, handOvers(w.do(FinishReassignment{ID: h.ID, Closed: h.Leader, Logs: logs()}))...)
				}
			}
			now := w.p()
			for _, id := range now.ISR {
				if !slices.Contains(now.Replicas, id) || ends[id] < acked {
					t.Fatalf("seed %d: %d is in sync of %v with %d of %d acknowledged records", seed, id, now.Replicas, ends[id], acked)
				}
			}
			for _, id := range p.Replicas { // followers cut what their leader does not have
				if now.Leader != core.NoReplica && now.LeaderEpoch > p.LeaderEpoch {
					ends[id] = min(ends[id], ends[now.Leader])
				}
			}
		}
		w.replay()
	}
}
