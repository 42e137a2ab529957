package datacenter

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// Described is one mirrored topic as its destination describes it.
type Described = messages.DescribeClusterMirrorsResponseTopic

// CreateTopic makes a topic with a replica on each broker.
func (d *Datacenter) CreateTopic(t T, name string, partitions int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	created, err := kadm.NewClient(d.Admin.Kafka).CreateTopic(ctx, partitions, int16(d.Brokers), nil, name)
	if err == nil {
		err = created.Err
	}
	if err != nil {
		t.Fatalf("create topic %s on %s: %v", name, d.Cluster, err)
	}
}

// CreateMirror defines a mirror of source on d. more are pairs of settings.
func (d *Datacenter) CreateMirror(t T, mirror string, source *Datacenter, more ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	config := map[string]string{"bootstrap.servers": strings.Join(source.Bootstrap(), ",")}
	for i := 0; i < len(more); i += 2 {
		config[more[i]] = more[i+1]
	}
	cluster, err := d.Admin.CreateMirror(ctx, mirror, config)
	if err != nil {
		t.Fatalf("create mirror %s on %s: %v", mirror, d.Cluster, err)
	}
	if cluster != source.Cluster {
		t.Fatalf("mirror %s says its source is %q, not %q", mirror, cluster, source.Cluster)
	}
}

// one is the only topic result of an admin call.
func one(t T, what string, results []admin.TopicResult, err error) admin.TopicResult {
	t.Helper()
	if err == nil && len(results) == 1 {
		err = results[0].Err
	}
	if err != nil || len(results) != 1 {
		t.Fatalf("%s: %d results, %v", what, len(results), err)
	}
	return results[0]
}

// StartSync is clusterctl mirrors --start --sync of one topic.
func (d *Datacenter) StartSync(t T, mirror, topic string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	results, err := d.Admin.StartTopics(ctx, mirror, []string{topic}, nil, admin.Sync)
	one(t, "start "+topic, results, err)
}

// Alter is --alter of one topic; kind is admin.Sync or admin.Async.
func (d *Datacenter) Alter(t T, mirror, topic string, kind int8) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	results, err := d.Admin.AlterType(ctx, mirror, []string{topic}, kind)
	one(t, "alter "+topic, results, err)
}

// StopTopic is --stop of one topic.
func (d *Datacenter) StopTopic(t T, mirror, topic string) (warning string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	results, err := d.Admin.StopTopics(ctx, mirror, []string{topic})
	return one(t, "stop "+topic, results, err).Warning
}

// Release is clusterctl mirrors --release-sync on the source.
func (d *Datacenter) Release(t T, mirror string, topics ...string) admin.Release {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	released, err := d.Admin.ReleaseSync(ctx, mirror, topics, false)
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

// Describe is what the destination says of one mirrored topic.
func (d *Datacenter) Describe(ctx context.Context, mirror, topic string) (Described, error) {
	mirrors, err := d.Admin.Describe(ctx, mirror)
	if err != nil {
		return Described{}, err
	}
	for _, m := range mirrors {
		for _, each := range m.Topics {
			if each.TopicName == topic {
				return each, nil
			}
		}
	}
	return Described{}, fmt.Errorf("mirror %s of %s has no topic %s", mirror, d.Cluster, topic)
}

// AwaitTopic waits until the destination describes the topic as wanted, and returns that description.
func (d *Datacenter) AwaitTopic(t T, mirror, topic, what string, wanted func(Described) bool) Described {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Patience)
	defer cancel()
	var now Described
	Eventually(t, fmt.Sprintf("%s of %s is %s", topic, mirror, what), func() (string, bool) {
		var err error
		if now, err = d.Describe(ctx, mirror, topic); err != nil {
			return err.Error(), false
		}
		return Sight(now), wanted(now)
	})
	return now
}

// Sight is a description in one line, for failures.
func Sight(now Described) string {
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

// InSync: the claim stands, on all partitions, and was confirmed within the lease.
func InSync(now Described) bool {
	return now.EffectiveMirrorType == admin.Sync && now.Phase == "SYNC" && !now.Partial && !now.Unconfirmed && int(now.ArmedPartitions) == len(now.Partitions)
}

// Stopped: every partition is writable here.
func Stopped(now Described) bool {
	for _, p := range now.Partitions {
		if p.StateValue != "STOPPED" {
			return false
		}
	}
	return len(now.Partitions) > 0
}

// AwaitSync waits for InSync.
func (d *Datacenter) AwaitSync(t T, mirror, topic string) Described {
	t.Helper()
	return d.AwaitTopic(t, mirror, topic, "SYNC", InSync)
}

// AwaitStopped waits for Stopped.
func (d *Datacenter) AwaitStopped(t T, mirror, topic string) Described {
	t.Helper()
	return d.AwaitTopic(t, mirror, topic, "STOPPED", Stopped)
}
