package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/transaction"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// InitProducerId v0–5. v2 is flexible, v3 brings the producer's own id and epoch, v4 the error PRODUCER_FENCED, v5
// TRANSACTION_ABORTABLE. With a transactional id it is answered once what an earlier producer of the id has open, or
// has decided, has ended.

func (f *Front) initProducerID(r *kmsg.InitProducerIDRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	refuse := func(code perr.Code) {
		resp.ErrorCode = int16(perr.ForVersion(messages.KeyInitProducerId, r.Version, code))
		slot.Reply(resp)
	}
	switch id := r.TransactionalID; {
	case id != nil && !f.may(from, access.Write, access.TransactionalID, *id):
		refuse(perr.TransactionalIdAuthorizationFailed)
		return
	case id == nil && !f.mayAny(from, access.Write, access.Topic) && !f.mayCluster(from, access.IdempotentWrite):
		refuse(perr.ClusterAuthorizationFailed)
		return
	}
	if r.Version < 3 {
		r.ProducerID, r.ProducerEpoch = -1, -1
	}
	if r.ProducerID >= 0 && r.ProducerEpoch < 0 || r.ProducerID < 0 && r.ProducerEpoch >= 0 {
		refuse(perr.InvalidRequest)
		return
	}
	if r.TransactionalID != nil && *r.TransactionalID == "" {
		refuse(perr.InvalidRequest)
		return
	}
	// As Kafka: without a transactional id a producer that names its old id gets a new one all the same.
	f.broker.ProducerID(func(id int64, why string) {
		switch {
		case id < 0:
			f.log.Warn("no producer id could be drawn", "reason", why)
			refuse(perr.CoordinatorLoadInProgress) // retriable, and known to every version
		case r.TransactionalID == nil:
			resp.ProducerID, resp.ProducerEpoch = id, 0
			slot.Reply(resp)
		default:
			f.askTransaction(*r.TransactionalID, func(ref core.RequestID) transaction.Command {
				return transaction.InitProducerID{Ref: ref, ID: *r.TransactionalID, Fresh: id, TimeoutMs: r.TransactionTimeoutMillis,
					ExpectedID: r.ProducerID, ExpectedEpoch: r.ProducerEpoch}
			}, func(reply any, code perr.Code) {
				if code == perr.None {
					a := reply.(transaction.Initialized)
					code, resp.ProducerID, resp.ProducerEpoch = a.Code, a.ProducerID, a.Epoch
					if a.Text != "" {
						f.log.Info("InitProducerId is refused", "transactional_id", *r.TransactionalID, "reason", a.Text)
					}
				}
				refuse(code)
			})
		}
	})
}
