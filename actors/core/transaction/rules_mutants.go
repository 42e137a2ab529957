//go:build mutants

package transaction

import "lockstep/actors/core/rules"

var (
	answerOnlyDurable   = rules.Kept("D25 answerOnlyDurable")
	answerWhenEnded     = rules.Kept("C12 answerWhenEnded")
	resumePrepared      = rules.Kept("T10 resumePrepared")
	fenceOlderEpochs    = rules.Kept("T14 fenceOlderEpochs")
	requireOwnProducer  = rules.Kept("C13 requireOwnProducer")
	bumpAtFence         = rules.Kept("T14 bumpAtFence")
	retryOfOwnEnd       = rules.Kept("T14 retryOfOwnEnd")
	successorsLast      = rules.Kept("T14 successorsLast")
	boundShards         = rules.Kept("I61 boundShards")
	abortOpenAtHandover = rules.Kept("C8 abortOpenAtHandover")
)
