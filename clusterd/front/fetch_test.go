package front

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// ask describes one partition of a fetch by its topic's id.
type ask struct {
	topic     core.TopicID
	partition int32
	offset    int64
	maxBytes  int32
	current   int32 // leader epoch the asker believes in; 0 means -1
	last      int32 // last fetched epoch; 0 means -1
}

func fetchRequest(maxBytes int32, asks ...ask) *messages.FetchRequest {
	r := messages.NewPtrFetchRequest()
	r.MaxBytes, r.MinBytes, r.MaxWaitMs = maxBytes, 1, 0
	for _, a := range asks {
		t := messages.NewFetchRequestTopic()
		t.TopicId = a.topic
		p := messages.NewFetchRequestPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = a.partition, a.offset, a.maxBytes
		if a.maxBytes == 0 {
			p.PartitionMaxBytes = 1 << 20
		}
		p.CurrentLeaderEpoch, p.LastFetchedEpoch = a.current-1, a.last-1
		t.Partitions = append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	}
	return r
}

// fetch asks broker 1 and returns the partitions in the order asked.
func (h *house) fetch(r *messages.FetchRequest, version int16) (parts []messages.FetchResponsePartition) {
	h.t.Helper()
	resp := h.raw(1, r, version).(*messages.FetchResponse)
	if resp.ErrorCode != 0 {
		h.t.Fatalf("fetch: %s", perr.Code(resp.ErrorCode))
	}
	for _, t := range resp.Responses {
		parts = append(parts, t.Partitions...)
	}
	return parts
}

// fill creates a topic of one partition on one broker with n batches of one record of size bytes.
func (h *house) fill(topic string, n, size int) core.TopicID {
	h.t.Helper()
	id := core.TopicID(h.create(topic, 1, 1, nil).ID)
	for range n {
		if got := h.produceOnce(topic, 9, -1, oneRecord(plain, strings.Repeat("x", size))); got.ErrorCode != 0 {
			h.t.Fatal(perr.Code(got.ErrorCode))
		}
	}
	// Readers see what is acknowledged once its ledger entry is on disk.
	waitFor(h.t, "all of "+topic+" below HW", func() bool { return h.listOffset(topic, askLatest).Offset == int64(n) })
	return id
}

// TestTheFirstBatchGoesOutWhole: compat-F01, F02, F03. Once per answer, and every partition is listed.
func TestTheFirstBatchGoesOutWhole(t *testing.T) {
	h := newHouse(t, 1)
	a, b, empty := h.fill("a", 3, 1000), h.fill("b", 3, 1000), h.fill("empty", 0, 0)
	one := len(oneRecord(plain, strings.Repeat("x", 1000)))
	for _, c := range []struct {
		name     string
		max      int32
		part     int32
		want     [3]int // bytes of empty, a, b
		minBytes int32
	}{
		{"limits below one batch", 10, 10, [3]int{0, one, 0}, 1},
		{"a partition limit of two batches and a half", 1 << 20, int32(2*one + one/2), [3]int{0, 2 * one, 2 * one}, 1},
		{"an answer of four batches and a half", int32(4*one + one/2), 1 << 20, [3]int{0, 3 * one, one}, 1},
		{"an answer that the first partition fills", int32(3 * one), 1 << 20, [3]int{0, 3 * one, 0}, 1},
		{"no limits", 1 << 30, 1 << 20, [3]int{0, 3 * one, 3 * one}, 1},
		{"negative limits", -1, -1, [3]int{0, one, 0}, 1},
	} {
		got := h.fetch(fetchRequest(c.max, ask{topic: empty, maxBytes: c.part}, ask{topic: a, maxBytes: c.part}, ask{topic: b, maxBytes: c.part}), 13)
		if len(got) != 3 {
			t.Fatalf("%s: %d partitions are listed", c.name, len(got))
		}
		for i, p := range got {
			if p.ErrorCode != 0 || len(p.Records) != c.want[i] {
				t.Errorf("%s: partition %d has %d bytes (%s), want %d", c.name, i, len(p.Records), perr.Code(p.ErrorCode), c.want[i])
			}
			if p.Records == nil {
				t.Errorf("%s: partition %d has null records (compat-F16)", c.name, i)
			}
		}
	}
}

// TestOffsetsOutsideTheLog: compat-F12, F15.
func TestOffsetsOutsideTheLog(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 2, 10)
	for offset, want := range map[int64]perr.Code{-1: perr.OffsetOutOfRange, 0: perr.None, 2: perr.None, 3: perr.OffsetOutOfRange, 1 << 60: perr.OffsetOutOfRange} {
		p := h.fetch(fetchRequest(1<<20, ask{topic: id, offset: offset}), 13)[0]
		if perr.Code(p.ErrorCode) != want {
			t.Errorf("offset %d: %s, want %s", offset, perr.Code(p.ErrorCode), want)
		}
		hw, lso, start := int64(2), int64(2), int64(0)
		if want != perr.None {
			hw, lso, start = -1, -1, -1
		}
		if p.HighWatermark != hw || p.LastStableOffset != lso || p.LogStartOffset != start {
			t.Errorf("offset %d: HW %d LSO %d start %d beside %s", offset, p.HighWatermark, p.LastStableOffset, p.LogStartOffset, want)
		}
	}
}

// TestEpochsOfAFetch: compat-E02 and divergence; below the log is out of range before anything else (F13).
func TestEpochsOfAFetch(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 2, 10)
	first := h.listOffset("t", -1).LeaderEpoch
	h.restart()
	waitFor(t, "a leader", func() bool { return h.listOffset("t", -1).ErrorCode == 0 })
	h.produceOnce("t", 9, -1, oneRecord(plain, "c"))
	second := h.listOffset("t", -1).LeaderEpoch
	for _, c := range []struct {
		name            string
		offset          int64
		current, last   int32
		code            perr.Code
		divEpoch        int32
		divEnd          int64
		records, urgent bool
	}{
		{name: "current", offset: 2, current: second, last: first, divEpoch: -1, divEnd: -1, records: true},
		{name: "fenced", offset: 2, current: first, last: -1, code: perr.FencedLeaderEpoch, divEpoch: -1, divEnd: -1},
		{name: "unknown", offset: 2, current: second + 1, last: -1, code: perr.UnknownLeaderEpoch, divEpoch: -1, divEnd: -1},
		{name: "diverged: ours of that epoch ends earlier", offset: 3, current: second, last: first, divEpoch: first, divEnd: 2},
		{name: "last epoch of the future", offset: 3, current: -1, last: second + 1, code: perr.OffsetOutOfRange, divEpoch: -1, divEnd: -1},
		{name: "below the log", offset: -1, current: -1, last: first, code: perr.OffsetOutOfRange, divEpoch: -1, divEnd: -1},
	} {
		r := fetchRequest(1<<20, ask{topic: id, offset: c.offset, current: c.current + 1, last: c.last + 1})
		r.MaxWaitMs = 10_000 // an error or a divergence is answered at once (compat-F04)
		began := time.Now()
		p := h.fetch(r, 13)[0]
		if perr.Code(p.ErrorCode) != c.code || p.DivergingEpoch.Epoch != c.divEpoch || p.DivergingEpoch.EndOffset != c.divEnd || (len(p.Records) > 0) != c.records {
			t.Errorf("%s: %s, diverging %+v, %d bytes", c.name, perr.Code(p.ErrorCode), p.DivergingEpoch, len(p.Records))
		}
		if time.Since(began) > 5*time.Second {
			t.Errorf("%s: answered after %s", c.name, time.Since(began))
		}
	}
}

// TestALongPollWaitsAndWakes: compat-F04, F05. It waits for its time on an idle topic, and is woken by an
// append long before.
func TestALongPollWaitsAndWakes(t *testing.T) {
	h := newHouse(t, 3)
	id := core.TopicID(h.create("t", 1, 3, nil).ID)
	leader := h.leader("t", 0)
	c := dial(t, h.addrs[leader-1])
	r := fetchRequest(1<<20, ask{topic: id})
	r.MaxWaitMs = 200
	began := time.Now()
	sendRequest(t, c, 1, r, 13)
	_, body := readResponse(t, c)
	if waited := time.Since(began); waited < 190*time.Millisecond {
		t.Errorf("an idle topic was answered after %s", waited)
	}
	if p := decodeStrictly(t, r, body).(*messages.FetchResponse).Responses[0].Partitions[0]; len(p.Records) > 0 || p.ErrorCode != 0 {
		t.Errorf("%+v", p)
	}
	r.MaxWaitMs = 8_000
	sendRequest(t, c, 2, r, 13)
	h.produce("t", values("v", 1))
	_, body = readResponse(t, c)
	if p := decodeStrictly(t, r, body).(*messages.FetchResponse).Responses[0].Partitions[0]; len(p.Records) == 0 {
		t.Errorf("woken without records: %+v", p)
	}
}

// TestMinBytesIsWaitedFor over all partitions (compat-F04).
func TestMinBytesIsWaitedFor(t *testing.T) {
	h := newHouse(t, 1)
	a, b := h.fill("a", 1, 1000), h.fill("b", 0, 0)
	r := fetchRequest(1<<20, ask{topic: a}, ask{topic: b})
	r.MinBytes, r.MaxWaitMs = 2500, 8000
	c := dial(t, h.addrs[0])
	sendRequest(t, c, 1, r, 13)
	for _, topic := range []string{"b", "a"} {
		h.produceOnce(topic, 9, -1, oneRecord(plain, strings.Repeat("y", 1000)))
	}
	_, body := readResponse(t, c)
	total := 0
	for _, topic := range decodeStrictly(t, r, body).(*messages.FetchResponse).Responses {
		total += len(topic.Partitions[0].Records)
	}
	if total < 2500 {
		t.Errorf("%d bytes came, 2500 were to be waited for", total)
	}
}

// TestAPollOfADeletedTopicEnds: deletion wakes parked fetches (compat-F05).
func TestAPollOfADeletedTopicEnds(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 0, 0)
	r := fetchRequest(1<<20, ask{topic: id})
	r.MaxWaitMs = 8000
	c := dial(t, h.addrs[0])
	sendRequest(t, c, 1, r, 13)
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.TopicNames = []string{"t"}
	if got := h.raw(1, del, 5).(*kmsg.DeleteTopicsResponse); got.Topics[0].ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	_, body := readResponse(t, c)
	code := perr.Code(decodeStrictly(t, r, body).(*messages.FetchResponse).Responses[0].Partitions[0].ErrorCode)
	if code != perr.UnknownTopicId && code != perr.NotLeaderOrFollower {
		t.Errorf("%s", code)
	}
}

// TestAPollOfALostVolumeEnds with an error, and does not spin on an actor that is gone.
func TestAPollOfALostVolumeEnds(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 0, 0)
	r := fetchRequest(1<<20, ask{topic: id})
	r.MaxWaitMs = 8000
	c := dial(t, h.addrs[0])
	sendRequest(t, c, 1, r, 13)
	waitFor(t, "the poll to be read", func() bool { return h.fronts[0].inFlight() == 1 })
	h.volumes[0].Poison(errors.New("the disk is gone"))
	h.produceOnce("t", 9, 1, oneRecord(plain, "v")) // the first write finds out
	_, body := readResponse(t, c)
	if p := decodeStrictly(t, r, body).(*messages.FetchResponse).Responses[0].Partitions[0]; p.ErrorCode == 0 {
		t.Errorf("%+v", p)
	}
}

// TestZstdIsNotForOldFetchers: compat-F19.
func TestZstdIsNotForOldFetchers(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	h.produce("t", values("v", 50), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	r := fetchRequest(1<<20, ask{})
	r.Topics[0].Topic = "t"
	for version, want := range map[int16]perr.Code{9: perr.UnsupportedCompressionType, 10: perr.None} {
		p := h.fetch(r, version)[0]
		if perr.Code(p.ErrorCode) != want || (len(p.Records) > 0) != (want == perr.None) {
			t.Errorf("version %d: %s with %d bytes", version, perr.Code(p.ErrorCode), len(p.Records))
		}
	}
}

// TestReadCommittedHasAnAbortedList and read_uncommitted has none: compat-F16.
func TestReadCommittedHasAnAbortedList(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	for level, null := range map[int8]bool{0: true, 1: false} {
		r := fetchRequest(1<<20, ask{topic: id})
		r.IsolationLevel = level
		if p := h.fetch(r, 13)[0]; (p.AbortedTransactions == nil) != null || len(p.Records) == 0 {
			t.Errorf("isolation %d: aborted %v, %d bytes", level, p.AbortedTransactions, len(p.Records))
		}
	}
}

// TestStrangersReportNothing: F47, C1. A report under a registration that the ledger does not have is
// denied per partition, never reads above HW, and leaves the other partitions alone.
func TestStrangersReportNothing(t *testing.T) {
	h := newHouse(t, 1)
	a, b := h.fill("a", 2, 10), h.fill("b", 2, 10)
	r := fetchRequest(1<<20, ask{topic: a}, ask{topic: b})
	r.MirrorReplicaInfo.MirrorName = "m"
	floors := messages.NewReplicaFloors()
	floors.DestinationCluster, floors.MirrorName = "dc2", "m"
	ft := messages.NewReplicaFloorsTopic()
	ft.TopicId = a
	fp := messages.NewReplicaFloorsPartition()
	fp.Floor, fp.RegistrationEpoch, fp.IsrSize, fp.MinIsr = 1<<40, 7, 3, 2
	ft.Partitions = append(ft.Partitions, fp)
	floors.Topics = append(floors.Topics, ft)
	r.MirrorReplicaInfo.Floors = &floors
	var got []messages.FetchResponsePartition
	waitFor(t, "the HW of what was acknowledged", func() bool { // it is shown once its ledger entry is on disk
		got = h.fetch(r, 20)
		return got[0].Evidence != nil && got[1].Evidence != nil && got[0].Evidence.HighWatermark == 2 && got[1].Evidence.HighWatermark == 2
	})
	if perr.Code(got[0].ErrorCode) != perr.InvalidSyncRegistration || len(got[0].Records) > 0 {
		t.Errorf("the reported partition: %s with %d bytes", perr.Code(got[0].ErrorCode), len(got[0].Records))
	}
	if got[1].ErrorCode != 0 || len(got[1].Records) == 0 {
		t.Errorf("the other partition: %s with %d bytes", perr.Code(got[1].ErrorCode), len(got[1].Records))
	}
	for i, p := range got {
		if p.Evidence == nil || p.Evidence.HighWatermark != 2 || p.Evidence.Gating || p.Evidence.TimeMs != -1 {
			t.Errorf("partition %d: evidence %+v", i, p.Evidence)
		}
	}
}

// leader is the broker that leads a partition, once somebody does.
func (h *house) leader(topic string, index int) core.ReplicaID {
	h.t.Helper()
	leader := core.NoReplica
	waitFor(h.t, "a leader of "+topic, func() bool {
		t, ok := h.cluster.Newest().TopicNamed(topic)
		if ok {
			leader = t.Partitions[index].Leader
		}
		return leader != core.NoReplica
	})
	return leader
}

// Readers are shown what the ledger has on disk, and an ack does not wait for that. Whoever reads after an ack
// finds the record all the same, also without waiting time.
func TestWhatWasAcknowledgedIsFoundByTheNextReader(t *testing.T) { // I14
	h := newHouse(t, 1)
	id := h.fill("orders", 0, 0)
	h.volumes[0].SetLatency(time.Millisecond) // the ledger has HW one sync after the ack
	for i := range int64(60) {
		if got := h.produceOnce("orders", 9, -1, oneRecord(plain, "v")); got.ErrorCode != 0 || got.BaseOffset != i {
			t.Fatalf("%+v", got)
		}
		if i%2 == 0 {
			if got := h.listOffset("orders", askLatest); got.Offset != i+1 {
				t.Fatalf("record %d is acknowledged, the end is %d", i, got.Offset)
			}
			continue
		}
		r := fetchRequest(1<<20, ask{topic: id, offset: i})
		r.MinBytes = int32(i % 3)
		if got := h.fetch(r, 17)[0]; len(got.Records) == 0 || got.HighWatermark != i+1 {
			t.Fatalf("record %d is acknowledged, a fetch finds %d bytes below %d", i, len(got.Records), got.HighWatermark)
		}
	}
}
