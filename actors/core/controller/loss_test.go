package controller

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// R12: a partition whose in-sync replicas are all LOSSY is offline until an operator accepts the loss; then the longest
// of them leads, in an epoch that mirrors hear of as unclean. Nothing is accepted where an intact replica exists.
func TestALossIsAcceptedOnlyWhereThereIsOne(t *testing.T) {
	w := cluster(t, nil)
	accept := func(logs ...ReplicaLog) Done {
		t.Helper()
		return find[Done](t, w.do(AcceptLoss{ID: part, Logs: logs}))
	}
	if d := accept(); d.Code != perr.ElectionNotNeeded {
		t.Fatalf("a healthy partition: %+v", d)
	}
	logs := []ReplicaLog{log(1, 0, 7, true), log(2, 0, 9, true), log(3, 0, 8, false)}
	w.do(RestartCluster{Cluster: "dc1", Brokers: brokersUpTo(3), Logs: logs})
	w.do(StopBroker{Broker: 3, Logs: logs})
	if d := accept(logs...); d.Code != perr.EligibleLeadersNotAvailable {
		t.Fatalf("broker 3 is only stopped: %+v", d)
	}
	if w.p().Leader != core.NoReplica {
		t.Fatalf("led: %s", w.state())
	}
	logs[2].Lossy = true
	w.do(StartBroker{Broker: brokersUpTo(3)[2], Logs: logs})
	w.do(StopBroker{Broker: 3, Logs: logs})
	if w.p().Leader != core.NoReplica {
		t.Fatalf("all are LOSSY, yet %s", w.state())
	}
	before := w.p()
	if d := accept(logs...); d.Code != perr.None {
		t.Fatalf("all are LOSSY: %+v", d)
	}
	if p := w.p(); p.Leader != 2 || p.LastUnclean != p.LeaderEpoch || p.LeaderEpoch <= before.LeaderEpoch || len(p.ISR) != 1 || len(p.Lossy) != 2 {
		t.Fatalf("after the loss was accepted: %s", w.state())
	}
	w.replay()
	if d := accept(logs...); d.Code != perr.ElectionNotNeeded {
		t.Fatalf("a second time: %+v", d)
	}
	if d := find[Done](t, w.do(AcceptLoss{ID: core.PartitionID{Topic: core.TopicID{9}}})); d.Code != perr.UnknownTopicOrPartition {
		t.Fatalf("of no partition: %+v", d)
	}
}
