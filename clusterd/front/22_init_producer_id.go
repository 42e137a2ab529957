package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// InitProducerId v0–5, for idempotent producers. v2 is flexible, v3 brings the producer's own id and
// epoch, v4 the error PRODUCER_FENCED.
//
// Transactions are not served. A transactional id is answered with TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
// here, in FindCoordinator and for transactional batches: it is the one code that Java, librdkafka and franz-go all treat as final.
// COORDINATOR_NOT_AVAILABLE or a closed connection would make them ask for ever.

const noTransactions = "this cluster does not serve transactions; use an idempotent producer without a transactional id"

func (f *Front) initProducerID(r *kmsg.InitProducerIDRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case r.TransactionalID != nil:
		resp.ErrorCode = int16(perr.TransactionalIdAuthorizationFailed)
		slot.Reply(resp)
		return
	case r.ProducerID >= 0 && r.ProducerEpoch < 0, r.ProducerID < 0 && r.ProducerEpoch >= 0:
		resp.ErrorCode = int16(perr.InvalidRequest)
		slot.Reply(resp)
		return
	}
	// As Kafka: without a transactional id a producer that names its old id gets a new one all the same.
	f.broker.ProducerID(func(id int64, why string) {
		if id < 0 {
			f.log.Warn("no producer id could be drawn", "reason", why)
			resp.ErrorCode = int16(perr.CoordinatorLoadInProgress) // retriable, and known to every version
		} else {
			resp.ProducerID, resp.ProducerEpoch = id, 0
		}
		slot.Reply(resp)
	})
}
