//go:build !mutants

package mirror

const (
	claimInsideGate         = true // C1, F12, models C3 and G3: SYNC only when every partition is armed
	syncFetchWhileGated     = true // C1, model G7: fetch mode sync from sending Register on, whatever is claimed
	readOnlyBeforeMade      = true // C1: facts before the topic exists
	armInOneSourceEpoch     = true // C2, model G2
	newestGateStart         = true // C2, model G6b
	armedUnderOneEpoch      = true // C2, model G8: another registration arms anew
	journalBeforeSending    = true // C3, F16
	echoSeenRelease         = true // C3, F14
	ignoreForeignAnswers    = true // C3: an answer counts for the command it answers
	restoredStartsAfresh    = true // C3, model K5
	sourceClockOnly         = true // C4, model G4
	smallestT               = true // C4
	ownRegistrationOnly     = true // C4, model G8
	armedPartitionsOnly     = true // C4
	unconfirmedAfterLease   = true // C4, F19
	provenOnDiskOnly        = true // R14: PROVEN needs durability=fsync on both sides
	goneIsOrphaned          = true // C10, F34: who lost its source topic is not broken, and says what an operator may do
	sourceLeaseCounts       = true // C4, F19: no claim outlives what a release after the lease waits for
	onlyPromisedIsZeroRPO   = true // C4: RPO 0 inside the lease only where the source promised
	leaseFromAsking         = true // C4: an answer proves contact from when the request left
	promoteWithT            = true // C4: SYNC is always shown with T
	newestEvidenceGoverns   = true // C4, model K: evidence of a newer registration ends the claim
	ignoreStaleRelease      = true // C5, model K3
	obeyRelease             = true // C5
	countAfterAnswer        = true // C5
	otherErrorsDoNotBlock   = true // C5, F22
	demotionUnregisters     = true // C5, F25
	retryUntilAnswered      = true // C6
	unclaimFirst            = true // C6, F24
	reportWhileDemoting     = true // C6, F24
	supersededIsAnAnswer    = true // C6, model K5
	takeBackUnknownGate     = true // C6, I40: a gate that a restored journal does not know
	registerEndsSaga        = true // C6
	freshLagOnly            = true // C7, F42
	latchLagZero            = true // C7, F42
	predictStall            = true // C7, F42
	enoughISR               = true // C7, F42
	backOff                 = true // C7: at most 60 s between attempts
	oneUnregisterAtStop     = true // C8, model W7
	drainToUngating         = true // C8, F17, model W5
	skipWithoutContact      = true // C8
	stopFromAnywhere        = true // C8: also FAILED and DIVERGED, also without a source
	warnAliveSource         = true // C8, F17
	fenceBeforeEpoch        = true // C9
	writeLMEOnce            = true // C9
	epochAboveAllSeen       = true // C9, D23, F48
	finishTornDecision      = true // C9: a decision of which a crash kept the first events is completed
	openHWBeforeReset       = true // C9, R8
	resumeHalfwayStop       = true // C9
	keepOnlyArmed           = true // C13
	refuseBelowMinClass     = true // R14: lockstep.sync.min.class=proven
	reportedIsNotZeroRPO    = true // R14: the word of a peer is shown as such
	plainGatesBySync        = true // R14: only an answered sync fetch says that a plain source gates
	plainAskedAfter         = true // R14: an answer from before the Register is about another registration
	plainArmsAtBase         = true // R14: armed once the floor reaches what may have been acknowledged ungated
	baseCoversEpoch         = true // R14: a new leader's HW may be older than its predecessor's acks
	releasedWithoutNumber   = true // C3: 954 of a plain source is a release like any other
	partialIsNotSync        = true // C4, I44
	switchoverOnlyFromSync  = true // C8: nothing else is there without loss
	switchoverOnlyConfirmed = true // C8: the source is needed, and gates every partition
	verifyEnds              = true // C8: opens only with all that the source ended with
	outcomeBeforeUnregister = true // C8: the source may have handed over
	raiseEraAtFailover      = true // C8, F18
	followSourceEra         = true // C8: a failover begins an era above the source's
	tellUntilAnswered       = true // C8, F18: the old source may come back any day
	noticeEndsBackOff       = true // C4: what lifts a hold also ends the wait for the next attempt
	brokerDefaultsCount     = true // C4: a broker's --set counts for mirrors without a setting of their own
	followGrowth            = true // C11, F36: what the source adds is mirrored
	journalGatedEpoch       = true // C15, model T4: of a source epoch that did not gate on us, no copy is preferred
	countBeforeClaim        = true // C4, C11: T speaks for every partition the source has, known here or not
	armAdded                = true // C2, C4: an added partition is armed before the topic is SYNC
	acceptOnce              = true // R11: an accepted history covers one alignment, not the source's next loss
)
