package metrics

import (
	"log/slog"
	"testing"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/group"
	"lockstep/actors/shell"
	"lockstep/clusterd/front"
	"lockstep/journal/memory"
)

func TestTheMetricsOfAFreshCluster(t *testing.T) {
	clock := shell.NewRealClock()
	defer clock.Close()
	c, err := broker.Start(broker.Options{
		Cluster: "dc1", Control: memory.New(memory.Options{}), Clock: clock, Logger: slog.New(slog.DiscardHandler), Groups: group.DefaultSettings(),
		Volumes: []broker.Volume{{ID: core.ReplicaID(1), Store: memory.New(memory.Options{}), Dir: t.TempDir()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	families, err := Registry(Process{Cluster: c, Traffic: &front.Traffic{}, Partitions: 10}).Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	values := map[string]float64{}
	for _, f := range families {
		series[f.GetName()] = len(f.GetMetric())
		values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	for name, want := range map[string]int{
		"kafka_controller_kafkacontroller_offlinepartitionscount": 1, "kafka_server_replicamanager_underreplicatedpartitions": 1, "kafka_server_broker_live": 1,
		"kafka_server_mirror_acks_total": 4, // one per mode, from the start
		// No mirror, no series: zero never means unknown.
		"kafka_server_mirror_registered_topics": 0, "kafka_server_mirror_lag_offsets": 0,
	} {
		if series[name] != want {
			t.Errorf("%s: %d series, want %d", name, series[name], want)
		}
	}
	if values["kafka_server_broker_live"] != 1 {
		t.Errorf("broker 1 is not live")
	}
}

func TestCounterNamesFollowFields(t *testing.T) {
	for field, want := range map[string]string{"PublishLost": "publish_lost", "Connects": "connects"} {
		if got := snake(field); got != want {
			t.Errorf("%s: %s", field, got)
		}
	}
}
