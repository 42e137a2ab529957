package front

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// TestEveryBatchCarriesItsLeadersEpoch: compat-E04, E06, E07. Data and markers carry the epoch that Metadata shows, and it
// never falls along the log.
func TestEveryBatchCarriesItsLeadersEpoch(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	shown := func() (epoch int32) {
		waitFor(t, "a leader", func() bool {
			p := h.raw(1, metadataOf("t"), 9).(*kmsg.MetadataResponse).Topics[0].Partitions
			if len(p) == 1 && p[0].ErrorCode == 0 {
				epoch = p[0].LeaderEpoch
			}
			return len(p) == 1 && p[0].ErrorCode == 0
		})
		return epoch
	}
	first := shown()
	h.restart()
	second := shown()
	h.transact(h.transactional("id"), true, "t", "v")
	waitFor(t, "the marker", func() bool { return h.latest("t") == 3 })
	bytes := h.fetch(fetchRequest(1<<20, ask{topic: id}), 13)[0].Records
	var epochs []int32
	control := false
	for len(bytes) > 0 {
		b, rest, err := batch.Parse(bytes)
		if err != nil {
			t.Fatal(err)
		}
		epochs, control, bytes = append(epochs, b.LeaderEpoch), b.IsControl(), rest
	}
	if len(epochs) != 3 || epochs[0] != first || epochs[1] != second || epochs[2] != second || first >= second || !control {
		t.Errorf("epochs %v, the last is a marker: %t; Metadata showed %d, then %d", epochs, control, first, second)
	}
}

// TestAnAnswerSaysWhereTheLogBegins: compat-P15; and without LogAppendTime there is no time of append.
func TestAnAnswerSaysWhereTheLogBegins(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	for version := int16(3); version <= 12; version++ {
		got := h.produceOnce("t", version, -1, oneRecord(plain, "v"))
		if got.ErrorCode != 0 || version >= 5 && got.LogStartOffset != 0 || got.LogAppendTime != -1 {
			t.Errorf("version %d: %+v", version, got)
		}
	}
}

// TestTimesThatATopicAllows: compat-P11, in both directions.
func TestTimesThatATopicAllows(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, map[string]*string{"message.timestamp.before.max.ms": ptr("3600000"), "message.timestamp.after.max.ms": ptr("3600000")})
	now := h.cluster.Now().Wall
	for _, c := range []struct {
		at   int64
		want perr.Code
	}{{now, perr.None}, {now - 60_000, perr.None}, {now + 60_000, perr.None}, {now - 2*3600_000, perr.InvalidTimestamp}, {now + 2*3600_000, perr.InvalidTimestamp}} {
		got := h.produceOnce("t", 9, -1, batch.Build(plain, []batch.Record{{Timestamp: now}, {Timestamp: c.at}}).Bytes)
		if perr.Code(got.ErrorCode) != c.want || (len(got.ErrorRecords) == 1 && got.ErrorRecords[0].RelativeOffset == 1) != (c.want != perr.None) {
			t.Errorf("%d ms from now: %s, blamed %+v", c.at-now, perr.Code(got.ErrorCode), got.ErrorRecords)
		}
	}
}

// TestACompactedTopicBlamesRecordsWithoutAKey: compat-P12.
func TestACompactedTopicBlamesRecordsWithoutAKey(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, map[string]*string{"cleanup.policy": ptr("compact")})
	keyed := batch.Record{Timestamp: 1_700_000_000_000, Key: []byte("k"), Value: []byte("v")}
	bare := batch.Record{Timestamp: 1_700_000_000_000, Value: []byte("v")}
	got := h.produceOnce("t", 9, -1, batch.Build(plain, []batch.Record{keyed, bare}).Bytes)
	if perr.Code(got.ErrorCode) != perr.InvalidRecord || len(got.ErrorRecords) != 1 || got.ErrorRecords[0].RelativeOffset != 1 {
		t.Errorf("%s, blamed %+v", perr.Code(got.ErrorCode), got.ErrorRecords)
	}
	if got := h.produceOnce("t", 9, -1, batch.Build(plain, []batch.Record{keyed}).Bytes); got.ErrorCode != 0 || got.BaseOffset != 0 {
		t.Errorf("%s at %d", perr.Code(got.ErrorCode), got.BaseOffset)
	}
}

// TestTimesInsideCompressedBatchesAreFound: compat-L05, compat-L07.
func TestTimesInsideCompressedBatchesAreFound(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	const day = 1_700_000_000_000
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c := h.client(kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(10*time.Millisecond))
		base := h.latest("t")
		var records []*kgo.Record
		for _, at := range []int64{10, 30, 20} {
			records = append(records, &kgo.Record{Value: make([]byte, 500), Timestamp: time.UnixMilli(day + base*1000 + at)})
		}
		if err := c.ProduceSync(patient(t), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the records", func() bool { return h.latest("t") == base+3 })
		for ts, want := range map[int64]int64{-3: base + 1, day + base*1000 + 11: base + 1, day + base*1000 + 10: base} {
			if got := h.listOffset("t", ts); got.Offset != want || ts == -3 && got.Timestamp != day+base*1000+30 {
				t.Errorf("%d: offset %d at %d, want %d", ts, got.Offset, got.Timestamp, want)
			}
		}
	}
}

// TestAnOldEpochAsksForNoOffsets: compat-E02 for ListOffsets.
func TestAnOldEpochAsksForNoOffsets(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	h.restart() // into an epoch that has one before it
	waitFor(t, "a leader", func() bool { return h.listOffset("t", askLatest).ErrorCode == 0 })
	now := h.listOffset("t", askLatest).LeaderEpoch
	for epoch, want := range map[int32]perr.Code{now: perr.None, -1: perr.None, now + 1: perr.UnknownLeaderEpoch, now - 1: perr.FencedLeaderEpoch} {
		r := kmsg.NewPtrListOffsetsRequest()
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = "t"
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Timestamp, rp.CurrentLeaderEpoch = askLatest, epoch
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		if got := perr.Code(h.raw(1, r, 4).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode); got != want {
			t.Errorf("epoch %d of %d: %s, want %s", epoch, now, got, want)
		}
	}
}

// TestNobodyIsSentToAnotherReplica: compat-F20. There is no selector of replicas, whatever rack a reader is in.
func TestNobodyIsSentToAnotherReplica(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	for version := int16(11); version <= 18; version++ {
		r := fetchRequest(1<<20, ask{topic: id})
		r.Topics[0].Topic, r.RackId = "t", "rack-1"
		p := h.raw(1, r, version).(*messages.FetchResponse).Responses[0].Partitions[0]
		if p.ErrorCode != 0 || p.PreferredReadReplica != -1 || len(p.Records) == 0 {
			t.Errorf("version %d: %s, replica %d, %d bytes", version, perr.Code(p.ErrorCode), p.PreferredReadReplica, len(p.Records))
		}
	}
}

// TestOnlyMetadataMakesTopics: compat-H03. Describing and reading make none, although the broker would.
func TestOnlyMetadataMakesTopics(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	h.listOffset("other", askLatest)
	h.produceOnce("other", 9, -1, oneRecord(plain, "v"))
	r := fetchRequest(1<<20, ask{topic: core.TopicID{1}})
	r.Topics[0].Topic = "other"
	h.fetch(r, 12)
	adm := kadm.NewClient(h.client())
	if _, err := adm.DescribeTopicConfigs(patient(t), "other"); err != nil {
		t.Fatal(err)
	}
	h.describePages(10, "other")
	h.commitRaw("g", "other")
	if all := h.raw(1, metadataOf(), 0).(*kmsg.MetadataResponse).Topics; len(all) != 1 {
		t.Errorf("%d topics: %+v", len(all), all)
	}
}

// TestMorePartitionsKeepTheSettings: compat-R06.
func TestMorePartitionsKeepTheSettings(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, map[string]*string{"cleanup.policy": ptr("compact")})
	if r, err := kadm.NewClient(h.client()).CreatePartitions(patient(t), 2, "t"); err != nil || r.Error() != nil {
		t.Fatal(err, r.Error())
	}
	waitFor(t, "three partitions", func() bool {
		return len(h.raw(1, metadataOf("t"), 1).(*kmsg.MetadataResponse).Topics[0].Partitions) == 3
	})
	if got := h.config(kmsg.ConfigResourceTypeTopic, "t", "cleanup.policy"); got != "compact" {
		t.Errorf("cleanup.policy is %q", got)
	}
}

// TestBrokersSayNoRack: compat-H12, compat-K6: null, which every client takes, and ids begin at 1 (compat-H11).
func TestBrokersSayNoRack(t *testing.T) {
	h := newHouse(t, 2)
	for version := int16(1); version <= 13; version++ {
		r := kmsg.NewPtrMetadataRequest()
		for i, b := range h.raw(1, r, version).(*kmsg.MetadataResponse).Brokers {
			if b.Rack != nil || b.NodeID != int32(i+1) {
				t.Errorf("version %d: broker %d is in rack %v", version, b.NodeID, b.Rack)
			}
		}
	}
	d := h.raw(1, kmsg.NewPtrDescribeClusterRequest(), 1).(*kmsg.DescribeClusterResponse)
	if d.ErrorCode != 0 || d.ClusterID != "dc1" || len(d.Brokers) != 2 || d.ControllerID < 1 {
		t.Errorf("%+v", d)
	}
}
