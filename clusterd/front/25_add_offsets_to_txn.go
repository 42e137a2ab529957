package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/transaction"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// AddOffsetsToTxn v0–4: the transaction will commit offsets of a consumer group. v2 brings PRODUCER_FENCED, v3 is
// flexible, v4 TRANSACTION_ABORTABLE.

func (f *Front) addOffsetsToTxn(r *kmsg.AddOffsetsToTxnRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	code := perr.None
	switch {
	case !f.may(from, access.Write, access.TransactionalID, r.TransactionalID):
		code = perr.TransactionalIdAuthorizationFailed
	case !f.may(from, access.Read, access.Group, r.Group):
		code = perr.GroupAuthorizationFailed
	case r.Group == "":
		code = perr.InvalidGroupId
	}
	if code != perr.None {
		resp.ErrorCode = int16(code)
		slot.Reply(resp)
		return
	}
	f.askTransaction(r.TransactionalID, func(ref core.RequestID) transaction.Command {
		return transaction.AddPartitions{Ref: ref, ID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch, Groups: []string{r.Group}}
	}, func(reply any, code perr.Code) {
		if code == perr.None {
			a := reply.(transaction.PartitionsAnswered)
			code = a.Code
			f.toldOperator(r.TransactionalID, a)
			if code == perr.TransactionAbortable && r.Version < 4 {
				code = perr.InvalidTxnState
			}
		}
		resp.ErrorCode = int16(perr.ForVersion(messages.KeyAddOffsetsToTxn, r.Version, code))
		slot.Reply(resp)
	})
}
