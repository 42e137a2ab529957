package controller

import (
	"fmt"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func (w *world) grow(c CreatePartitions) Done {
	w.t.Helper()
	return find[Done](w.t, w.do(c))
}

func TestATopicGetsMorePartitions(t *testing.T) {
	w := cluster(t, nil)
	id := w.create(CreateTopic{Name: "orders", Fresh: core.TopicID{2}, Partitions: 2, Replication: 3}, 0).Topic.ID
	before := fmt.Sprint(w.s.topics[id].partitions)
	if d := w.grow(CreatePartitions{ID: id, Count: 5, DryRun: true}); d.Code != 0 || len(w.s.topics[id].partitions) != 2 {
		t.Fatalf("dry run: %+v", d)
	}
	if d := w.grow(CreatePartitions{ID: id, Count: 5}); d.Code != 0 {
		t.Fatalf("answered %+v", d)
	}
	got := w.s.topics[id].partitions
	if len(got) != 5 || fmt.Sprint(got[:2]) != before {
		t.Fatalf("partitions %v, were %v", got, before)
	}
	leaders := map[core.ReplicaID]bool{}
	for i, p := range got {
		leaders[p.Leader] = true
		if int(p.Index) != i || len(p.Replicas) != 3 || len(p.ISR) != 3 {
			t.Errorf("partition %d is %+v", i, p)
		}
	}
	if len(leaders) != 3 {
		t.Errorf("leaders %v do not go round", leaders)
	}
	if told := w.img.Topics[id]; len(told.Partitions) != 5 {
		t.Errorf("brokers know %d partitions", len(told.Partitions))
	}
	if d := w.grow(CreatePartitions{ID: id, Count: 6, Assignment: [][]core.ReplicaID{{3, 1, 2}}}); d.Code != 0 || w.s.topics[id].partitions[5].Leader != 3 {
		t.Errorf("assigned: %+v, %+v", d, w.s.topics[id].partitions[5])
	}
	if d := w.grow(CreatePartitions{ID: id, Count: 4, Mirrored: true}); d.Code != 0 || len(w.s.topics[id].partitions) != 6 {
		t.Errorf("a mirror that asks again: %+v", d)
	}
	w.replay()
}

func TestPartitionsAreRefusedAsKafkaRefusesThem(t *testing.T) {
	w := cluster(t, nil)
	id := w.create(CreateTopic{Name: "orders", Fresh: core.TopicID{2}, Partitions: 2, Replication: 3}, 0).Topic.ID
	for what, c := range map[string]struct {
		cmd  CreatePartitions
		code perr.Code
	}{
		"no such topic":     {CreatePartitions{ID: core.TopicID{99}, Count: 3}, perr.UnknownTopicOrPartition},
		"not more":          {CreatePartitions{ID: id, Count: 2}, perr.InvalidPartitions},
		"too many":          {CreatePartitions{ID: id, Count: maxPartitions + 1}, perr.PolicyViolation},
		"assigned too few":  {CreatePartitions{ID: id, Count: 4, Assignment: [][]core.ReplicaID{{1, 2, 3}}}, perr.InvalidReplicaAssignment},
		"another factor":    {CreatePartitions{ID: id, Count: 3, Assignment: [][]core.ReplicaID{{1, 2}}}, perr.InvalidReplicaAssignment},
		"a broker twice":    {CreatePartitions{ID: id, Count: 3, Assignment: [][]core.ReplicaID{{1, 2, 1}}}, perr.InvalidReplicaAssignment},
		"no such broker":    {CreatePartitions{ID: id, Count: 3, Assignment: [][]core.ReplicaID{{1, 2, 9}}}, perr.InvalidReplicaAssignment},
		"mirrored, no such": {CreatePartitions{ID: core.TopicID{99}, Count: 3, Mirrored: true}, perr.UnknownTopicOrPartition},
	} {
		if d := w.grow(c.cmd); d.Code != c.code || d.Text == "" || len(w.s.topics[id].partitions) != 2 {
			t.Errorf("%s: %+v", what, d)
		}
	}
}
