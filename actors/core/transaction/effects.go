package transaction

import (
	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for a shard of the transaction coordinator.
//
//sumtype:decl
type Effect interface{ isEffect() }

// Initialized answers InitProducerID.
type Initialized struct {
	Ref        core.RequestID
	Code       perr.Code
	Text       string
	ProducerID int64 // -1 on error
	Epoch      int16 // -1 on error
}

// PartitionsAnswered answers AddPartitions. With Verify, Missing are the indexes of partitions that the transaction does
// not have, and NoGroup says that it lacks a group.
type PartitionsAnswered struct {
	Ref     core.RequestID
	Code    perr.Code
	Text    string
	Missing []int
	NoGroup bool
}

// Ended answers EndTxn. With Bump, ProducerID and Epoch are what the producer goes on with; else -1.
type Ended struct {
	Ref        core.RequestID
	Code       perr.Code
	Text       string
	ProducerID int64
	Epoch      int16
}

// Described answers DescribeTransaction.
type Described struct {
	Ref   core.RequestID
	Found bool
	Txn   TransactionRecord
}

// Listed answers ListTransactions, sorted by id.
type Listed struct {
	Ref  core.RequestID
	Txns []ListedTransaction
}

// ListedTransaction is one line of a listing.
type ListedTransaction struct {
	ID         string
	ProducerID int64
	Phase      Phase
}

// WriteMarker asks for the marker in a partition, by its leader; answered with MarkerAnswered.
type WriteMarker struct {
	ID         string
	ProducerID int64
	Epoch      int16
	Partition  core.PartitionID
	Commit     bool
	Tries      int32 // how often it was asked for before
}

// EndOffsets asks for the end of the transaction in a consumer group; answered with MarkerAnswered.
type EndOffsets struct {
	ID         string
	ProducerID int64
	Epoch      int16
	Group      string
	Commit     bool
}

// ArmTimer asks for a Tick at At (mono ns).
type ArmTimer struct{ At int64 }

// ReplyTo names the request.
func (e Initialized) ReplyTo() core.RequestID { return e.Ref }

// ReplyTo names the request.
func (e PartitionsAnswered) ReplyTo() core.RequestID { return e.Ref }

// ReplyTo names the request.
func (e Ended) ReplyTo() core.RequestID { return e.Ref }

// ReplyTo names the request.
func (e Described) ReplyTo() core.RequestID { return e.Ref }

// ReplyTo names the request.
func (e Listed) ReplyTo() core.RequestID { return e.Ref }

func (Initialized) isEffect()        {}
func (PartitionsAnswered) isEffect() {}
func (Ended) isEffect()              {}
func (Described) isEffect()          {}
func (Listed) isEffect()             {}
func (WriteMarker) isEffect()        {}
func (EndOffsets) isEffect()         {}
func (ArmTimer) isEffect()           {}
