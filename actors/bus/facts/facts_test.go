package facts

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// A floor that was published is the floor that is reported, whichever way it travelled.
func TestAFloorSurvivesItsJourney(t *testing.T) {
	key := core.MirrorKey{Cluster: "dst", Mirror: "dr"}
	sent := highwater.PublishFloor{Mirror: "dr", Epoch: 5, SourceEpoch: 3, SourceIncarnation: core.Incarnation{9}, Incarnation: core.Incarnation{1, 2}, Floor: 100, ISRSize: 2, MinISR: 1, DestEpoch: 20, Seq: 7}
	want := highwater.ReportFloor{Key: key, Epoch: 5, SourceEpoch: 3, SourceIncarnation: core.Incarnation{9}, Incarnation: core.Incarnation{1, 2}, Floor: 100, ISRSize: 2, MinISR: 1, DestEpoch: 20, Seq: 7}
	m := &messages.ReplicaFloors{DestinationCluster: "dst", MirrorName: "dr"}
	ids := []core.PartitionID{{Topic: core.TopicID{1}, Index: 4}, {Topic: core.TopicID{1}, Index: 5}, {Topic: core.TopicID{2}}}
	for _, id := range ids {
		AddFloor(m, id, sent)
	}
	got, err := messages.DecodeBus(messages.EncodeBus(m))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, topic := range got.(*messages.ReplicaFloors).Topics {
		for i := range topic.Partitions {
			if id := (core.PartitionID{Topic: topic.TopicId, Index: topic.Partitions[i].Partition}); id != ids[n] {
				t.Errorf("floor %d is of %v, want %v", n, id, ids[n])
			}
			if r := Report(key, &topic.Partitions[i]); r != want {
				t.Errorf("reported %+v, want %+v", r, want)
			}
			n++
		}
	}
	if n != len(ids) {
		t.Errorf("%d floors arrived, want %d", n, len(ids))
	}
}

func TestEvidenceNamesEpochsGateAndTime(t *testing.T) {
	id := core.PartitionID{Topic: core.TopicID{1}, Index: 4}
	got := Evidence(id, 77, &messages.PartitionEvidence{SourceEpoch: 3, RegistrationEpoch: 5, GateStart: 90, FloorAccepted: 100, TimeMs: 1000, TimeIndex: 8})
	want := mirror.ReportEvidence{ID: id, Sent: 77, Epoch: 5, SourceEpoch: 3, GateStart: 90, Floor: 100, T: mirror.ClaimTime{Clock: 1000, Index: 8}}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
