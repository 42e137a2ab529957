package controller

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Leaders stay where they are until their broker stops, so somebody must be able to bring them back.
func TestThePreferredLeaderIsElectedWhenItIsInSync(t *testing.T) {
	w := cluster(t, nil)
	elect := func(want perr.Code) {
		t.Helper()
		if d := find[Done](t, w.do(ElectPreferred{ID: part})); d.Code != want {
			t.Fatalf("%+v, want %v; %s", d, want, w.state())
		}
	}
	elect(perr.ElectionNotNeeded)
	first := w.p().Leader
	w.do(StopBroker{Broker: first})
	elect(perr.PreferredLeaderNotAvailable)
	w.do(StartBroker{Broker: brokersUpTo(3)[first-1]})
	elect(perr.PreferredLeaderNotAvailable) // up, and not in the ISR
	p := w.p()
	w.do(ChangeISR{ID: part, Leader: p.Leader, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: p.Replicas})
	before := w.p()
	elect(perr.None)
	after := w.p()
	if after.Leader != first || after.LeaderEpoch != before.LeaderEpoch+1 || after.LastUnclean != before.LastUnclean || len(after.ISR) != len(before.ISR) {
		t.Fatalf("after the election: %s", w.state())
	}
	w.replay()
	elect(perr.ElectionNotNeeded)
	if d := find[Done](t, w.do(ElectPreferred{ID: core.PartitionID{Topic: core.TopicID{9}}})); d.Code != perr.UnknownTopicOrPartition {
		t.Fatalf("of no partition: %+v", d)
	}
}
