package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/transaction"
	"lockstep/protocol/perr"
)

// DescribeTransactions v0, asked of the coordinator of each id.

func (f *Front) describeTransactions(r *kmsg.DescribeTransactionsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	ids := once(r.TransactionalIDs, itself)
	resp.TransactionStates = make([]kmsg.DescribeTransactionsResponseTransactionState, len(ids))
	done := countdown(len(ids), func() { slot.Reply(resp) })
	for i, id := range ids {
		out := &resp.TransactionStates[i]
		out.TransactionalID = id
		if !f.may(from, access.Describe, access.TransactionalID, id) {
			out.ErrorCode = int16(perr.TransactionalIdAuthorizationFailed)
			done()
			continue
		}
		f.askTransaction(id, func(ref core.RequestID) transaction.Command { return transaction.DescribeTransaction{Ref: ref, ID: id} },
			func(reply any, code perr.Code) {
				if code == perr.None {
					code = f.describedTransaction(from, out, reply.(transaction.Described))
				}
				out.ErrorCode = int16(code)
				done()
			})
	}
}

func (f *Front) describedTransaction(from Client, out *kmsg.DescribeTransactionsResponseTransactionState, d transaction.Described) perr.Code {
	if !d.Found {
		return perr.TransactionalIdNotFound
	}
	out.State, out.TimeoutMillis, out.StartTimestamp = transaction.Phase(d.Txn.Phase).String(), d.Txn.TimeoutMs, d.Txn.StartMs
	out.ProducerID, out.ProducerEpoch = d.Txn.ProducerID, d.Txn.Epoch
	at := map[string]int{}
	for _, p := range d.Txn.Partitions {
		if !f.sees(from, access.Describe, access.Topic, p.Name) {
			continue
		}
		i, known := at[p.Name]
		if !known {
			i = len(out.Topics)
			at[p.Name] = i
			out.Topics = append(out.Topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: p.Name})
		}
		out.Topics[i].Partitions = append(out.Topics[i].Partitions, p.Partition)
	}
	return perr.None
}
