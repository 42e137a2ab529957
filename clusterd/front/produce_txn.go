package front

import (
	"sync"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/transaction"
	"lockstep/actors/shell"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Versions of Produce that say what a client knows of transactions.
const (
	abortableProduce = 11 // TRANSACTION_ABORTABLE
	implicitProduce  = 12 // transaction version 2: a produce adds its partition to the transaction
)

// asking counts the transactional batches of a producer that wait for the coordinator, per partition: one that need not
// ask must not overtake one that does, or its sequence is out of order.
type asking struct {
	mu     sync.Mutex
	counts map[producerAt]int
}

type producerAt struct {
	id       core.PartitionID
	producer int64
}

func (a *asking) begin(at producerAt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[producerAt]int{}
	}
	a.counts[at]++
}

func (a *asking) end(at producerAt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts[at]--; a.counts[at] == 0 {
		delete(a.counts, at)
	}
}

func (a *asking) any(at producerAt) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[at] > 0
}

// inTxn asks the coordinator whether the batch's transaction has the partition, or from v12 on makes it have it. A
// transaction that is open in the partition need not be asked about again: its marker is behind whatever is appended
// while it is open. The order of a producer's batches is kept: all answers come in the order of the questions.
func (f *Front) inTxn(version int16, id string, b batch.Batch, topic *image.Topic, index int32, view partition.View,
	ask func(verified bool), refuse func(perr.Code, string)) {
	at := producerAt{core.PartitionID{Topic: topic.ID, Index: index}, b.ProducerID}
	if view.Txns.Has(b.ProducerID, b.ProducerEpoch) && !f.asking.any(at) {
		ask(false)
		return
	}
	f.asking.begin(at)
	f.cluster.Transaction(id, func(ref core.RequestID) transaction.Command {
		return transaction.AddPartitions{Ref: ref, ID: id, ProducerID: b.ProducerID, Epoch: b.ProducerEpoch,
			Partitions: []transaction.PartitionRecord{inTransaction(topic, index)}, Verify: version < implicitProduce}
	}, func(reply any) {
		defer f.asking.end(at)
		switch a := reply.(type) {
		case transaction.PartitionsAnswered:
			f.toldOperator(id, a)
			if code := verified(messages.KeyProduce, version, abortableProduce, implicitProduce, a); code != perr.None {
				refuse(code, a.Text)
				return
			}
			ask(true)
		case shell.Failed:
			refuse(perr.NotEnoughReplicas, a.Text)
		default:
			panic("front: unknown answer to AddPartitions")
		}
	})
}
