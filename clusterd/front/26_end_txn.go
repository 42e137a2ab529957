package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/transaction"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// EndTxn v0–5. v2 brings PRODUCER_FENCED, v3 is flexible, v4 TRANSACTION_ABORTABLE, v5 a new producer epoch with each
// end. Success means that every marker is committed, on gated partitions by their mirrors too (C12); while that takes
// longer than a client should be kept waiting, it is told to ask again.

func (f *Front) endTxn(r *kmsg.EndTxnRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.EndTxnResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if !f.may(from, access.Write, access.TransactionalID, r.TransactionalID) {
		resp.ErrorCode = int16(perr.TransactionalIdAuthorizationFailed)
		slot.Reply(resp)
		return
	}
	ask := func(fresh int64) {
		f.askTransaction(r.TransactionalID, func(ref core.RequestID) transaction.Command {
			return transaction.EndTxn{Ref: ref, ID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch,
				Commit: r.Commit, Bump: r.Version >= 5, Fresh: fresh}
		}, func(reply any, code perr.Code) {
			if code == perr.None {
				a := reply.(transaction.Ended)
				code, resp.ProducerID, resp.ProducerEpoch = a.Code, a.ProducerID, a.Epoch
			}
			resp.ErrorCode = int16(perr.ForVersion(messages.KeyEndTxn, r.Version, code))
			slot.Reply(resp)
		})
	}
	if r.Version < 5 || !transaction.NeedsFresh(r.ProducerEpoch) {
		ask(-1)
		return
	}
	f.broker.ProducerID(func(id int64, why string) {
		if id < 0 {
			f.log.Warn("no producer id could be drawn", "reason", why)
			resp.ErrorCode = int16(perr.CoordinatorLoadInProgress)
			slot.Reply(resp)
			return
		}
		ask(id)
	})
}
