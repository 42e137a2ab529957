package transaction

import "lockstep/actors/core"

// Command is something a shard of the transaction coordinator is asked to do. Times in commands are milliseconds, as on
// the wire.
//
//sumtype:decl
type Command interface{ isCommand() }

// Resume is sent once, after replay: prepared transactions go on to their end. Sent again, it only replaces the settings.
type Resume struct{ Settings Settings }

// Settings are the broker settings the coordinator obeys. Kafka's names are in the comments.
type Settings struct {
	MaxTimeoutMs  int64 // transaction.max.timeout.ms
	ExpirationMs  int64 // transactional.id.expiration.ms, counted from the last use or the start of the process
	MaxShardBytes int64 // lockstep.transaction.shard.max.bytes: of transactional ids and their open transactions
}

// DefaultSettings are Kafka's, as far as it has them.
func DefaultSettings() Settings {
	return Settings{MaxTimeoutMs: 900_000, ExpirationMs: 604_800_000, MaxShardBytes: 32 << 20}
}

// InitProducerID makes the asker the one producer of a transactional id: what an earlier one has open is aborted.
// Answered by Initialized.
type InitProducerID struct {
	Ref       core.RequestID
	ID        string
	Fresh     int64 // a producer id that nobody has: the core has no allocator
	TimeoutMs int32 // transaction.timeout.ms
	// ExpectedID and ExpectedEpoch are what a producer that goes on after an error has; -1: a new producer (KIP-360).
	ExpectedID    int64
	ExpectedEpoch int16
}

// AddPartitions begins a transaction with partitions and groups, or widens the open one. With Verify it changes nothing
// and tells which are missing. Answered by PartitionsAnswered.
//
// Answers and orders to write markers leave in the order they were decided. So whoever hands a batch, or offsets, over
// while the answer is given is ahead of the marker that ends the transaction (KIP-890).
type AddPartitions struct {
	Ref        core.RequestID
	ID         string
	ProducerID int64
	Epoch      int16
	Partitions []PartitionRecord
	Groups     []string
	Verify     bool
}

// EndTxn commits or aborts. Answered by Ended, when the transaction has ended everywhere.
type EndTxn struct {
	Ref        core.RequestID
	ID         string
	ProducerID int64
	Epoch      int16
	Commit     bool
	// Bump raises the epoch with the end of each transaction: transaction version 2 (KIP-890), EndTxn v5.
	Bump  bool
	Fresh int64 // a producer id that nobody has, for when the epochs are used up
}

// MarkerAnswered reports what became of WriteMarker or EndOffsets. Any code but those of a partition that is gone makes
// it asked again.
type MarkerAnswered struct {
	ID         string
	ProducerID int64
	Epoch      int16
	Target     Target
	Outcome    MarkerOutcome
}

// MarkerOutcome is what became of the end of a transaction in one place.
type MarkerOutcome uint8

// What a place may answer.
const (
	MarkerCommitted MarkerOutcome = iota // below HW, or durable in the group
	MarkerAgain                          // ask again
	MarkerNowhere                        // the topic is gone, or the producer has gone on there: there is nothing to end
)

// AbortOpen aborts the open transactions of these producers that have partitions of a topic: its writes move to another
// cluster, and they would hold that up (C8). Nobody is answered.
type AbortOpen struct {
	Topic     core.TopicID
	Producers []int64
}

// DescribeTransaction asks for one transactional id. Answered by Described.
type DescribeTransaction struct {
	Ref core.RequestID
	ID  string
}

// ListTransactions asks for the transactional ids of this shard. Empty filters mean all. Answered by Listed.
type ListTransactions struct {
	Ref       core.RequestID
	States    []string // as on the wire, without regard to case
	Producers []int64
	LongerMs  int64 // only transactions that are open longer; -1: all
}

// Tick is the clock: time-outs, markers to be written again, waiters.
type Tick struct{}

func (Resume) isCommand()              {}
func (InitProducerID) isCommand()      {}
func (AddPartitions) isCommand()       {}
func (EndTxn) isCommand()              {}
func (MarkerAnswered) isCommand()      {}
func (AbortOpen) isCommand()           {}
func (DescribeTransaction) isCommand() {}
func (ListTransactions) isCommand()    {}
func (Tick) isCommand()                {}
