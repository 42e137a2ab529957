package sim

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

// TestAWriteNobodyMirrorsIsNoticed: C11, and the claim of a topic some partition of which the destination has not.
func TestAWriteNobodyMirrorsIsNoticed(t *testing.T) {
	w := twoSites()
	d := w.sites[1]
	id := core.PartitionID{Topic: topicID(0), Index: 1}
	gate := image.Gate{Key: core.MirrorKey{Cluster: d.id, Mirror: mirrorName(d)}, Epoch: 3}
	topic := image.Topic{ID: id.Topic, Partitions: make([]image.Partition, 1)}
	one := image.ApplyAll(image.Empty(), []image.Fact{image.TopicChanged{Topic: topic},
		image.RegistrationsChanged{ID: id.Topic, Registrations: image.Registrations{Gates: []image.Gate{gate}}}})
	topic.Partitions = make([]image.Partition, 2)
	p := &process{site: w.sites[0], newest: image.ApplyAll(one, []image.Fact{image.TopicChanged{Topic: topic}})}
	w.oracle.grew(p, one, topic)
	truth := w.oracle.truth(id)
	w.oracle.writesTooEarly(truth, p, 0)
	w.wants(t, "I35")

	truth.acks = []ackTruth{{acks: -1, wall: 5}}
	w.oracle.claimed(d, id, 6)
	w.wants(t, "I35")

	w.oracle.grew(&process{site: d, newest: p.newest}, one, topic)
	w.oracle.writesTooEarly(truth, p, 0)
	w.wants(t, "")
	truth.made = 0
	p.newest = image.ApplyAll(p.newest, []image.Fact{image.RegistrationsChanged{ID: id.Topic}})
	w.oracle.writesTooEarly(truth, p, 0)
	w.wants(t, "") // released meanwhile
}
