package pair

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
)

// T05: a mirror forgets the producers that its source has forgotten, and none before: after a failover a retry finds what it
// would have found at the source.
func TestAMirrorForgetsIdleProducersWithItsSource(t *testing.T) {
	t.Parallel()
	check := []string{"--set", "producer.id.expiration.check.interval.ms=50"}
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1, Args: check},
		process.Spec{Cluster: "dc2", Args: append(check, "--set", "producer.id.expiration.ms=1")}, 1)
	const producers = 4
	for i := range producers {
		source.produceOnce(t, "orders", fmt.Sprint("value ", i))
	}
	destination.awaitProducers(t, "orders", producers)
	// A topic of its own loses producers at once, so the destination has looked: those of the copy stay.
	destination.createTopic(t, "own", 1)
	destination.produceOnce(t, "own", "a")
	destination.produceOnce(t, "own", "b")
	destination.awaitProducers(t, "own", 1)
	if n := destination.producers(t, "orders"); n != producers {
		t.Fatalf("the destination knows %d producers, want %d: none was forgotten at the source", n, producers)
	}
	source.alterBrokers(t, "producer.id.expiration.ms", "100")
	source.awaitProducers(t, "orders", 1) // the highest id stays
	destination.awaitProducers(t, "orders", 1)
}

// produceOnce writes one record as an idempotent producer of its own.
func (d *datacenter) produceOnce(t *testing.T, topic, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// producers is how many producers the leader of partition 0 knows.
func (d *datacenter) producers(t *testing.T, topic string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	set := kadm.TopicsSet{}
	set.Add(topic, 0)
	all, err := kadm.NewClient(d.admin.Kafka).DescribeProducers(ctx, set)
	if err != nil {
		t.Fatal(err)
	}
	p := all[topic].Partitions[0]
	if p.Err != nil {
		return -1
	}
	return len(p.ActiveProducers)
}

func (d *datacenter) awaitProducers(t *testing.T, topic string, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d producers of %s are known to %s", want, topic, d.Cluster), func() (string, bool) {
		n := d.producers(t, topic)
		return fmt.Sprint(n, " are"), n == want
	})
}

func (d *datacenter) alterBrokers(t *testing.T, name, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	altered, err := kadm.NewClient(d.admin.Kafka).AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Name: name, Value: &value}})
	if err != nil || altered[0].Err != nil {
		t.Fatal(altered, err)
	}
}
