package controller

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

func TestAProcessStartElectsTheLongestIntactLog(t *testing.T) {
	down := func(ids ...core.ReplicaID) []image.Broker {
		all := brokersUpTo(3)
		for _, id := range ids {
			all[id-1].Live = false
		}
		return all
	}
	cases := []struct {
		name    string
		brokers []image.Broker
		logs    []ReplicaLog
		config  map[string]string
		want    string
		text    string // contained in the partition's text
	}{
		{"equal logs: the preferred leader", down(), []ReplicaLog{log(1, 0, 9, false), log(2, 0, 9, false), log(3, 0, 9, false)}, nil,
			"leader 1 epoch 1 isr [1 2 3] lossy [] unclean -1", ""},
		{"no log at all is an empty one", down(), nil, nil, "leader 1 epoch 1 isr [1 2 3] lossy [] unclean -1", ""},
		{"more records", down(), []ReplicaLog{log(1, 0, 9, false), log(2, 0, 12, false), log(3, 0, 11, false)}, nil,
			"leader 2 epoch 1 isr [1 2 3] lossy [] unclean -1", ""},
		{"a newer epoch beats more records", down(), []ReplicaLog{log(1, 3, 9, false), log(2, 2, 12, false), log(3, 4, 8, false)}, nil,
			"leader 3 epoch 5 isr [1 2 3] lossy [] unclean -1", ""},
		{"the longest is LOSSY", down(), []ReplicaLog{log(1, 0, 9, false), log(2, 0, 12, true), log(3, 0, 11, false)}, nil,
			"leader 3 epoch 1 isr [1 3] lossy [2] unclean -1", ""},
		{"two LOSSY: the short intact one", down(), []ReplicaLog{log(1, 0, 90, true), log(2, 0, 92, true), log(3, 0, 11, false)}, nil,
			"leader 3 epoch 1 isr [3] lossy [1 2] unclean -1", ""},
		{"the intact one is down: wait for it", down(3), []ReplicaLog{log(1, 0, 90, true), log(2, 0, 92, true)}, nil,
			"leader -1 epoch 1 isr [3] lossy [1 2] unclean -1", "clusterctl brokers start 3"},
		{"all LOSSY", down(), []ReplicaLog{log(1, 0, 9, true), log(2, 0, 12, true), log(3, 0, 11, true)}, nil,
			"leader -1 epoch 1 isr [1 2 3] lossy [1 2 3] unclean -1", "every in-sync replica is LOSSY"},
		{"all LOSSY is not healed by an unclean election", down(), []ReplicaLog{log(1, 0, 9, true), log(2, 0, 12, true), log(3, 0, 11, true)},
			map[string]string{"unclean.leader.election.enable": "true"}, "leader -1 epoch 1 isr [1 2 3] lossy [1 2 3] unclean -1", "LOSSY"},
		{"everybody down", down(1, 2, 3), nil, nil, "leader -1 epoch 1 isr [1 2 3] lossy [] unclean -1", "down"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := cluster(t, c.config)
			w.replay()
			w.do(RestartCluster{Cluster: "dc1", Brokers: c.brokers, Logs: c.logs})
			if got := w.state(); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if text := w.p().Text; !strings.Contains(text, c.text) || (text == "") != (c.text == "") {
				t.Errorf("text %q does not say %q", text, c.text)
			}
			w.replay()
		})
	}
}

func TestALOSSYReplicaIsOutUntilALeaderTakesItBack(t *testing.T) {
	w := cluster(t, nil)
	lossy := brokersUpTo(3)
	lossy[0].Lossy = true
	w.do(RestartCluster{Brokers: lossy})
	if got, want := w.state(), "leader 2 epoch 1 isr [2 3] lossy [1] unclean -1"; got != want {
		t.Fatalf("got %s", got)
	}
	// The next start finds no witness against the same torn log: the mark must come from the journal.
	w.do(RestartCluster{Brokers: brokersUpTo(3), Logs: []ReplicaLog{log(1, 5, 99, false), log(2, 0, 3, false)}})
	if got, want := w.state(), "leader 2 epoch 6 isr [2 3] lossy [1] unclean -1"; got != want {
		t.Fatalf("got %s", got)
	}
	w.do(StopBroker{Broker: 2})
	w.do(StopBroker{Broker: 3})
	if got, want := w.state(), "leader -1 epoch 8 isr [3] lossy [1] unclean -1"; got != want {
		t.Fatalf("the LOSSY replica must not lead: %s", got)
	}
	w.do(StartBroker{Broker: image.Broker{ID: 3}})
	p := w.p()
	w.do(ChangeISR{ID: part, Leader: 3, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: []core.ReplicaID{3, 1}})
	if got, want := w.state(), "leader 3 epoch 9 isr [1 3] lossy [] unclean -1"; got != want {
		t.Fatalf("got %s", got)
	}
	w.replay()
}

func TestABrokersLossyMarkGoesWithItsLastLossyReplica(t *testing.T) {
	w := cluster(t, nil)
	w.create(CreateTopic{Name: "u", Fresh: core.TopicID{2}, Partitions: 1, Replication: 3}, 0)
	lossy := brokersUpTo(3)
	lossy[2].Lossy = true
	w.do(RestartCluster{Brokers: lossy})
	for n, want := range []bool{true, false} {
		id := core.PartitionID{Topic: core.TopicID{byte(n + 1)}}
		_, p, _ := w.s.partition(id)
		w.do(ChangeISR{ID: id, Leader: p.Leader, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: []core.ReplicaID{1, 2, 3}})
		if got := w.img.Brokers[3].Lossy; got != want {
			t.Fatalf("after refilling %d of 2 partitions the broker is LOSSY: %v", n+1, got)
		}
	}
}

func TestTheLastMemberStaysInTheISRAndLeadsWhenItReturns(t *testing.T) {
	w := cluster(t, nil)
	w.do(StopBroker{Broker: 1, Text: "stopped by the operator", Logs: []ReplicaLog{log(2, 0, 5, false), log(3, 0, 7, false)}})
	if got, want := w.state(), "leader 3 epoch 1 isr [2 3] lossy [] unclean -1"; got != want {
		t.Fatalf("got %s", got)
	}
	if b := w.img.Brokers[1]; b.Live || b.Text != "stopped by the operator" {
		t.Fatalf("broker 1 is %+v", b)
	}
	w.do(StopBroker{Broker: 2})
	w.do(StopBroker{Broker: 3})
	if got, want := w.state(), "leader -1 epoch 2 isr [3] lossy [] unclean -1"; got != want {
		t.Fatalf("got %s", got)
	}
	w.do(StartBroker{Broker: image.Broker{ID: 1}})
	if got := w.p().Leader; got != core.NoReplica {
		t.Fatalf("broker 1 left the ISR and must not lead, leader %d", got)
	}
	w.do(StartBroker{Broker: image.Broker{ID: 3}})
	if got, want := w.state(), "leader 3 epoch 3 isr [3] lossy [] unclean -1"; got != want {
		t.Fatalf("got %s", got)
	}
	if d := find[Done](t, w.do(StopBroker{Broker: 9})); d.Code == 0 || !strings.Contains(d.Text, "broker 9") {
		t.Fatalf("stopping a broker that is not there answered %+v", d)
	}
}

func TestAnUncleanElectionHappensOnlyWhereTheTopicAllowsItAndIsStated(t *testing.T) {
	for _, allowed := range []string{"false", "true"} {
		w := cluster(t, map[string]string{"unclean.leader.election.enable": allowed})
		p := w.p()
		w.do(ChangeISR{ID: part, Leader: 1, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: []core.ReplicaID{1}})
		w.do(StopBroker{Broker: 1, Logs: []ReplicaLog{log(2, 0, 5, false), log(3, 0, 7, false)}})
		want := map[string]string{
			"false": "leader -1 epoch 1 isr [1] lossy [] unclean -1",
			"true":  "leader 3 epoch 1 isr [3] lossy [] unclean 1",
		}[allowed]
		if got := w.state(); got != want {
			t.Errorf("allowed %s: got %s, want %s", allowed, got, want)
		}
		w.do(RestartCluster{Brokers: brokersUpTo(3)})
		if w.p().LastUnclean != map[string]core.LeaderEpoch{"false": -1, "true": 1}[allowed] {
			t.Errorf("last unclean epoch is not cumulative: %s", w.state())
		}
	}
}
