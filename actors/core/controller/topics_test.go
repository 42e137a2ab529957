package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

func TestCreateTopicAnswersWhatKafkaAnswers(t *testing.T) {
	id := core.TopicID{7}
	cases := []struct {
		name string
		c    CreateTopic
		code perr.Code
		text string
	}{
		{"empty name", CreateTopic{Name: ""}, perr.InvalidTopicException, "empty"},
		{"dot", CreateTopic{Name: ".."}, perr.InvalidTopicException, "directory"},
		{"too long", CreateTopic{Name: strings.Repeat("x", 250)}, perr.InvalidTopicException, "249"},
		{"longest", CreateTopic{Name: strings.Repeat("x", 249), Partitions: -1, Replication: -1}, 0, ""},
		{"bad character", CreateTopic{Name: "a b"}, perr.InvalidTopicException, `' '`},
		{"not ASCII", CreateTopic{Name: "ä"}, perr.InvalidTopicException, "a-z"},
		{"internal", CreateTopic{Name: "__cluster_metadata"}, perr.InvalidTopicException, "internal"},
		{"internal offsets", CreateTopic{Name: "__consumer_offsets"}, perr.InvalidTopicException, "internal"},
		{"collides in . and _", CreateTopic{Name: "a.b", Partitions: 1, Replication: 1}, perr.InvalidTopicException, "a_b"},
		{"exists", CreateTopic{Name: "t", Partitions: 1, Replication: 1}, perr.TopicAlreadyExists, "t already exists"},
		{"no partitions", CreateTopic{Name: "n", Partitions: 0, Replication: 1}, perr.InvalidPartitions, "0 partitions"},
		{"negative partitions", CreateTopic{Name: "n", Partitions: -2, Replication: 1}, perr.InvalidPartitions, "-2"},
		{"absurd partitions", CreateTopic{Name: "n", Partitions: 1 << 30, Replication: 1}, perr.PolicyViolation, "10000"},
		{"no replicas", CreateTopic{Name: "n", Partitions: 1, Replication: 0}, perr.InvalidReplicationFactor, "0"},
		{"more replicas than brokers", CreateTopic{Name: "n", Partitions: 1, Replication: 4}, perr.InvalidReplicationFactor, "number of brokers, 3"},
		{"unknown setting", CreateTopic{Name: "n", Partitions: 1, Replication: 1, Config: map[string]string{"retention": "1"}}, perr.InvalidConfig, `"retention"`},
		{"bad setting", CreateTopic{Name: "n", Partitions: 1, Replication: 1, Config: map[string]string{"retention.ms": "-2"}}, perr.InvalidConfig, "retention.ms=-2 is outside -1"},
		{"broker setting", CreateTopic{Name: "n", Partitions: 1, Replication: 1, Config: map[string]string{"num.partitions": "2"}}, perr.InvalidConfig, "--set num.partitions=2"},
		{"weak acks misspelt", CreateTopic{Name: "n", Partitions: 1, Replication: 1, Config: map[string]string{"lockstep.weak.acks": "deny"}}, perr.InvalidConfig, "allow, refuse, upgrade"},
		{"assignment and numbers", CreateTopic{Name: "n", Partitions: 1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {1}}}, perr.InvalidRequest, "must be -1"},
		{"assignment with a gap", CreateTopic{Name: "n", Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{1: {1}}}, perr.InvalidReplicaAssignment, "0 is missing"},
		{"unknown broker", CreateTopic{Name: "n", Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {1, 8}}}, perr.InvalidReplicaAssignment, "broker 8"},
		{"broker twice", CreateTopic{Name: "n", Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {1, 1}}}, perr.InvalidReplicaAssignment, "twice"},
		{"uneven", CreateTopic{Name: "n", Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {1, 2}, 1: {1}}}, perr.InvalidReplicaAssignment, "same number"},
		{"empty assignment", CreateTopic{Name: "n", Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{}}, perr.InvalidPartitions, "no partition"},
		{"mirrored: same name, other id", CreateTopic{Name: "t", ID: id, Mirrored: true, Partitions: 1}, perr.InconsistentTopicId, id.String()},
		{"mirrored: same id, other name", CreateTopic{Name: "n", ID: core.TopicID{1}, Mirrored: true, Partitions: 1}, perr.InconsistentTopicId, "belongs to topic t"},
		{"mirrored: here already", CreateTopic{Name: "t", ID: core.TopicID{1}, Mirrored: true, Partitions: 1}, perr.TopicAlreadyExists, "already exists"},
		{"mirrored: no id", CreateTopic{Name: "n", Mirrored: true, Partitions: 1}, perr.InvalidRequest, "id"},
		{"mirrored: unknown settings are left out", CreateTopic{Name: "n", ID: id, Mirrored: true, Partitions: 2, Replication: 1,
			Config: map[string]string{"new.thing": "1", "retention.ms": "5"}}, 0, "new.thing=1"},
		{"even replication", CreateTopic{Name: "n", Partitions: 1, Replication: 2}, 0, ""},
	}
	for _, c := range cases {
		for _, validate := range []bool{true, false} {
			w := cluster(t, nil)
			w.create(CreateTopic{Name: "a_b", Fresh: core.TopicID{2}, Partitions: 1, Replication: 1}, 0)
			c.c.Fresh, c.c.ValidateOnly = core.TopicID{3}, validate
			before := len(w.entries)
			a := find[CreatedTopic](t, w.do(c.c))
			if a.Code != c.code || !strings.Contains(a.Text, c.text) {
				t.Errorf("%s: %v %q, want %v with %q", c.name, a.Code, a.Text, c.code, c.text)
			}
			if made := len(w.entries) - before; (made == 1) != (c.code == 0 && !validate) {
				t.Errorf("%s, validate only %v: %d events", c.name, validate, made)
			}
			if _, known := w.img.TopicNamed("n"); known && (validate || c.code != 0) {
				t.Errorf("%s: the topic was made", c.name)
			}
			if c.code == perr.InconsistentTopicId && c.c.Name == "t" && !strings.Contains(a.Text, (core.TopicID{1}).String()) {
				t.Errorf("%s: %q does not name both ids", c.name, a.Text)
			}
			if c.name == "mirrored: here already" && len(a.Topic.Partitions) != 1 {
				t.Errorf("%s: the answer does not carry the topic", c.name)
			}
		}
	}
}

func TestDefaultsFollowTheNumberOfBrokers(t *testing.T) {
	for _, c := range []struct {
		brokers  int
		defaults Defaults
		config   map[string]string
		ask      CreateTopic
		want     string // partitions, RF, min ISR
	}{
		{1, Defaults{}, nil, CreateTopic{Partitions: -1, Replication: -1}, "1 1 1"},
		{2, Defaults{}, nil, CreateTopic{Partitions: -1, Replication: -1}, "1 2 1"},
		{5, Defaults{}, nil, CreateTopic{Partitions: -1, Replication: -1}, "1 3 2"},
		{5, Defaults{}, nil, CreateTopic{Partitions: 4, Replication: 5}, "4 5 4"},
		{5, Defaults{Partitions: 6, Replication: 4, MinISR: 1}, nil, CreateTopic{Partitions: -1, Replication: -1}, "6 4 1"},
		{3, Defaults{}, map[string]string{"min.insync.replicas": "9"}, CreateTopic{Partitions: 1, Replication: 2}, "1 2 2"},
		{3, Defaults{Replication: 1}, nil, CreateTopic{Partitions: 2, Replication: 7, Mirrored: true}, "2 3 2"},
	} {
		w := newWorld(t)
		w.do(RestartCluster{Brokers: brokersUpTo(c.brokers), Defaults: c.defaults})
		c.ask.Name, c.ask.ID, c.ask.Config = "n", core.TopicID{5}, c.config
		topic := w.create(c.ask, 0).Topic
		p := topic.Partitions[0]
		if got := fmt.Sprint(len(topic.Partitions), len(p.Replicas), p.MinISR); got != c.want {
			t.Errorf("%d brokers, %+v: got %s, want %s", c.brokers, c.defaults, got, c.want)
		}
	}
}

func TestReplicasSpreadAndLeadersStartOnLiveBrokers(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for rf := 1; rf <= n; rf++ {
			w := newWorld(t)
			w.do(RestartCluster{Brokers: brokersUpTo(n)})
			leads, holds := map[core.ReplicaID]int{}, map[core.ReplicaID]int{}
			for topic := range n { // one-partition topics must not pile up on the first broker
				for _, p := range w.create(CreateTopic{Name: fmt.Sprint(topic), Fresh: core.TopicID{byte(topic + 1)}, Partitions: int32(1 + topic*n), Replication: int16(rf)}, 0).Topic.Partitions {
					leads[p.Leader]++
					for i, r := range p.Replicas {
						holds[r]++
						if slices.Contains(p.Replicas[:i], r) {
							t.Fatalf("replicas %v", p.Replicas)
						}
					}
				}
			}
			for id := core.ReplicaID(1); int(id) <= n; id++ {
				if d := leads[id] - leads[1]; d < -1 || d > 1 {
					t.Errorf("%d brokers, RF %d: leaders %v", n, rf, leads)
				}
				if holds[id] == 0 {
					t.Errorf("%d brokers, RF %d: broker %d holds nothing", n, rf, id)
				}
			}
		}
	}
	w := newWorld(t)
	w.do(RestartCluster{Brokers: brokersUpTo(3)})
	w.do(StopBroker{Broker: 2})
	for _, p := range w.create(CreateTopic{Name: "x", Fresh: core.TopicID{1}, Partitions: 6, Replication: 3}, 0).Topic.Partitions {
		if p.Leader == 2 || slices.Contains(p.ISR, 2) || len(p.Replicas) != 3 {
			t.Errorf("broker 2 is stopped: %+v", p)
		}
	}
}

func TestADeletedTopicTakesItsReplicasAlong(t *testing.T) {
	w := cluster(t, nil)
	effects := w.do(DeleteTopic{Name: "t"})
	var dropped []core.ReplicaID
	for _, e := range effects {
		if d, ok := e.(DropReplica); ok {
			dropped = append(dropped, d.Replica)
		}
	}
	if _, known := w.img.TopicNamed("t"); known || !slices.Equal(dropped, []core.ReplicaID{1, 2, 3}) {
		t.Fatalf("known %v, dropped %v", known, dropped)
	}
	if d := find[Done](t, w.do(DeleteTopic{Name: "t"})); d.Code != perr.UnknownTopicOrPartition {
		t.Fatalf("deleting it again: %+v", d)
	}
	if d := find[Done](t, w.do(DeleteTopic{ID: core.TopicID{1}})); d.Code != perr.UnknownTopicId {
		t.Fatalf("deleting it again by id: %+v", d)
	}
	w.create(CreateTopic{Name: "t", Fresh: core.TopicID{9}, Partitions: 1, Replication: 1}, 0)
	w.replay()
}

func TestLogsOfADeletedTopicAreDroppedWhenTheyAreSeenAgain(t *testing.T) {
	w := cluster(t, nil)
	w.do(StopBroker{Broker: 2})
	w.do(DeleteTopic{ID: core.TopicID{1}})
	w.replay()
	stranger := ReplicaLog{ID: core.PartitionID{Topic: core.TopicID{77}}, Replica: 2, LEO: 5}
	count := func(effects []Effect) (dropped int) {
		for _, e := range effects {
			if d, ok := e.(DropReplica); ok {
				if d != (DropReplica{ID: part, Replica: 2}) {
					t.Errorf("dropped %+v", d)
				}
				dropped++
			}
		}
		return dropped
	}
	left := []ReplicaLog{log(2, 0, 9, false), stranger}
	if n := count(w.do(StartBroker{Broker: image.Broker{ID: 2}, Logs: left})); n != 1 {
		t.Errorf("%d dropped at the start of the broker", n)
	}
	if n := count(w.do(RestartCluster{Brokers: brokersUpTo(3), Logs: left})); n != 1 {
		t.Errorf("%d dropped at the next start, after a crash before the drop", n)
	}
	if w.do(RestartCluster{Brokers: brokersUpTo(1)}); len(w.s.deleted) != 1 {
		t.Error("forgotten while brokers that held it are away")
	}
	if w.do(RestartCluster{Brokers: brokersUpTo(3), Logs: left[1:]}); len(w.s.deleted) != 0 {
		t.Error("remembered although no log is left")
	}
	w.replay()
}

func TestATopicMadeAgainUnderItsIDStartsAboveItsOldEpochs(t *testing.T) {
	w := cluster(t, nil)
	w.do(RaiseEpoch{ID: part, Min: 41})
	w.do(DeleteTopic{Name: "t"})
	w.replay()
	again := CreateTopic{Name: "t", ID: core.TopicID{1}, Mirrored: true, Partitions: 2}
	if p := w.create(again, 0).Topic.Partitions[1]; p.LeaderEpoch != 42 {
		t.Errorf("starts in epoch %d", p.LeaderEpoch)
	}
	fresh := CreateTopic{Name: "u", Fresh: core.TopicID{2}, Partitions: 1, Replication: 1}
	if p := w.create(fresh, 0).Topic.Partitions[0]; p.LeaderEpoch != 0 {
		t.Errorf("another topic starts in epoch %d", p.LeaderEpoch)
	}
	w.replay()
}

func TestNoReplicaLive(t *testing.T) {
	w := cluster(t, nil)
	w.do(StopBroker{Broker: 2})
	a := w.create(CreateTopic{Name: "n", Fresh: core.TopicID{4}, Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {2}}}, int16(perr.InvalidReplicaAssignment))
	if !strings.Contains(a.Text, "broker 2") {
		t.Error(a.Text)
	}
	w.do(StartBroker{Broker: image.Broker{ID: 2}})
	w.create(CreateTopic{Name: "n", Fresh: core.TopicID{4}, Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {2}}}, 0)
}
