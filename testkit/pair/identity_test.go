package pair

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

func (d *datacenter) deleteTopic(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	deleted, err := kadm.NewClient(d.admin.Kafka).DeleteTopic(ctx, name)
	if err == nil {
		err = deleted.Err
	}
	if err != nil {
		t.Fatalf("delete %s on %s: %v", name, d.Cluster, err)
	}
}

// logged waits for a line of the process's log that has all words.
func (d *datacenter) logged(t *testing.T, words ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("a line of the log of %s has %q", d.Cluster, words), func() (string, bool) {
		text, err := os.ReadFile(filepath.Join(d.Dir, "clusterd.log"))
		if err != nil {
			return err.Error(), false
		}
	next:
		for line := range strings.Lines(string(text)) {
			for _, w := range words {
				if !strings.Contains(line, w) {
					continue next
				}
			}
			return line, true
		}
		return "no such line", false
	})
}

// Who may mirror whom: not oneself, not under a name that another cluster holds, and not in a ring.
func TestMirrorsOfOneselfOrUnderATakenNameAreRefused(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	near := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	far := start(t, process.Spec{Cluster: "dc3", Brokers: 1})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := source.admin.CreateMirror(ctx, "self", map[string]string{"bootstrap.servers": strings.Join(source.Bootstrap(), ",")})
	if err == nil || !strings.Contains(err.Error(), "this cluster") {
		t.Errorf("a mirror of itself: %v", err)
	}

	source.createTopic(t, "orders", 1)
	near.createMirror(t, "dr", source)
	near.startSync(t, "dr", "orders")
	near.awaitSync(t, "dr", "orders")
	far.createMirror(t, "dr", source)
	far.startSync(t, "dr", "orders")
	far.awaitTopic(t, "dr", "orders", "told that the name is taken", func(now described) bool {
		return now.EffectiveMirrorType == admin.Async && now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, "dc2") && strings.Contains(*now.ErrorMessage, "--forget")
	})
	source.mustProduce(t, "orders", 0, "the holder of the name gates, the other one copies")
	far.awaitTopic(t, "dr", "orders", "in possession of the record", func(now described) bool { return now.Partitions[0].DestinationOffset == 1 })
	far.pause(t)
	source.mustProduce(t, "orders", 0, "nobody waits for the refused one")
	near.pause(t)
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "held")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("without the holder of the name: %s", a)
	}
	near.resume(t)

	source.createMirror(t, "back", near)
	results, err := source.admin.StartTopics(ctx, "back", []string{"orders"}, nil, admin.Sync)
	if err == nil && (len(results) != 1 || results[0].Err == nil) {
		t.Errorf("a ring of two clusters: %+v", results)
	}
	source.mustProduce(t, "orders", 0, "still writable")
}

// The id decides, not the name: a topic made again at the source is another one, and the copy of the first is kept.
func TestATopicMadeAgainAtTheSourceIsNotMirroredIntoTheOldCopy(t *testing.T) { // F34
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	source.createTopic(t, "orders", 1)
	destination.createMirror(t, "dr", source, "metadata.refresh.interval.ms", "500")
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	source.mustProduce(t, "orders", 0, "of the first life")
	eventually(t, "the copy shows it", func() (string, bool) {
		seen := destination.consume(t, "orders", 0)
		return string(seen.bytes), seen.has("first life")
	})

	source.deleteTopic(t, "orders")
	source.createTopic(t, "orders", 1)
	source.mustProduce(t, "orders", 0, "of the second life")
	now := destination.awaitTopic(t, "dr", "orders", "ORPHANED", func(now described) bool { return now.Phase == "ORPHANED" })
	if out := destination.mustCLI(t, "--describe", "--mirror", "dr"); !strings.Contains(out, "ORPHANED") || !strings.Contains(out, "--recover") {
		t.Errorf("describe:\n%s", out)
	}
	destination.mustCLI(t, "--recover", "--mirror", "dr", "--topics", "orders") // still gone: it is found out again
	destination.awaitTopic(t, "dr", "orders", "ORPHANED, with its namesake", func(now described) bool {
		return now.Phase == "ORPHANED" && now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, "made there since")
	})
	destination.logged(t, "level=WARN", "ORPHANED", "mirror=dr", "topic=orders", "--stop")
	if seen := destination.consume(t, "orders", 0); !seen.has("first life") || seen.has("second life") {
		t.Errorf("the copy: %q; %s", seen.bytes, sight(now))
	}
	destination.stopTopic(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	if base := destination.mustProduce(t, "orders", 0, "opened"); base < 1 {
		t.Errorf("offset %d", base)
	}
}
