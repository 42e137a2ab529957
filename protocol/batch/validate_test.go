package batch

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"lockstep/protocol/perr"
)

// One change at a time to a good batch, and what the producer is told.
func TestABadBatchIsRefusedWithItsReason(t *testing.T) {
	set := func(pos int, v ...byte) func([]byte) []byte {
		return func(p []byte) []byte { copy(p[pos:], v); return p }
	}
	i32 := func(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
	cases := []struct {
		name   string
		change func([]byte) []byte
		seal   bool // put length and CRC right again
		rules  Rules
		code   perr.Code
		text   string
		record int32 // -1: none named
	}{
		{"nothing", func(p []byte) []byte { return nil }, false, Rules{}, perr.InvalidRecord, "exactly one", -1},
		{"cut", func(p []byte) []byte { return p[:len(p)-1] }, false, Rules{}, perr.CorruptMessage, "end inside", -1},
		{"cut in the header", func(p []byte) []byte { return p[:12] }, false, Rules{}, perr.CorruptMessage, "end inside", -1},
		{"magic 1", set(posMagic, 1), true, Rules{}, perr.InvalidRecord, "magic 1", -1},
		{"magic 3", set(posMagic, 3), true, Rules{}, perr.CorruptMessage, "magic 3", -1},
		{"length negative", set(posLength, 0xff), false, Rules{}, perr.CorruptMessage, "length -", -1},
		{"length below a header", set(posLength, 0, 0, 0, 48), false, Rules{}, perr.CorruptMessage, "length 48", -1},
		{"two batches", func(p []byte) []byte { return append(p, p...) }, false, Rules{}, perr.InvalidRecord, "follow the record batch", -1},
		{"flipped bit", set(len(Build(plain, someRecords(3, 8)).Bytes)-2, 0xff), false, Rules{}, perr.CorruptMessage, "CRC", -1},
		{"base offset", set(7, 5), true, Rules{}, perr.InvalidRecord, "base offset 5", -1},
		{"count 0", set(posCount, i32(0)...), true, Rules{}, perr.InvalidRecord, "0 records", -1},
		{"count negative", set(posCount, i32(-1)...), true, Rules{}, perr.InvalidRecord, "-1 records", -1},
		{"count too high", set(posCount, i32(1<<30)...), true, Rules{}, perr.InvalidRecord, "1073741824 records", -1},
		{"count and delta too high", func(p []byte) []byte { copy(p[posCount:], i32(4)); copy(p[posLastDelta:], i32(3)); return p }, true, Rules{}, perr.InvalidRecord, "ends before", 3},
		{"count and delta too low", func(p []byte) []byte { copy(p[posCount:], i32(2)); copy(p[posLastDelta:], i32(1)); return p }, true, Rules{}, perr.InvalidRecord, "more bytes", -1},
		{"delta above the count", set(posLastDelta, i32(5)...), true, Rules{}, perr.InvalidRecord, "3 records and last offset delta 5", -1},
		{"delta negative", set(posLastDelta, i32(-2)...), true, Rules{}, perr.InvalidRecord, "delta -2", -1},
		{"control bit", set(posAttributes+1, attrControl), true, Rules{}, perr.InvalidRecord, "control", -1},
		{"unknown attribute", set(posAttributes, 1), true, Rules{}, perr.InvalidRecord, "attributes", -1},
		{"append time", set(posAttributes+1, attrAppendTime), true, Rules{}, perr.InvalidTimestamp, "create times", -1},
		{"codec 5", set(posAttributes+1, 5), true, Rules{}, perr.InvalidRecord, "codec 5", -1},
		{"codec that does not fit", set(posAttributes+1, 3), true, Rules{}, perr.CorruptMessage, "lz4", -1},
		{"zstd for an old client", set(posAttributes+1, 4), true, Rules{Version: 6}, perr.UnsupportedCompressionType, "version 7", -1},
		{"producer without epoch", set(posProducerID, 0, 0, 0, 0, 0, 0, 0, 1), true, Rules{}, perr.InvalidRecord, "producer id 1", -1},
		{"producer id -2", set(posProducerID+7, 0xfe), true, Rules{}, perr.InvalidRecord, "producer id -2", -1},
		{"transaction without producer", set(posAttributes+1, attrTransaction), true, Rules{}, perr.InvalidRecord, "transactional", -1},
		{"larger than the topic allows", func(p []byte) []byte { return p }, false, Rules{MaxBytes: 100}, perr.MessageTooLarge, "max.message.bytes = 100", -1},
		{"larger than a segment", func(p []byte) []byte { return p }, false, Rules{SegmentBytes: 100}, perr.RecordListTooLarge, "segment of 100", -1},
		{"too old", func(p []byte) []byte { return p }, false, Rules{Oldest: 1800000000000}, perr.InvalidTimestamp, "refused", 0},
		{"too new", func(p []byte) []byte { return p }, false, Rules{Newest: 1600000000000}, perr.InvalidTimestamp, "refused", 0},
		{"record length", set(HeaderLen, 0x7e), true, Rules{}, perr.InvalidRecord, "record 0", 0},
		{"record length negative", set(HeaderLen, 1), true, Rules{}, perr.InvalidRecord, "record 0", 0},
		{"offset delta", set(HeaderLen+3, 4), true, Rules{}, perr.InvalidRecord, "offset delta", 0},
	}
	for _, c := range cases {
		p := c.change(bytes.Clone(Build(plain, someRecords(3, 8)).Bytes))
		if c.seal {
			p = resealed(p).Bytes
		}
		c.rules.Version = max(c.rules.Version, 3)
		_, bad := Produced(p, c.rules)
		switch {
		case bad == nil:
			t.Errorf("%s: accepted", c.name)
		case bad.Code != c.code || !strings.Contains(bad.Text, c.text):
			t.Errorf("%s: told %s %q, want %s %q", c.name, bad.Code, bad.Text, c.code, c.text)
		case c.record < 0 && len(bad.Records) > 0 || c.record >= 0 && (len(bad.Records) == 0 || bad.Records[0].Index != c.record):
			t.Errorf("%s: names records %v, want %d", c.name, bad.Records, c.record)
		}
	}
}

func TestACompactedTopicNeedsKeysAndNamesEveryRecordWithout(t *testing.T) {
	records := someRecords(4, 3)
	records[1].Key, records[3].Key = nil, nil
	_, bad := Produced(Build(plain, records).Bytes, Rules{Version: 9, Compacted: true})
	if bad == nil || bad.Code != perr.InvalidRecord || len(bad.Records) != 2 || bad.Records[0].Index != 1 || bad.Records[1].Index != 3 {
		t.Fatalf("told %+v", bad)
	}
}

// kafkajs and sarama leave epoch and sequence 0 when they are not idempotent.
func TestAnOrdinaryProducerMayLeaveEpochAndSequenceZero(t *testing.T) {
	b := Build(Batch{ProducerID: -1}, someRecords(2, 2))
	if _, bad := Produced(b.Bytes, Rules{Version: 3}); bad != nil {
		t.Fatal(bad)
	}
}
