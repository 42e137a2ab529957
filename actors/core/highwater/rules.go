//go:build !mutants

package highwater

// Each constant is one rule of the data plane; rules_mutants.go can switch one off for a test.
const (
	unknownBlocks              = true // R2, F01: a mirror that has not reported is not "in sync"
	resetOnRegistration        = true // R2, F44, G8: a new registration or data incarnation is Unknown again
	requireExactSourceEpoch    = true // R3, F04: a floor counts only in exactly our epoch
	requireSourceIncarnation   = true // R3: a floor counts only in the run of this cluster that it was stated to
	floorOfWholeKey            = true // F03, F33, T3: a floor is of one cluster's mirror, not of a name
	forgetReportsOnEpoch       = true // R3, F01: a new leader has heard nobody
	requireMirrorTerm          = true // R4, F05: follower LEOs of an older mirror term say nothing
	admitAboveFloor            = true // R5, F06: a joiner must hold every floor we published
	floorMarkStartsAtLEO       = true // R5, P5: R of a new leader is its own LEO, not 0
	floorMarkSurvivesEpochs    = true // R5, P4: a new source epoch does not lower R
	joinerHoldsFloor           = true // R5: else a follower never joins under load
	additionCountsAtOnce       = true // R5, F58, Z2: the controller may elect it before we hear so
	removalCountsWhenCommitted = true // R5, F58, Z1: the controller may still elect it
	keepMaximumFloor           = true // R5, F07: floors are facts, order and duplicates do not matter
	noFloorUnderMinISR         = true // R5, F32: what too few replicas hold is not promised
	underMinFromNewest         = true // R5: an old report must not switch the refusal
	freezeUnderMinISR          = true // R5: nothing is committed while any side is under min ISR
	dropWaitersWithEpoch       = true // R6, F54: a waiter never outlives its leader epoch
	sourceHWBoundedByISR       = true // R8, F09: a mirror never shows what its own ISR may lose
	trackAdoptedEpochOnly      = true // R8, G10: another epoch's HW would show other bytes
	publishedFloorAtStopping   = true // R8: what the source may have acked is visible after failover
	refuseBeforeAppend         = true // R9, F28: do not append copies that nobody can confirm
	forgetPassedDeadlines      = true // R10: a deadline that nobody waits for any more hides no later one
	nameSlowestMirror          = true // R10: a time-out behind a mirror says which one
	gateStartIsLEO             = true // C2, G1: HW may be old, the LEO never is
	serveFromElectionImage     = true // C1, D9, G11: acks and evidence wait for the election's registrations
	showWhenOnDisk             = true // I14: what a consumer saw survives the crash of everything
	ledgerWeakAcks             = true // R13: an unprotected ack is on record
	repeatWithinLease          = true // D19, C4: an idle floor is repeated three times in a lease, whatever the lease is
	strictLedgerWaits          = true // D3: with lockstep.ledger=strict no ack is ahead of its entry
	closeUntilMirrorHasIt      = true // C11, F36: an added partition takes no writes before the mirrors have it
	boundPurgatory             = true // F57
	listOfThisEpoch            = true // R14: a list of another leader epoch may speak of other bytes
	listNeedsFetchedEpoch      = true // R14: without it nothing was compared
	listNeedsAgreement         = true // R14: a log that diverges holds other bytes
	unsaidIsUnknown            = true // R14, F01: an empty ISR, a missing offset or no min ISR is not "in sync"
	capAtFetchOffset           = true // R14: a follower cannot have what its leader has not
	newestListReplaces         = true // R14: a list is no fact: the newest holds, also when it says less
	noAdvanceUnderReportedMin  = true // R14: nothing is committed while the peer is under its min ISR
	plainPeersByListAlone      = true // R14: floors are ours: a plain registration never gets one
	ledgerNamesUnsynced        = true // R14: an ack that rests on a page cache says so
	ledgerNamesClass           = true // R14: an ack that rests on a list says so
)
