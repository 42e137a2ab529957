package controller

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func TestSettingsOfRunningBrokersChangeAllOrNone(t *testing.T) {
	w := cluster(t, nil)
	alter := func(c AlterBroker) Done {
		t.Helper()
		return find[Done](t, w.do(c))
	}
	type v = map[string]string
	shown := func() string { return fmt.Sprint(w.img.Settings) }
	for _, bad := range []struct {
		c    AlterBroker
		word string
	}{
		{AlterBroker{Broker: 1, Set: v{"log.retention.ms": "1", "no.such.setting": "1"}}, "no.such.setting"},
		{AlterBroker{Broker: 1, Set: v{"log.retention.ms": "soon"}}, "log.retention.ms"},
		{AlterBroker{Broker: 1, Set: v{"retention.ms": "1"}}, "retention.ms"},
		{AlterBroker{Broker: 1, Set: v{"num.partitions": "3"}}, "--set num.partitions=3"},
		{AlterBroker{Broker: core.NoReplica, Set: v{"log.retention.hours": "3"}}, "dynamically"},
		{AlterBroker{Broker: 1, Set: v{"min.insync.replicas": "1"}}, "whole cluster"},
		{AlterBroker{Broker: 1, Set: v{"leader.replication.throttled.rate": "-1"}}, "leader.replication.throttled.rate"},
		{AlterBroker{Broker: 1, Set: v{"metric.reporters": strings.Repeat("x", maxBrokerValue+1)}}, "metric.reporters"},
		{AlterBroker{Broker: 9, Set: v{"log.retention.ms": "1"}}, "no broker 9"},
	} {
		if d := alter(bad.c); d.Code != perr.InvalidRequest || !strings.Contains(d.Text, bad.word) || shown() != "map[]" {
			t.Errorf("%+v: answered %+v, shown %s", bad.c, d, shown())
		}
	}
	for _, step := range []struct {
		c    AlterBroker
		want string
	}{
		{AlterBroker{Broker: 1, Set: v{"log.retention.ms": "5"}, DryRun: true}, "map[]"},
		{AlterBroker{Broker: 1, Set: v{"log.retention.ms": "5", "log.cleaner.threads": "2"}}, "map[1:map[log.cleaner.threads:2 log.retention.ms:5]]"},
		{AlterBroker{Broker: core.NoReplica, Set: v{"log.retention.ms": "6"}}, "map[-1:map[log.retention.ms:6] 1:map[log.cleaner.threads:2 log.retention.ms:5]]"},
		{AlterBroker{Broker: 1, Delete: []string{"log.retention.ms", "no.such.setting"}}, "map[-1:map[log.retention.ms:6] 1:map[log.cleaner.threads:2]]"},
		{AlterBroker{Broker: 1, Whole: true, Set: v{"log.retention.bytes": "7"}}, "map[-1:map[log.retention.ms:6] 1:map[log.retention.bytes:7]]"},
		{AlterBroker{Broker: 1, Whole: true}, "map[-1:map[log.retention.ms:6]]"},
		{AlterBroker{Broker: core.NoReplica, Delete: []string{"log.retention.ms"}}, "map[]"},
		{AlterBroker{Broker: 3, Set: v{"max.connections": "6"}}, "map[3:map[max.connections:6]]"},
	} {
		if d := alter(step.c); d.Code != 0 || shown() != step.want {
			t.Errorf("%+v: answered %+v, shown %s", step.c, d, shown())
		}
		w.replay()
	}
	w.do(RestartCluster{Cluster: "dc1", Brokers: brokersUpTo(3)})
	if shown() != "map[3:map[max.connections:6]]" {
		t.Errorf("another process knows %s", shown())
	}
}

// What is set for all counts for topics without a setting of their own: who is in sync enough, and who may lead.
func TestWhatIsSetForAllBrokersCountsForTopics(t *testing.T) {
	w := cluster(t, nil)
	own := w.create(CreateTopic{Name: "own", Fresh: core.TopicID{2}, Partitions: 1, Replication: 3, Config: map[string]string{"min.insync.replicas": "3"}}, 0).Topic.ID
	set := func(values map[string]string) {
		t.Helper()
		if d := find[Done](t, w.do(AlterBroker{Broker: core.NoReplica, Set: values, Whole: true})); d.Code != 0 {
			t.Fatal(d)
		}
	}
	for value, want := range map[string]string{"1": "1 3", "3": "3 3", "": "2 3"} {
		values := map[string]string{"min.insync.replicas": value}
		if value == "" {
			values = nil
		}
		set(values)
		w.replay()
		if got := fmt.Sprint(w.img.Topics[core.TopicID{1}].Partitions[0].MinISR, w.img.Topics[own].Partitions[0].MinISR); got != want {
			t.Errorf("with %q for all, topics want %s, not %s", value, got, want)
		}
	}
	for value, leader := range map[string]core.ReplicaID{"false": core.NoReplica, "true": 3} {
		w := cluster(t, nil)
		w.do(ChangeISR{ID: part, Leader: 1, Epoch: w.p().LeaderEpoch, PartitionEpoch: w.p().PartitionEpoch, ISR: []core.ReplicaID{1, 2}})
		if d := find[Done](t, w.do(AlterBroker{Broker: core.NoReplica, Set: map[string]string{"unclean.leader.election.enable": value}})); d.Code != 0 {
			t.Fatal(d)
		}
		for _, b := range []core.ReplicaID{1, 2} {
			w.do(StopBroker{Broker: b, Text: "stopped", Logs: []ReplicaLog{log(1, 1, 9, false), log(2, 1, 9, false), log(3, 1, 4, false)}})
		}
		if got := w.p().Leader; got != leader {
			t.Errorf("with unclean.leader.election.enable=%s for all, broker %d leads: %s", value, got, w.state())
		}
	}
}
