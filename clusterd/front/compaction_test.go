package front

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// compacting is a cluster that looks through its logs all the time, and makes a segment of each batch.
func compacting(t *testing.T, brokers int) *house {
	t.Helper()
	h := newHouse(t, brokers)
	h.stop()
	h.settings = map[string]string{"log.cleaner.backoff.ms": "50", "log.segment.bytes": "14", "log.cleaner.min.cleanable.ratio": "0"}
	h.start()
	return h
}

func compacted(settings ...string) map[string]*string {
	m := map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}
	for i := 0; i < len(settings); i += 2 {
		m[settings[i]] = &settings[i+1]
	}
	return m
}

// stamps are the times of records: each has its own.
var stamps atomic.Int64

func init() { stamps.Store(time.Now().Add(-time.Minute).UnixMilli()) }

// put writes one batch of "key=value" records; "key" alone is a tombstone. It returns the offset of the last.
func (h *house) put(c *kgo.Client, topic string, records ...string) int64 {
	h.t.Helper()
	wrote := h.wrote(c, topic, records...)
	return wrote[len(wrote)-1].Offset
}

func (h *house) wrote(c *kgo.Client, topic string, records ...string) (wrote []*kgo.Record) {
	h.t.Helper()
	var list []*kgo.Record
	for _, text := range records {
		key, value, alive := strings.Cut(text, "=")
		r := &kgo.Record{Topic: topic, Key: []byte(key), Timestamp: time.UnixMilli(stamps.Add(1))}
		if alive {
			r.Value = []byte(value)
		}
		list = append(list, r)
	}
	results := c.ProduceSync(patient(h.t), list...)
	if err := results.FirstErr(); err != nil {
		h.t.Fatal(err)
	}
	for _, r := range results {
		wrote = append(wrote, r.Record)
	}
	return wrote
}

// table reads a topic from its start up to an offset that is there.
func (h *house) table(topic string, end int64, opts ...kgo.Opt) (lines []string, records []*kgo.Record) {
	h.t.Helper()
	c := h.client(append(opts, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	defer c.Close()
	for {
		fetches := c.PollFetches(patient(h.t))
		if err := fetches.Err(); err != nil {
			h.t.Fatal(err)
		}
		for _, r := range fetches.Records() {
			text := fmt.Sprintf("%d:%s", r.Offset, r.Key)
			if r.Value != nil {
				text += "=" + string(r.Value)
			}
			lines, records = append(lines, text), append(records, r)
			if r.Offset >= end {
				return lines, records
			}
		}
	}
}

// becomes waits until a topic reads like this.
func (h *house) becomes(topic string, end int64, want string, opts ...kgo.Opt) []*kgo.Record {
	h.t.Helper()
	var got string
	var records []*kgo.Record
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); <-look.C {
		var lines []string
		lines, records = h.table(topic, end, opts...)
		if got = strings.Join(lines, " "); got == want {
			return records
		}
	}
	h.t.Fatalf("%s reads %s\nwant %s", topic, got, want)
	return nil
}

// R03, R04, R07: what is left of a compacted topic, for clients, by offset and by time, after a restart, and at a replica that
// has copied it from one that had compacted it.
func TestACompactedTopicKeepsTheNewestOfEachKey(t *testing.T) {
	h := compacting(t, 3)
	c := h.client()
	adm := kadm.NewClient(c)
	h.create("t", 1, 1, compacted("delete.retention.ms", "3600000"))
	var before []*kgo.Record
	for _, records := range [][]string{{"a=1", "b=1", "c=1"}, {"a=2"}, {"b=2", "d=1"}, {"c"}, {"a=3", "e=1"}, {"end=1"}} { // the newest segment is left alone
		before = append(before, h.wrote(c, "t", records...)...)
	}
	end := before[len(before)-1].Offset
	want := "4:b=2 5:d=1 6:c 7:a=3 8:e=1 9:end=1"
	check := func() {
		t.Helper()
		for _, r := range h.becomes("t", end, want) {
			if at := before[r.Offset].Timestamp.Truncate(time.Millisecond); !r.Timestamp.Equal(at) {
				t.Errorf("%d has time %s, had %s", r.Offset, r.Timestamp, at)
			}
		}
		for what, offsets := range map[string]struct {
			list func() (kadm.ListedOffsets, error)
			want int64
		}{
			"the time of 7": {func() (kadm.ListedOffsets, error) {
				return adm.ListOffsetsAfterMilli(patient(t), before[7].Timestamp.UnixMilli(), "t")
			}, 7},
			"the time of 0, which is gone": {func() (kadm.ListedOffsets, error) {
				return adm.ListOffsetsAfterMilli(patient(t), before[0].Timestamp.UnixMilli(), "t")
			}, 4},
			"the start":       {func() (kadm.ListedOffsets, error) { return adm.ListStartOffsets(patient(t), "t") }, 0},
			"the end":         {func() (kadm.ListedOffsets, error) { return adm.ListEndOffsets(patient(t), "t") }, end + 1},
			"the newest time": {func() (kadm.ListedOffsets, error) { return adm.ListMaxTimestampOffsets(patient(t), "t") }, 9},
		} {
			list, err := offsets.list()
			if at, ok := list.Lookup("t", 0); err != nil || !ok || at.Err != nil || at.Offset != offsets.want {
				t.Errorf("%s: %+v, %v, want %d", what, at, err, offsets.want)
			}
		}
	}
	check()
	for at := int64(0); at <= end; at++ { // a position in what is gone goes on behind it
		c := h.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().At(at)}}))
		if r := c.PollFetches(patient(t)).Records(); len(r) == 0 || r[0].Offset != max(at, 4) {
			t.Errorf("from %d: %+v", at, r)
		}
		c.Close()
	}
	id := h.topic("t")
	first := h.leaderOf(core.PartitionID{Topic: id}).View()
	for _, b := range []int32{1, 2, 3} {
		if core.ReplicaID(b) != first.Leader {
			if err := h.reassign("t", 0, b); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the replica to move", func() bool { return h.moving("t") == "" })
			check()
		}
	}
	if v := h.leaderOf(core.PartitionID{Topic: id}).View(); !slices.Equal(v.Epochs[:1], first.Epochs[:1]) || v.LEO != first.LEO {
		t.Errorf("the copy knows epochs %v of %d, had %v of %d", v.Epochs, v.LEO, first.Epochs, first.LEO)
	}
	h.restart()
	check()
}

// R04: who reads within delete.retention.ms hears that a key is gone, and then nothing of it is left, whoever leads.
func TestTombstonesGoAfterTheirTime(t *testing.T) {
	h := compacting(t, 3)
	h.create("t", 1, 3, compacted("delete.retention.ms", "1500"))
	c := h.client()
	begun := time.Now()
	h.put(c, "t", "a=1")
	h.put(c, "t", "a", "b=1")
	end := h.put(c, "t", "end=1")
	h.becomes("t", end, "1:a 2:b=1 3:end=1")
	h.becomes("t", end, "2:b=1 3:end=1")
	if took := time.Since(begun); took < 1500*time.Millisecond {
		t.Errorf("gone after %s", took)
	}
	waitFor(t, "the followers", func() bool {
		for _, b := range h.cluster.Brokers() {
			for _, r := range b.Replicas() {
				if v := r.View(); v.Cleaned < 3 || v.Horizon >= 0 {
					return false
				}
			}
		}
		return true
	})
}

// R01, R02: transactions of a real client. What was aborted hides nothing, and what was committed stays committed when markers go.
func TestTransactionsInACompactedTopic(t *testing.T) {
	h := compacting(t, 1)
	h.create("t", 1, 1, compacted("delete.retention.ms", "700"))
	plain := h.client()
	c := h.client(kgo.TransactionalID("x"))
	in := func(commit kgo.TransactionEndTry, records ...string) {
		t.Helper()
		if err := c.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		h.put(c, "t", records...)
		if err := c.EndTransaction(patient(t), commit); err != nil {
			t.Fatal(err)
		}
	}
	h.put(plain, "t", "a=1", "b=1", "c=1")     // 0 1 2
	in(kgo.TryCommit, "a=2")                   // 3, marker 4
	in(kgo.TryAbort, "b=aborted", "c=aborted") // 5 6, marker 7
	in(kgo.TryCommit, "c=2")                   // 8, marker 9
	h.put(plain, "t", "a=3")                   // 10
	end := h.put(plain, "t", "end=1")          // 11
	committed := kgo.FetchIsolationLevel(kgo.ReadCommitted())
	want := "1:b=1 8:c=2 10:a=3 11:end=1"
	h.becomes("t", end, want, committed)
	h.becomes("t", end, want)
	r := h.leaderOf(core.PartitionID{Topic: h.topic("t")})
	if len(r.View().Txns.Aborted) != 1 {
		t.Errorf("the marker stays for its time: %+v", r.View().Txns)
	}
	waitFor(t, "the markers to go", func() bool { return len(r.View().Txns.Aborted) == 0 })
	h.becomes("t", end, want, committed)
	h.restart()
	h.becomes("t", end, want, committed)
	// The producer goes on: its newest batch and its marker are known (T06).
	h.put(plain, "t", "more=1")
	if v := h.leaderOf(core.PartitionID{Topic: h.topic("t")}).View(); v.LSO != v.LEO || v.LEO != 13 {
		t.Errorf("LSO %d of %d", v.LSO, v.LEO)
	}
}

// R05: a policy may be changed both ways. Records without a key, of before, stay.
func TestAPolicyIsChanged(t *testing.T) {
	h := compacting(t, 1)
	h.create("t", 1, 1, map[string]*string{"cleanup.policy": kadm.StringPtr("delete")})
	c := h.client()
	if err := c.ProduceSync(patient(t), &kgo.Record{Topic: "t", Value: []byte("keyless")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	h.put(c, "t", "a=1")
	h.put(c, "t", "a=2")
	end := h.put(c, "t", "end=1")
	policy := func(value string) {
		t.Helper()
		if _, err := kadm.NewClient(c).AlterTopicConfigs(patient(t), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &value}}, "t"); err != nil {
			t.Fatal(err)
		}
	}
	policy("compact")
	h.becomes("t", end, "0:=keyless 2:a=2 3:end=1")
	policy("delete")
	end = h.put(c, "t", "a=3")
	h.becomes("t", end, "0:=keyless 2:a=2 3:end=1 4:a=3")
	policy("compact,delete")
	end = h.put(c, "t", "end=2")
	h.becomes("t", end, "0:=keyless 3:end=1 4:a=3 5:end=2") // the newest segment hides nothing yet
}

// topic is the id of a topic.
func (h *house) topic(name string) core.TopicID {
	h.t.Helper()
	t, known := h.cluster.Newest().TopicNamed(name)
	if !known {
		h.t.Fatalf("no topic %s", name)
	}
	return t.ID
}

// R03: a consumer is not answered with what compaction has emptied alone, which some make no step from; a mirror is given it.
func TestConsumersAreNotGivenEmptyBatches(t *testing.T) {
	h := compacting(t, 1)
	h.create("t", 1, 1, compacted())
	c := h.client()
	h.put(c, "t", "a=1", "b=1")
	h.put(c, "t", "a=2")
	h.put(c, "t", "b=2")
	end := h.put(c, "t", "end=1")
	h.becomes("t", end, "2:a=2 3:b=2 4:end=1")
	for version, want := range map[int16]int64{17: 2, 20: 0} {
		part := h.fetch(fetchRequest(1, ask{topic: h.topic("t")}), version)[0]
		b, _, err := batch.Parse(part.Records)
		if err != nil || part.ErrorCode != 0 || b.BaseOffset != want || b.IsNothing() != (version == 20) {
			t.Errorf("version %d: %v, batch at %d, want %d", version, err, b.BaseOffset, want)
		}
	}
}

// R03: what is empty is put together around the end of who copies the log as replicas do: it is given the rest alone.
func TestAReaderInTheMiddleOfWhatIsEmptyIsGivenTheRest(t *testing.T) {
	h := compacting(t, 1)
	h.create("t", 1, 1, compacted())
	c := h.client()
	h.put(c, "t", "a=1", "b=1")
	h.put(c, "t", "a=2")
	h.put(c, "t", "b=2", "a=3")
	end := h.put(c, "t", "end=1")
	h.becomes("t", end, "3:b=2 4:a=3 5:end=1")
	for at := int64(0); at < 3; at++ {
		part := h.fetch(fetchRequest(1, ask{topic: h.topic("t"), offset: at}), 20)[0]
		b, _, err := batch.Parse(part.Records)
		if err != nil || part.ErrorCode != 0 || b.BaseOffset != at || b.LastOffset() != 2 || !b.IsNothing() || batch.Validate(b) != nil {
			t.Errorf("from %d: %v, batch %d to %d", at, err, b.BaseOffset, b.LastOffset())
		}
	}
}
