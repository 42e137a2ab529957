package pair

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/process"
)

// F52: retention is the source's to apply, with its own settings. The copy follows it, whatever its own cluster's settings
// say, until the writes move there.
func TestRetentionIsTheSources(t *testing.T) {
	t.Parallel()
	check := []string{"--set", "log.retention.check.interval.ms=200", "--set", "segment.bytes=14"}
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1, Args: append(check, "--set", "retention.ms=-1")}, process.Spec{Cluster: "dc2", Args: append(check, "--set", "retention.ms=1")}, 1)
	source.produceBatches(t, "orders", 5)
	destination.sameLogAs(t, source, "orders", 1)

	// A topic of its own goes at once, so the destination has looked: the copy stays.
	destination.createTopic(t, "own", 1)
	destination.produceBatches(t, "own", 1)
	destination.awaitLogStart(t, "own", 3)
	if at := destination.LogStart(t, "orders", 0); at != 0 {
		t.Errorf("the copy begins at %d", at)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	altered, err := kadm.NewClient(source.admin.Kafka).AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: kadm.StringPtr("1")}}, "orders")
	if err != nil || altered[0].Err != nil {
		t.Fatal(altered, err)
	}
	source.awaitLogStart(t, "orders", 15)
	destination.awaitLogStart(t, "orders", 15)
	destination.awaitSync(t, "dr", "orders")
	destination.switchOver(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	base := destination.mustProduce(t, "orders", 0, "written at the destination")
	destination.awaitLogStart(t, "orders", base+1)
}
