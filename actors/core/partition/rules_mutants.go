//go:build mutants

package partition

import "lockstep/actors/core/rules"

var (
	confirmPastLastOffset      = rules.Kept("R1 confirmPastLastOffset")
	requireAdoptedEpoch        = rules.Kept("R3 requireAdoptedEpoch")
	requireCurrentSession      = rules.Kept("R3 requireCurrentSession")
	refuseLowerSourceEpoch     = rules.Kept("R3 refuseLowerSourceEpoch")
	askAboutWholeLog           = rules.Kept("R3 askAboutWholeLog")
	realignFollowersEachTerm   = rules.Kept("R4 realignFollowersEachTerm")
	reportOnlyDurable          = rules.Kept("R5 reportOnlyDurable")
	failWaitersOnStepDown      = rules.Kept("R6 failWaitersOnStepDown")
	duplicateWaitsForOriginal  = rules.Kept("R7 duplicateWaitsForOriginal")
	alignBeforeHW              = rules.Kept("R8 alignBeforeHW")
	obeyAdmission              = rules.Kept("R9 obeyAdmission")
	keepBelowSourceHW          = rules.Kept("R11 keepBelowSourceHW")
	keepBelowFloorUnlessClean  = rules.Kept("R11 keepBelowFloorUnlessClean")
	followSourceStart          = rules.Kept("R2 followSourceStart")
	followCleanLineage         = rules.Kept("R11 followCleanLineage")
	anEpochNeverShrinks        = rules.Kept("R11 anEpochNeverShrinks")
	quarantineBeforeTruncation = rules.Kept("R11 quarantineBeforeTruncation")
	answerForgottenCuts        = rules.Kept("R11 answerForgottenCuts")
	requireNewEpochToLead      = rules.Kept("R12 requireNewEpochToLead")
	countWeakAcks              = rules.Kept("R13 countWeakAcks")
	obeyWeakAcks               = rules.Kept("R13 obeyWeakAcks")
	operatorMayAccept          = rules.Kept("R11 operatorMayAccept")
	fenceOldSessions           = rules.Kept("C9 fenceOldSessions")
	lastMirrorEpochOnce        = rules.Kept("C9 lastMirrorEpochOnce")
	producersFollowTheLog      = rules.Kept("C13 producersFollowTheLog")
	resetDropsProducers        = rules.Kept("C13 resetDropsProducers")
	resetKeepsIdempotent       = rules.Kept("C13 resetKeepsIdempotent")
	mirrorsAreReadOnly         = rules.Kept("F37 mirrorsAreReadOnly")
	openingAsksToWait          = rules.Kept("C8 openingAsksToWait")
	fenceRefusesProduce        = rules.Kept("C8 fenceRefusesProduce")
	raiseEpochAboveSource      = rules.Kept("D23 raiseEpochAboveSource")
)
