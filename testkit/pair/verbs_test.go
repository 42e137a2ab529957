package pair

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

type sourceTopic = messages.DescribeClusterMirrorsResponseSourceTopic

// take is clusterctl mirrors --switchover or --failover on the destination.
func (d *datacenter) take(t *testing.T, verb func(context.Context, string, []string) ([]admin.TopicResult, error), mirror, topic string) admin.TopicResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	results, err := verb(ctx, mirror, []string{topic})
	if err != nil || len(results) != 1 {
		t.Fatalf("%s: %d results, %v", topic, len(results), err)
	}
	return results[0]
}

func (d *datacenter) switchOver(t *testing.T, mirror, topic string) {
	t.Helper()
	if r := d.take(t, d.admin.SwitchTopics, mirror, topic); r.Err != nil {
		t.Fatalf("switch %s over: %v", topic, r.Err)
	}
}

func (d *datacenter) failOver(t *testing.T, mirror, topic string) (warning string) {
	t.Helper()
	r := d.take(t, d.admin.FailTopics, mirror, topic)
	if r.Err != nil {
		t.Fatalf("fail %s over: %v", topic, r.Err)
	}
	return r.Warning
}

// asSource is what a cluster says of one of its own topics that others mirror.
func (d *datacenter) asSource(t *testing.T, topic string) sourceTopic {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sources, err := d.admin.Sources(ctx)
	if err != nil {
		t.Fatalf("sources of %s: %v", d.Cluster, err)
	}
	for _, s := range sources {
		if s.TopicName == topic {
			return s
		}
	}
	return sourceTopic{}
}

func (d *datacenter) awaitStanding(t *testing.T, topic, standing string) (now sourceTopic) {
	t.Helper()
	eventually(t, topic+" is "+standing+" at "+d.Cluster, func() (string, bool) {
		now = d.asSource(t, topic)
		return now.Standing + " " + now.Text, now.Standing == standing
	})
	return now
}

// moving is what a client needs to follow its topic to another cluster while its own one lives: the seeds it goes back to
// when it is told to (KIP-1102), as bootstrap.servers of a stock client that lists both sites.
func moving(to *datacenter) kgo.Opt {
	return kgo.OnRebootstrapRequired(func() ([]string, error) { return to.Bootstrap(), nil })
}

// weak makes a producer with acks=1, which no gate protects: only a switchover loses none of its records.
var weak = []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1)}
