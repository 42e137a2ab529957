package pair

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

type described = messages.DescribeClusterMirrorsResponseTopic

// createTopic makes a topic with a replica on each broker.
func (d *datacenter) createTopic(t *testing.T, name string, partitions int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	created, err := kadm.NewClient(d.admin.Kafka).CreateTopic(ctx, partitions, int16(d.Brokers), nil, name)
	if err == nil {
		err = created.Err
	}
	if err != nil {
		t.Fatalf("create topic %s on %s: %v", name, d.Cluster, err)
	}
}

// createMirror defines a mirror of source on d. more are pairs of settings.
func (d *datacenter) createMirror(t *testing.T, mirror string, source *datacenter, more ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config := map[string]string{"bootstrap.servers": strings.Join(source.Bootstrap(), ",")}
	for i := 0; i < len(more); i += 2 {
		config[more[i]] = more[i+1]
	}
	cluster, err := d.admin.CreateMirror(ctx, mirror, config)
	if err != nil {
		t.Fatalf("create mirror %s on %s: %v", mirror, d.Cluster, err)
	}
	if cluster != source.Cluster {
		t.Fatalf("mirror %s says its source is %q, not %q", mirror, cluster, source.Cluster)
	}
}

// one is the only topic result of an admin call.
func one(t *testing.T, what string, results []admin.TopicResult, err error) admin.TopicResult {
	t.Helper()
	if err == nil && len(results) == 1 {
		err = results[0].Err
	}
	if err != nil || len(results) != 1 {
		t.Fatalf("%s: %d results, %v", what, len(results), err)
	}
	return results[0]
}

func (d *datacenter) startSync(t *testing.T, mirror, topic string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	results, err := d.admin.StartTopics(ctx, mirror, []string{topic}, nil, admin.Sync)
	one(t, "start "+topic, results, err)
}

func (d *datacenter) alter(t *testing.T, mirror, topic string, kind int8) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	results, err := d.admin.AlterType(ctx, mirror, []string{topic}, kind)
	one(t, "alter "+topic, results, err)
}

func (d *datacenter) stopTopic(t *testing.T, mirror, topic string) (warning string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	results, err := d.admin.StopTopics(ctx, mirror, []string{topic})
	return one(t, "stop "+topic, results, err).Warning
}

// release is clusterctl mirrors --release-sync on the source.
func (d *datacenter) release(t *testing.T, mirror string, topics ...string) admin.Release {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	released, err := d.admin.ReleaseSync(ctx, mirror, topics, false)
	if err != nil {
		t.Fatalf("release %s on %s: %v", mirror, d.Cluster, err)
	}
	for _, topic := range released.Topics {
		if topic.Err != nil {
			t.Fatalf("release %s of %s: %v", topic.Topic, mirror, topic.Err)
		}
	}
	return released
}

// describe is what the destination says of one mirrored topic.
func (d *datacenter) describe(ctx context.Context, mirror, topic string) (described, error) {
	mirrors, err := d.admin.Describe(ctx, mirror)
	if err != nil {
		return described{}, err
	}
	for _, m := range mirrors {
		for _, each := range m.Topics {
			if each.TopicName == topic {
				return each, nil
			}
		}
	}
	return described{}, fmt.Errorf("mirror %s of %s has no topic %s", mirror, d.Cluster, topic)
}

// awaitTopic waits until the destination describes the topic as wanted, and returns that description.
func (d *datacenter) awaitTopic(t *testing.T, mirror, topic, what string, wanted func(described) bool) described {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var now described
	eventually(t, fmt.Sprintf("%s of %s is %s", topic, mirror, what), func() (string, bool) {
		var err error
		if now, err = d.describe(ctx, mirror, topic); err != nil {
			return err.Error(), false
		}
		return sight(now), wanted(now)
	})
	return now
}

func sight(now described) string {
	text := ""
	if now.ErrorMessage != nil {
		text = *now.ErrorMessage
	}
	s := fmt.Sprintf("%s (%s), armed %d/%d, desired %d, effective %d, recovery %v, error %q", now.State, now.Phase, now.ArmedPartitions,
		len(now.Partitions), now.DesiredMirrorType, now.EffectiveMirrorType, now.RecoveryPending, text)
	for _, p := range now.Partitions {
		s += fmt.Sprintf("; %d: %s source %d here %d epoch %d", p.PartitionIndex, p.StateValue, p.SourceOffset, p.DestinationOffset, p.SourceEpoch)
	}
	return s
}

// inSync: the claim stands, on all partitions, and was confirmed within the lease.
func inSync(now described) bool {
	return now.EffectiveMirrorType == admin.Sync && now.Phase == "SYNC" && !now.Partial && !now.Unconfirmed && int(now.ArmedPartitions) == len(now.Partitions)
}

func stopped(now described) bool {
	for _, p := range now.Partitions {
		if p.StateValue != "STOPPED" {
			return false
		}
	}
	return len(now.Partitions) > 0
}

func (d *datacenter) awaitSync(t *testing.T, mirror, topic string) described {
	t.Helper()
	return d.awaitTopic(t, mirror, topic, "SYNC", inSync)
}

func (d *datacenter) awaitStopped(t *testing.T, mirror, topic string) described {
	t.Helper()
	return d.awaitTopic(t, mirror, topic, "STOPPED", stopped)
}
