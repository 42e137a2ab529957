package orders

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
)

// TestAMirrorsStateDecidesTheRole, and with it what HW follows and whether floors are stated.
func TestAMirrorsStateDecidesTheRole(t *testing.T) {
	topic := core.TopicID{7}
	id := core.PartitionID{Topic: topic}
	img := image.ApplyAll(image.Empty(), []image.Fact{
		image.BrokerChanged{Broker: image.Broker{ID: 1, Live: true}},
		image.BrokerChanged{Broker: image.Broker{ID: 2}},
		image.TopicChanged{Topic: image.Topic{ID: topic, Name: "t", Partitions: []image.Partition{{
			Replicas: []core.ReplicaID{1, 2}, ISR: []core.ReplicaID{1}, Leader: 1, LeaderEpoch: 4, MinISR: 1}}}},
	})
	p, _ := img.Partition(id)
	for _, c := range []struct {
		state image.MirrorState
		role  partition.Role
		mode  highwater.Mode
	}{
		{image.MirrorNone, partition.Writable, highwater.Leading},
		{image.MirrorMirroring, partition.Mirroring, highwater.Mirroring},
		{image.MirrorStopping, partition.Stopping, highwater.Stopping},
		{image.MirrorStopped, partition.Writable, highwater.Leading},
	} {
		with := image.Apply(img, image.MirrorTopicChanged{ID: topic, Topic: image.MirrorTopic{Mirror: "dr", State: c.state, Session: 3, Reporting: true, Epoch: 9}})
		lead, applied := Lead(with, id, p), Applied(with, id, p)
		mirrored := c.role != partition.Writable
		if lead.Role != c.role || applied.Mode != c.mode || (lead.Session == 3) != mirrored || applied.MirrorOf.Reporting != mirrored {
			t.Errorf("state %d: %+v %+v", c.state, lead, applied)
		}
		if len(applied.Fenced) != 1 || applied.Fenced[0] != 2 {
			t.Errorf("state %d: fenced %v, broker 2 is not live", c.state, applied.Fenced)
		}
	}
}

// TestABrokersFactTouchesItsPartitionsInOneOrder: a simulation with one seed is the same run every time.
func TestABrokersFactTouchesItsPartitionsInOneOrder(t *testing.T) {
	img := image.Empty()
	for i := range byte(20) {
		img = image.Apply(img, image.TopicChanged{Topic: image.Topic{ID: core.TopicID{i}, Name: string('a' + rune(i)), Partitions: []image.Partition{
			{Replicas: []core.ReplicaID{1}}, {Replicas: []core.ReplicaID{1 + core.ReplicaID(i%2)}}}}})
	}
	list := Touched([]image.Fact{image.BrokerChanged{Broker: image.Broker{ID: 2}}, image.PartitionChanged{ID: core.PartitionID{Topic: core.TopicID{3}, Index: 1}}}, img, img)
	if len(list) != 10 {
		t.Fatalf("%d partitions of broker 2, there are 10", len(list))
	}
	for i, id := range list {
		if id != (core.PartitionID{Topic: core.TopicID{byte(2*i + 1)}, Index: 1}) {
			t.Errorf("place %d: %v", i, id)
		}
	}
}
