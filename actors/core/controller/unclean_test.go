package controller

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Who allows unclean elections does so because nobody leads: one is held then, of the longest log there is, and not with the
// next broker that comes or goes. Where it is not allowed, or somebody leads, nothing happens.
func TestAllowedUncleanElectionsAreHeld(t *testing.T) {
	w := cluster(t, nil)
	first := w.p().Leader
	var others []core.ReplicaID
	for _, id := range w.p().Replicas {
		if id != first {
			others = append(others, id)
		}
	}
	for _, id := range others {
		w.do(StopBroker{Broker: id})
	}
	w.do(StopBroker{Broker: first})
	for _, id := range others {
		w.do(StartBroker{Broker: brokersUpTo(3)[id-1]})
	}
	logs := []ReplicaLog{{ID: part, Replica: others[0], LastEpoch: 3, LEO: 5}, {ID: part, Replica: others[1], LastEpoch: 3, LEO: 9}}
	before := w.p()
	nothing := func(when string) {
		t.Helper()
		if d := find[Done](t, w.do(ElectUnclean{Logs: logs})); d.Code != perr.None || w.p().Leader != before.Leader || w.p().LeaderEpoch != before.LeaderEpoch {
			t.Fatalf("%s: %+v; %s", when, d, w.state())
		}
	}
	if before.Leader != core.NoReplica {
		t.Fatalf("led by who is not in sync: %s", w.state())
	}
	nothing("not allowed")
	w.do(AlterTopic{ID: part.Topic, Set: map[string]string{uncleanSetting: "true"}})
	w.do(ElectUnclean{Logs: logs})
	after := w.p()
	if after.Leader != others[1] || after.LeaderEpoch <= before.LeaderEpoch || after.LastUnclean != after.LeaderEpoch || len(after.ISR) != 1 || after.ISR[0] != after.Leader {
		t.Fatalf("allowed: %s", w.state())
	}
	before = after
	nothing("led")
	w.replay()
	nothing("after a replay")
}
