package front

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestOldAndLargeTopicsLoseTheirHead: retention.ms and retention.bytes take whole segments, of topics that let them, and a
// setting that is altered counts from the next check.
func TestOldAndLargeTopicsLoseTheirHead(t *testing.T) {
	h := newHouse(t, 3)
	h.stop()
	h.retention = 100 * time.Millisecond
	h.settings = map[string]string{"segment.bytes": "14"} // every batch is a segment
	h.start()
	of := func(settings ...string) map[string]*string {
		m := map[string]*string{}
		for i := 0; i < len(settings); i += 2 {
			m[settings[i]] = &settings[i+1]
		}
		return m
	}
	h.create("old", 1, 3, of("retention.ms", "3600000"))
	h.create("large", 1, 3, of("retention.ms", "-1", "retention.bytes", "3000"))
	h.create("segments", 1, 3, of("retention.ms", "3600000", "segment.bytes", "1000000"))
	h.create("compacted", 1, 3, of("cleanup.policy", "compact", "retention.ms", "3600000"))
	h.create("kept", 1, 3, of("retention.ms", "-1"))
	now := time.Now()
	for _, topic := range []string{"old", "large", "segments", "compacted", "kept"} {
		c := h.client(kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()))
		for i := range 10 {
			at := now.Add(-3 * time.Hour)
			if i >= 6 || topic == "segments" && i == 0 { // one new record keeps all that is in a segment with it
				at = now
			}
			one := &kgo.Record{Key: []byte("k"), Value: fmt.Append(make([]byte, 1000), i), Timestamp: at}
			if err := c.ProduceSync(patient(t), one).FirstErr(); err != nil {
				t.Fatal(topic, err)
			}
		}
	}
	adm := kadm.NewClient(h.client())
	starts := func() map[string]int64 {
		list, err := adm.ListStartOffsets(patient(t), "old", "large", "segments", "compacted", "kept")
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]int64{}
		list.Each(func(o kadm.ListedOffset) { at[o.Topic] = o.Offset })
		return at
	}
	waitFor(t, "retention to take what is old and what is too much", func() bool {
		at := starts()
		return at["old"] == 6 && at["large"] == 7
	})
	if at := starts(); at["segments"] != 0 || at["compacted"] != 0 || at["kept"] != 0 {
		t.Errorf("logs begin at %v", at)
	}
	if _, err := adm.AlterTopicConfigs(patient(t), []kadm.AlterConfig{{Name: "retention.ms", Value: kadm.StringPtr("1000")}}, "segments"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the altered setting to count", func() bool { return starts()["segments"] == 10 })
	for _, b := range h.cluster.Brokers() {
		for _, r := range b.Replicas() {
			if v := r.View(); h.cluster.Newest().Topics[r.ID().Topic].Name == "old" {
				waitFor(t, "the followers", func() bool { return r.View().LogStart == 6 })
				if v.LEO != 10 {
					t.Errorf("broker %d ends at %d", b.ID(), v.LEO)
				}
			}
		}
	}
	var left []string
	for i := 7; i < 10; i++ { // as in Kafka, no less than retention.bytes stays
		left = append(left, string(fmt.Append(make([]byte, 1000), i)))
	}
	wantEqual(t, "records left", h.consume("large", 3), left)
}
