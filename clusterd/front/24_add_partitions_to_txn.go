package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/actors/core/transaction"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// AddPartitionsToTxn v0–5. v2 brings PRODUCER_FENCED, v3 is flexible, v4 carries many transactions and questions that
// change nothing (brokers of other servers ask so), v5 TRANSACTION_ABORTABLE. A partition that does not exist fails the
// request as a whole: the others are answered OPERATION_NOT_ATTEMPTED.

func (f *Front) addPartitionsToTxn(r *kmsg.AddPartitionsToTxnRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	img := f.broker.Image()
	if r.Version < 4 {
		one := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: r.TransactionalID, ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch}
		for _, t := range r.Topics {
			one.Topics = append(one.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: t.Topic, Partitions: t.Partitions})
		}
		f.addToTxn(img, r.Version, from, one, func(topics []kmsg.AddPartitionsToTxnResponseTransactionTopic) {
			for _, t := range topics {
				out := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
				for _, p := range t.Partitions {
					out.Partitions = append(out.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
				}
				resp.Topics = append(resp.Topics, out)
			}
			slot.Reply(resp)
		})
		return
	}
	if !f.mayCluster(from, access.ClusterAction) { // who asks so is a broker
		resp.ErrorCode = int16(perr.ClusterAuthorizationFailed)
		slot.Reply(resp)
		return
	}
	asked := once(r.Transactions, func(t kmsg.AddPartitionsToTxnRequestTransaction) string { return t.TransactionalID })
	resp.Transactions = make([]kmsg.AddPartitionsToTxnResponseTransaction, len(asked))
	done := countdown(len(asked), func() { slot.Reply(resp) })
	for i, t := range asked {
		out := &resp.Transactions[i]
		out.TransactionalID = t.TransactionalID
		f.addToTxn(img, r.Version, from, t, func(topics []kmsg.AddPartitionsToTxnResponseTransactionTopic) {
			out.Topics = topics
			done()
		})
	}
}

// addToTxn answers with a code per partition, in the order asked.
func (f *Front) addToTxn(img *image.Image, version int16, from Client, t kmsg.AddPartitionsToTxnRequestTransaction,
	answer func([]kmsg.AddPartitionsToTxnResponseTransactionTopic)) {
	cmd := transaction.AddPartitions{ID: t.TransactionalID, ProducerID: t.ProducerID, Epoch: t.ProducerEpoch, Verify: t.VerifyOnly}
	var out []kmsg.AddPartitionsToTxnResponseTransactionTopic
	var places []*int16 // of cmd.Partitions
	unknown := false
	client := version < 4
	denied := client && !f.may(from, access.Write, access.TransactionalID, t.TransactionalID)
	for _, rt := range once(t.Topics, func(t kmsg.AddPartitionsToTxnRequestTransactionTopic) string { return t.Topic }) {
		topic, code := findTopic(img, rt.Topic, core.TopicID{}, false)
		hidden := client && !f.may(from, access.Write, access.Topic, rt.Topic)
		asked := once(rt.Partitions, itself)
		at := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: rt.Topic, Partitions: make([]kmsg.AddPartitionsToTxnResponseTransactionTopicPartition, len(asked))}
		for i, index := range asked {
			p := &at.Partitions[i]
			p.Partition = index
			switch {
			case denied:
				p.ErrorCode = int16(perr.TransactionalIdAuthorizationFailed)
				continue
			case hidden:
				p.ErrorCode, unknown = int16(perr.TopicAuthorizationFailed), true
				continue
			case code != perr.None || !hasPartition(topic, index):
				p.ErrorCode, unknown = int16(perr.UnknownTopicOrPartition), true
				continue
			}
			cmd.Partitions = append(cmd.Partitions, inTransaction(topic, index))
			places = append(places, &p.ErrorCode)
		}
		out = append(out, at)
	}
	all := func(code perr.Code) {
		for _, p := range places {
			*p = int16(perr.ForVersion(messages.KeyAddPartitionsToTxn, version, code))
		}
	}
	switch {
	case denied:
		answer(out)
		return
	case unknown:
		all(perr.OperationNotAttempted)
		answer(out)
		return
	}
	f.askTransaction(t.TransactionalID, func(ref core.RequestID) transaction.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
		if code == perr.None {
			a := reply.(transaction.PartitionsAnswered)
			code = a.Code
			f.toldOperator(t.TransactionalID, a)
			for _, i := range a.Missing {
				*places[i] = int16(perr.TransactionAbortable)
				if version < 5 {
					*places[i] = int16(perr.InvalidTxnState)
				}
			}
		}
		if code != perr.None {
			all(code)
		}
		answer(out)
	})
}
