//go:build mutants

package fetcher

import "lockstep/actors/core/rules"

var (
	fenceAnswers              = rules.Kept("R3 fenceAnswers")
	readAsyncWhileRefused     = rules.Kept("C5 readAsyncWhileRefused")
	syncModeAtOnce            = rules.Kept("C1 syncModeAtOnce")
	freshnessFromSending      = rules.Kept("C4 freshnessFromSending")
	verifyBatchesAgain        = rules.Kept("A26 verifyBatchesAgain")
	clampStatedOffsets        = rules.Kept("A26 clampStatedOffsets")
	checkedByID               = rules.Kept("F34 checkedByID")
	checkAnotherIncarnation   = rules.Kept("R3 checkAnotherIncarnation")
	compareTails              = rules.Kept("R11 compareTails")
	oneSourceClusterForAll    = rules.Kept("F34 oneSourceClusterForAll")
	othersMustAgree           = rules.Kept("F34 othersMustAgree")
	lowerEpochMustLast        = rules.Kept("R3 lowerEpochMustLast")
	askWhoAnswers             = rules.Kept("F34 askWhoAnswers")
	shareTimeOfAddresses      = rules.Kept("C8 shareTimeOfAddresses")
	reportsOfAdoptedEpoch     = rules.Kept("R3 reportsOfAdoptedEpoch")
	oldFetchIsAsync           = rules.Kept("R14 oldFetchIsAsync")
	destinationDecidesUnclean = rules.Kept("R11 destinationDecidesUnclean")
	throttleReads             = rules.Kept("F51 throttleReads")
	throttleRecordsAlone      = rules.Kept("F51 throttleRecordsAlone")
	listsNothingAboveFloor    = rules.Kept("R14 listsNothingAboveFloor")
)
