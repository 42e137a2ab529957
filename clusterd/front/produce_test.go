package front

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// TestWhatIsProducedIsConsumed with every codec, through three brokers and a leader per partition.
func TestWhatIsProducedIsConsumed(t *testing.T) {
	h := newHouse(t, 3)
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			topic := "codec-" + name
			h.create(topic, 3, 3, nil)
			records := values(name, 500)
			h.produce(topic, records, kgo.ProducerBatchCompression(codec))
			wantEqual(t, topic, h.consume(topic, len(records)), sortedValues(records))
		})
	}
}

// oneRecord is a batch as a producer sends it.
func oneRecord(header batch.Batch, value string) []byte {
	return batch.Build(header, []batch.Record{{Timestamp: 1_700_000_000_000, Value: []byte(value)}}).Bytes
}

var plain = batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}

func produceRequest(topic string, acks int16, records []byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = acks, 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Records = records
	rt.Partitions = append(rt.Partitions, rp)
	r.Topics = append(r.Topics, rt)
	return r
}

// produceOnce sends one batch to partition 0 by name in one version.
func (h *house) produceOnce(topic string, version, acks int16, records []byte) kmsg.ProduceResponseTopicPartition {
	h.t.Helper()
	resp := h.raw(1, produceRequest(topic, acks, records), version).(*kmsg.ProduceResponse)
	return resp.Topics[0].Partitions[0]
}

// TestAnIdempotentRetryIsAnsweredWithTheOriginalOffset: compat-T02, R7.
func TestAnIdempotentRetryIsAnsweredWithTheOriginalOffset(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	first := batch.Batch{ProducerID: 77, ProducerEpoch: 0, BaseSequence: 0}
	second := batch.Batch{ProducerID: 77, ProducerEpoch: 0, BaseSequence: 1}
	for i, step := range []struct {
		header batch.Batch
		want   int64
		code   perr.Code
	}{
		{first, 0, perr.None}, {second, 1, perr.None}, {first, 0, perr.None}, {second, 1, perr.None},
		{batch.Batch{ProducerID: 77, BaseSequence: 5}, -1, perr.OutOfOrderSequenceNumber},
	} {
		got := h.produceOnce("t", 9, -1, oneRecord(step.header, fmt.Sprint(i)))
		if perr.Code(got.ErrorCode) != step.code || got.BaseOffset != step.want {
			t.Errorf("step %d: %s at offset %d, want %s at %d", i, perr.Code(got.ErrorCode), got.BaseOffset, step.code, step.want)
		}
	}
}

// TestBadBatchesAreRefusedAndNotStored: compat-P01, P02, P03, P06, P08, P10, P11, A18.
func TestBadBatchesAreRefusedAndNotStored(t *testing.T) {
	h := newHouse(t, 1)
	small := "1000"
	h.create("t", 1, 1, map[string]*string{"max.message.bytes": &small})
	good := oneRecord(plain, "v")
	damaged := append([]byte(nil), good...)
	damaged[len(damaged)-1] ^= 1
	old := append([]byte(nil), good...)
	old[16] = 1 // magic
	control := batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Attributes: 0x20}
	transactional := batch.Batch{ProducerID: 5, Attributes: 0x10}
	late := batch.Build(plain, []batch.Record{{Timestamp: 1_700_000_000_000}, {Timestamp: 1 << 50}}).Bytes
	zstd := batch.Build(batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Attributes: 4}, []batch.Record{{}}).Bytes
	for _, c := range []struct {
		name    string
		version int16
		acks    int16
		records []byte
		want    perr.Code
		indexes []int32
	}{
		{"no batch", 9, -1, []byte{}, perr.InvalidRecord, nil},
		{"null records", 9, -1, nil, perr.InvalidRecord, nil},
		{"two batches", 9, -1, append(append([]byte(nil), good...), good...), perr.InvalidRecord, nil},
		{"bad crc", 9, -1, damaged, perr.CorruptMessage, nil},
		{"cut short", 9, -1, good[:len(good)-3], perr.CorruptMessage, nil},
		{"magic 1", 9, -1, old, perr.InvalidRecord, nil},
		{"control batch", 9, -1, oneRecord(control, "v"), perr.InvalidRecord, nil},
		{"transactional batch", 9, -1, oneRecord(transactional, "v"), perr.TransactionalIdAuthorizationFailed, nil},
		{"larger than max.message.bytes", 9, -1, oneRecord(plain, string(make([]byte, 2000))), perr.MessageTooLarge, nil},
		{"zstd before version 7", 6, -1, zstd, perr.UnsupportedCompressionType, nil},
		{"acks 2", 9, 2, good, perr.InvalidRequiredAcks, nil},
		{"timestamp of the far future", 9, -1, late, perr.InvalidTimestamp, []int32{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := h.produceOnce("t", c.version, c.acks, c.records)
			if perr.Code(got.ErrorCode) != c.want || got.BaseOffset != -1 {
				t.Errorf("%s at offset %d, want %s", perr.Code(got.ErrorCode), got.BaseOffset, c.want)
			}
			if c.version >= 8 && (got.ErrorMessage == nil || *got.ErrorMessage == "") {
				t.Error("no text")
			}
			var indexes []int32
			for _, r := range got.ErrorRecords {
				indexes = append(indexes, r.RelativeOffset)
			}
			if fmt.Sprint(indexes) != fmt.Sprint(c.indexes) {
				t.Errorf("records %v are blamed, want %v", indexes, c.indexes)
			}
		})
	}
	if got := h.produceOnce("t", 9, -1, good); got.ErrorCode != 0 || got.BaseOffset != 0 {
		t.Errorf("the first good batch got offset %d (%s): something bad was stored", got.BaseOffset, perr.Code(got.ErrorCode))
	}
}

// max.message.bytes=0 was no bound at all.
func TestNoBatchFitsIntoNoBytes(t *testing.T) {
	h := newHouse(t, 1)
	none := "0"
	h.create("t", 1, 1, map[string]*string{"max.message.bytes": &none})
	if got := h.produceOnce("t", 9, -1, oneRecord(plain, "v")); perr.Code(got.ErrorCode) != perr.MessageTooLarge {
		t.Errorf("%s", perr.Code(got.ErrorCode))
	}
}

// TestNoAnswerWithoutAcks: compat-P09. The answer to the next request comes next, and a failed produce
// ends the connection.
func TestNoAnswerWithoutAcks(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	c := dial(t, h.addrs[0])
	for i := range int32(3) {
		sendRequest(t, c, i, produceRequest("t", 0, oneRecord(plain, "v")), 9)
	}
	sendRequest(t, c, 9, kmsg.NewPtrMetadataRequest(), 1)
	if got, _ := readResponse(t, c); got != 9 {
		t.Fatalf("answer %d, want 9", got)
	}
	waitFor(t, "three records", func() bool { return h.latest("t") == 3 })
	sendRequest(t, c, 10, produceRequest("unknown", 0, oneRecord(plain, "v")), 9)
	sendRequest(t, c, 11, kmsg.NewPtrMetadataRequest(), 1)
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Fatalf("%d bytes after a failed produce without acks", n)
	}
}

// TestLogAppendTime: compat-P05, compat-L06.
func TestLogAppendTime(t *testing.T) {
	h := newHouse(t, 1)
	kind := "LogAppendTime"
	h.create("t", 1, 1, map[string]*string{"message.timestamp.type": &kind})
	before := h.cluster.Now().Wall
	got := h.produceOnce("t", 9, -1, oneRecord(plain, "v"))
	if got.ErrorCode != 0 || got.LogAppendTime < before {
		t.Fatalf("%s, append time %d", perr.Code(got.ErrorCode), got.LogAppendTime)
	}
	if found := h.listOffset("t", got.LogAppendTime); found.Offset != 0 || found.Timestamp != got.LogAppendTime {
		t.Errorf("offset %d with time %d, want 0 with %d", found.Offset, found.Timestamp, got.LogAppendTime)
	}
}

// A duplicate is told the time that its records have: that of the first append. It was told the time of the retry.
func TestADuplicateHasTheTimeOfItsOriginal(t *testing.T) { // compat-P05, compat-T02
	h := newHouse(t, 1)
	h.create("t", 1, 1, map[string]*string{"message.timestamp.type": ptr("LogAppendTime")})
	for acks, producer := range map[int16]int64{-1: 77, 1: 78} {
		send := func() kmsg.ProduceResponseTopicPartition {
			return h.produceOnce("t", 9, acks, oneRecord(batch.Batch{ProducerID: producer}, "v"))
		}
		first := send()
		waitFor(t, "another time", func() bool { return h.cluster.Now().Wall > first.LogAppendTime })
		again := send()
		if first.ErrorCode != 0 || again.ErrorCode != 0 || first.LogAppendTime <= 0 || again.BaseOffset != first.BaseOffset || again.LogAppendTime != first.LogAppendTime {
			t.Errorf("acks=%d: offset %d at %d, then %d at %d", acks, first.BaseOffset, first.LogAppendTime, again.BaseOffset, again.LogAppendTime)
		}
	}
}

// TestSyncErrorsAreMappedDownBelowProduce14: compat §1.4, rulings §1.
func TestSyncErrorsAreMappedDownBelowProduce14(t *testing.T) {
	for _, c := range []struct {
		code    perr.Code
		version int16
		want    perr.Code
	}{
		{perr.MirrorSyncReplicationTimeout, 13, perr.NotEnoughReplicasAfterAppend},
		{perr.MirrorSyncReplicationTimeout, 14, perr.MirrorSyncReplicationTimeout},
		{perr.NotEnoughRemoteReplicasAfterAppend, 3, perr.NotEnoughReplicasAfterAppend},
		{perr.NotEnoughRemoteReplicasAfterAppend, 14, perr.NotEnoughRemoteReplicasAfterAppend},
		{perr.ReadOnlyTopic, 13, perr.PolicyViolation},
		{perr.ReadOnlyTopic, 14, perr.ReadOnlyTopic},
		{perr.NotLeaderOrFollower, 3, perr.NotLeaderOrFollower},
	} {
		p := &produce{version: c.version}
		out := kmsg.NewProduceResponseTopicPartition()
		p.refuse(&out, c.code, "appended at offset 7, not yet durable on m1")
		if perr.Code(out.ErrorCode) != c.want {
			t.Errorf("%s at version %d: %s, want %s", c.code, c.version, perr.Code(out.ErrorCode), c.want)
		}
		if out.ErrorMessage == nil || *out.ErrorMessage != "appended at offset 7, not yet durable on m1" {
			t.Errorf("%s at version %d lost its text", c.code, c.version)
		}
	}
}
