//go:build !mutants

package partition

// Each constant is one rule of the data plane; rules_mutants.go can switch one off for a test.
const (
	confirmPastLastOffset      = true // R1, F02: success needs HW >= last offset + 1
	requireAdoptedEpoch        = true // R3, A1: an answer of another source epoch is not appended
	requireAdoptedIncarnation  = true // R3: nor one of a source that was started from a copy since, and counts the same epoch
	requireCurrentSession      = true // R3, A1: nor one asked in an older session
	refuseLowerSourceEpoch     = true // R3: a source whose epoch goes back is not our source
	dropWhatNobodyCompared     = true // R8: records below the source's log start and above our HW are not committed here
	standAsTheLeader           = true // R3: a follower stands under the source epoch its leader stands under
	askAboutWholeLog           = true // R3: a divergence check is about the log as it is, not as far as it was released
	realignFollowersEachTerm   = true // R4, F05: followers truncate too before their LEOs count
	reportOnlyDurable          = true // R5, F08, P3: a report is what the disk has
	failWaitersOnStepDown      = true // R6, F54
	duplicateWaitsForOriginal  = true // R7, F27: the retry is as safe as the first try
	alignBeforeHW              = true // R8, F09, KAFKA-14704: a follower shows the leader's HW only after it has cut what the leader cut
	obeyAdmission              = true // R9, F28: refuse before append
	weakNeedsAdmission         = true // C11, F36: acks=1 is not granted before it is known what gates
	keepBelowSourceHW          = true // R11, P8: never cut what the source had committed
	keepBelowFloorUnlessClean  = true // R11, P7: below R only if the source's lineage is clean
	followSourceStart          = true // R2, F52: behind the source's retention we begin anew, as another incarnation
	deleteCommittedOnly        = true // F52: what is not committed is not deleted, whoever asks for it
	cleanCommittedOnly         = true // F52, R03: what is not committed is not compacted, whoever asks for it
	aCutEndsCleaning           = true // F52: what a pass would write stands for records that are not there any more
	aCutTakesWhatWasHidden     = true // F52: an older record went for a newer one: where that one is cut, both are copied again
	cutsGoAroundEmpties        = true // R5, F52: whoever is in sync does not give up what is committed for an empty batch behind it
	newestIsCommitted          = true // F52, T06: what may be cut is not what is left of a producer
	anewWhereNothingIsCommon   = true // F52: a follower whose common history ends at our log start begins anew there
	followLogStart             = true // F52: what the leader, or the source, has deleted is deleted here
	producersOutliveTheirLog   = true // T06: deleted batches are still those that a retry repeats
	openProducersStay          = true // T05: whose transaction is open is not forgotten
	highestProducerStays       = true // C13, T05: ids are handed out above the highest of the log
	forgetCommittedOnly        = true // T05: what may be cut, or is still on its way, is not forgotten
	followCleanLineage         = true // R11, P6: a clean source may cut us, else we are spuriously DIVERGED
	anEpochNeverShrinks        = true // R11, R12: a source that is shorter in the same epoch is another copy of it
	anotherRecordDiverges      = true // R11: another record under the same epoch is another copy of the source
	quarantineBeforeTruncation = true // R11, F43
	answerForgottenCuts        = true // R11: whoever waits for a cut that will not happen asks again
	requireNewEpochToLead      = true // R12, P1: a restart in place is a new epoch
	countWeakAcks              = true // R13
	obeyWeakAcks               = true // R13: the topic says what acks=0 and 1 meet while it is gated
	operatorMayAccept          = true // R11: a diverged copy follows its source when an operator says so, and not before
	fenceOldSessions           = true // C9: after the fence no older answer is appended
	lastMirrorEpochOnce        = true // C9: LME is written once per mirroring
	producersFollowTheLog      = true // C13: truncation rolls producer state back
	resetDropsProducers        = true // C13: MIRROR_PID_RESET drops what could collide
	resetKeepsIdempotent       = true // C13: dedup survives a failover from an armed mirror
	transactionsFollowTheLog   = true // C13: truncation opens again what it cut the end of
	markerBelowHW              = true // T09: a transaction has ended when its marker is committed, not when it is appended
	markersAreIdempotent       = true // T16: an end that is told again is one end
	requireOpenTransaction     = true // T22, KIP-890: a late batch of an ended transaction opens no other
	markersPassTheFence        = true // C12: what was decided before the fence is finished
	abortOpenAtStopping        = true // C9: nobody else will end what the source left open
	mirrorsAreReadOnly         = true // F37: only the source writes
	openingAsksToWait          = true // C8: a client that moves early keeps its records
	fenceRefusesProduce        = true // C8: a topic that moves takes no batch, whatever its acks
	raiseEpochAboveSource      = true // D23, E08: consumers must not see epochs above ours
)
