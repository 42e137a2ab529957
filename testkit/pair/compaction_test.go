package pair

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
)

// put writes batches of one "key=value" record each, with acks=all; "key" alone is a tombstone. It returns the offset of the last.
func (d *datacenter) put(t *testing.T, topic string, records ...string) int64 {
	t.Helper()
	at := int64(0)
	for _, text := range records {
		key, value, alive := strings.Cut(text, "=")
		r := &kgo.Record{Topic: topic, Key: []byte(key)}
		if alive {
			r.Value = []byte(value)
		}
		if err := d.admin.Kafka.ProduceSync(soon(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		at = r.Offset
	}
	return at
}

// table is what a reader of a topic is given from its start up to an offset that is there.
func (d *datacenter) table(t *testing.T, topic string, end int64) string {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var lines []string
	for ctx := soon(t); ; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%s up to %d: %v, read %s", topic, end, err, lines)
		}
		for _, r := range fetches.Records() {
			lines = append(lines, fmt.Sprintf("%d:%s=%s@%d", r.Offset, r.Key, r.Value, r.Timestamp.UnixMilli()))
			if r.Offset >= end {
				return strings.Join(lines, " ")
			}
		}
	}
}

func (d *datacenter) becomes(t *testing.T, topic string, end int64, want string) {
	t.Helper()
	eventually(t, topic+" to be compacted", func() (string, bool) {
		now := d.table(t, topic, end)
		return now, offsets(now) == want
	})
}

// offsets are the offsets and keys of a table.
func offsets(table string) string {
	var out []string
	for _, line := range strings.Fields(table) {
		key, _, _ := strings.Cut(line, "=")
		out = append(out, key)
	}
	return strings.Join(out, " ")
}

// M20, F52: both sides compact, each its own log. A mirror that gates, one that begins when much is gone, and one that was away:
// each has what its source has, and a source that comes back is no other source.
func TestCompactedTopicsAreMirrored(t *testing.T) {
	t.Parallel()
	args := []string{"--set", "log.cleaner.backoff.ms=100", "--set", "segment.bytes=14", "--set", "min.cleanable.dirty.ratio=0"}
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 2, Args: args})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 2, Args: args})
	settings := map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "1000"}
	for _, topic := range []string{"live", "late"} {
		source.create(t, topic, 1, 2, settings)
	}
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "live")
	destination.awaitSync(t, "dr", "live")

	rounds := func(topic string, n int) int64 {
		for i := range n {
			source.put(t, topic, fmt.Sprint("a=", i), fmt.Sprint("b=", i), fmt.Sprint("gone=", i))
		}
		return source.put(t, topic, "gone", "c=1", "end=1")
	}
	end := rounds("live", 5)
	want := "12:a 13:b 16:c 17:end"
	for _, d := range []*datacenter{source, destination} {
		d.becomes(t, "live", end, want)
	}
	if theirs, ours := source.table(t, "live", end), destination.table(t, "live", end); theirs != ours {
		t.Errorf("the source reads %s\nthe copy reads %s", theirs, ours)
	}

	// The copy begins when the source's log is mostly empty.
	rounds("late", 5)
	source.becomes(t, "late", end, want)
	destination.startSync(t, "dr", "late")
	destination.awaitSync(t, "dr", "late")
	if theirs, ours := source.table(t, "late", end), destination.table(t, "late", end); theirs != ours {
		t.Errorf("the source reads %s\nthe copy reads %s", theirs, ours)
	}

	// New epochs, on both sides: what was compacted is compared by nobody.
	source.Kill()
	source.restart(t)
	destination.awaitSync(t, "dr", "live")
	destination.Kill()
	destination.restart(t)
	for _, topic := range []string{"live", "late"} {
		destination.awaitSync(t, "dr", topic)
		source.put(t, topic, "a=6", "c=2", "end=2")
	}
	for _, d := range []*datacenter{source, destination} {
		d.becomes(t, "live", end+3, "13:b 17:end 18:a 19:c 20:end")
	}

	// A planned move, and the destination goes on.
	destination.switchOver(t, "dr", "live")
	destination.awaitStopped(t, "dr", "live")
	at := destination.put(t, "live", "b=7", "end=3")
	eventually(t, "the destination to compact its own topic", func() (string, bool) {
		now := destination.table(t, "live", at)
		return now, strings.HasPrefix(offsets(now), "18:a 19:c ") && strings.Contains(now, ":b=7")
	})

	// What was acknowledged and is gone is accounted for.
	out, code := clusterctl(t, append(append([]string{"journal", "verify"}, source.dirs()...), destination.dirs()...)...)
	if code != 0 {
		t.Errorf("verify: %d %s", code, out)
	}
	out, code = clusterctl(t, append([]string{"journal", "dump", "--topic", "live", "--partition", "0", "--offset", "0"}, source.dirs()...)...)
	if code != 0 || !strings.Contains(out, "COMMITTED under SYNC; COMPACTED since") {
		t.Errorf("dump of a compacted record: %d %s", code, out)
	}
}
