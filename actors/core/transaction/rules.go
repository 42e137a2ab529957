//go:build !mutants

package transaction

const (
	answerOnlyDurable   = true // D25: what a client or a partition is told of a transaction is on the control majority
	answerWhenEnded     = true // C12, F30: EndTxn succeeds when every marker is committed, behind every gate
	resumePrepared      = true // T10: what is decided is finished after a restart
	fenceOlderEpochs    = true // KIP-98: one producer at a time writes under a transactional id
	requireOwnProducer  = true // C13, F49: a transactional id has one producer id, of this cluster
	bumpAtFence         = true // T14: who is aborted by time or by a successor cannot write on
	retryOfOwnEnd       = true // T14: only the end of its own transaction gives a producer another epoch
	successorsLast      = true // T14: an end is answered before a successor that waits for it moves on
	boundShards         = true // I61: ids and open transactions are bounded per shard
	abortOpenAtHandover = true // C8: what is open when a topic moves is aborted, else nothing would move
)
