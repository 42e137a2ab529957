//go:build !mutants

package fetcher

const (
	fenceAnswers              = true // R3, model A1: an answer of an old session, epoch or attempt is dropped
	readAsyncWhileRefused     = true // C5, F21: 952 and 953 stop the gate, not the data
	syncModeAtOnce            = true // C1, model G7: a parked consumer-style fetch gives way to a sync one
	freshnessFromSending      = true // C4, F19: never from receipt
	verifyBatchesAgain        = true // attack-A26: CRC, continuity, epochs
	checkedByID               = true // F34: the answers of a divergence check that name a topic are about the topic of its id
	checkAnotherIncarnation   = true // R3: an answer of another run of the source than the adopted one leads to the check
	compareTails              = true // R11: the record where the common history ends is compared, epochs may have been counted again
	clampStatedOffsets        = true // attack-A26: a lying HW or log start counts only as far as it was shown
	oneSourceClusterForAll    = true // F34: bootstrap.servers that lead to another cluster are refused
	othersMustAgree           = true // F34: one broker whose metadata lags does not make a copy ORPHANED
	lowerEpochMustLast        = true // R3: one broker whose metadata lags does not make a copy DIVERGED after a restart
	askWhoAnswers             = true // F34: a connection to another cluster carries no command and no data
	shareTimeOfAddresses      = true // C8: a broker that answers nothing does not hide the others
	reportsOfAdoptedEpoch     = true // R3: a floor of another source epoch than the adopted one is not sent
	oldFetchIsAsync           = true // R14: below version 20 no source is told of our replicas
	destinationDecidesUnclean = true // R11: whether a mirror follows an unclean election is its own cluster's to say
	throttleReads             = true // mirror.replication.throttled.rate
	throttleRecordsAlone      = true // F51: floors, and the evidence that answers them, are never held back
	listsNothingAboveFloor    = true // R14, F01: a plain source commits no more than the floor
)
