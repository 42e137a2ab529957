package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Codes that came with a version are told from that version on, by those who answer and not only by the table: clients
// take a code they do not know for an unexpected error of the server.
func TestAnswersHaveCodesThatTheirVersionKnows(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	id := "id"
	begin := func() *kmsg.InitProducerIDResponse {
		r := kmsg.NewPtrInitProducerIDRequest()
		r.TransactionalID, r.TransactionTimeoutMillis = &id, 60_000
		return h.raw(1, r, 5).(*kmsg.InitProducerIDResponse)
	}
	fenced := begin()
	begin()
	for key, first := range map[int16]int16{messages.KeyInitProducerId: 4, messages.KeyAddPartitionsToTxn: 2, messages.KeyAddOffsetsToTxn: 2, messages.KeyEndTxn: 2} {
		for version := int16(0); version <= 4; version++ {
			var code int16
			switch key {
			case messages.KeyInitProducerId:
				if version < 3 {
					continue // which cannot say who they were
				}
				r := kmsg.NewPtrInitProducerIDRequest()
				r.TransactionalID, r.TransactionTimeoutMillis, r.ProducerID, r.ProducerEpoch = &id, 60_000, fenced.ProducerID, fenced.ProducerEpoch
				code = h.raw(1, r, version).(*kmsg.InitProducerIDResponse).ErrorCode
			case messages.KeyAddPartitionsToTxn:
				if version > 3 {
					continue // which brokers send
				}
				r := kmsg.NewPtrAddPartitionsToTxnRequest()
				r.TransactionalID, r.ProducerID, r.ProducerEpoch = id, fenced.ProducerID, fenced.ProducerEpoch
				r.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: []int32{0}}}
				code = h.raw(1, r, version).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode
			case messages.KeyAddOffsetsToTxn:
				r := kmsg.NewPtrAddOffsetsToTxnRequest()
				r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Group = id, fenced.ProducerID, fenced.ProducerEpoch, "g"
				code = h.raw(1, r, version).(*kmsg.AddOffsetsToTxnResponse).ErrorCode
			case messages.KeyEndTxn:
				r := kmsg.NewPtrEndTxnRequest()
				r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = id, fenced.ProducerID, fenced.ProducerEpoch, true
				code = h.raw(1, r, version).(*kmsg.EndTxnResponse).ErrorCode
			}
			want := perr.ProducerFenced
			if version < first {
				want = perr.InvalidProducerEpoch
			}
			if perr.Code(code) != want {
				t.Errorf("key %d v%d: %s, want %s", key, version, perr.Code(code), want)
			}
		}
	}
	for version, want := range map[int16]perr.Code{4: perr.NotLeaderOrFollower, 5: perr.NotLeaderOrFollower, 6: perr.KafkaStorageError, 18: perr.KafkaStorageError} {
		r := fetchRequest(1 << 20)
		r.SetVersion(version)
		out := messages.NewFetchResponsePartition()
		(&answer{fetch: &fetch{req: r}}).refuse(&out, perr.KafkaStorageError)
		if perr.Code(out.ErrorCode) != want {
			t.Errorf("Fetch v%d of a lost volume: %s, want %s", version, perr.Code(out.ErrorCode), want)
		}
	}
}
