package front

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/transaction"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// askTransaction asks the coordinator of a transactional id if this broker is it. Otherwise, and when the coordinator
// stepped away, answer is called with nil and a code that makes the client look again.
func (f *Front) askTransaction(id string, build func(core.RequestID) transaction.Command, answer func(reply any, code perr.Code)) {
	if id == "" {
		answer(nil, perr.InvalidRequest)
		return
	}
	if f.cluster.TransactionOwner(f.broker.Image(), id) != f.broker.ID() {
		answer(nil, perr.NotCoordinator)
		return
	}
	f.cluster.Transaction(id, build, func(reply any) {
		if failed, ok := reply.(shell.Failed); ok {
			f.log.Warn("a transaction coordinator failed", "transactional_id", id, "reason", failed.Text)
			answer(nil, perr.NotCoordinator)
			return
		}
		answer(reply, perr.None)
	})
}

// toldOperator logs the refusals of a coordinator that an operator can help: the answers have no place for a text.
func (f *Front) toldOperator(id string, a transaction.PartitionsAnswered) {
	if a.Code == perr.CoordinatorLoadInProgress || a.Code == perr.TransactionAbortable {
		f.log.Warn("a transaction was not widened", "transactional_id", id, "code", a.Code.Name(), "reason", a.Text)
	}
}

// inTransaction is a partition as the coordinator keeps it.
func inTransaction(t *image.Topic, index int32) transaction.PartitionRecord {
	return transaction.PartitionRecord{Topic: t.ID, Name: t.Name, Partition: index}
}

func hasPartition(t *image.Topic, index int32) bool {
	return index >= 0 && int(index) < len(t.Partitions)
}

// verified is what a produce, or a commit of offsets, is answered when the coordinator did not agree to it. abortable is
// the version from which the client knows TRANSACTION_ABORTABLE, implicit the one from which it can wait by itself.
// Codes that older clients take for final become one that makes them try again.
func verified(key, version, abortable, implicit int16, a transaction.PartitionsAnswered) perr.Code {
	switch code := a.Code; {
	case code == perr.None && (len(a.Missing) > 0 || a.NoGroup):
		if version >= abortable {
			return perr.TransactionAbortable
		}
		return perr.InvalidTxnState
	case code == perr.ProducerFenced:
		return perr.InvalidProducerEpoch
	case key == messages.KeyProduce && (code == perr.CoordinatorLoadInProgress || code == perr.ConcurrentTransactions && version < implicit):
		return perr.NotEnoughReplicas
	default:
		return code
	}
}
