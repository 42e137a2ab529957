//go:build mutants

package highwater

import "lockstep/actors/core/rules"

var (
	unknownBlocks              = rules.Kept("R2 unknownBlocks")
	resetOnRegistration        = rules.Kept("R2 resetOnRegistration")
	requireExactSourceEpoch    = rules.Kept("R3 requireExactSourceEpoch")
	forgetReportsOnEpoch       = rules.Kept("R3 forgetReportsOnEpoch")
	requireMirrorTerm          = rules.Kept("R4 requireMirrorTerm")
	admitAboveFloor            = rules.Kept("R5 admitAboveFloor")
	floorMarkStartsAtLEO       = rules.Kept("R5 floorMarkStartsAtLEO")
	floorMarkSurvivesEpochs    = rules.Kept("R5 floorMarkSurvivesEpochs")
	joinerHoldsFloor           = rules.Kept("R5 joinerHoldsFloor")
	additionCountsAtOnce       = rules.Kept("R5 additionCountsAtOnce")
	removalCountsWhenCommitted = rules.Kept("R5 removalCountsWhenCommitted")
	keepMaximumFloor           = rules.Kept("R5 keepMaximumFloor")
	noFloorUnderMinISR         = rules.Kept("R5 noFloorUnderMinISR")
	underMinFromNewest         = rules.Kept("R5 underMinFromNewest")
	freezeUnderMinISR          = rules.Kept("R5 freezeUnderMinISR")
	dropWaitersWithEpoch       = rules.Kept("R6 dropWaitersWithEpoch")
	sourceHWBoundedByISR       = rules.Kept("R8 sourceHWBoundedByISR")
	trackAdoptedEpochOnly      = rules.Kept("R8 trackAdoptedEpochOnly")
	publishedFloorAtStopping   = rules.Kept("R8 publishedFloorAtStopping")
	refuseBeforeAppend         = rules.Kept("R9 refuseBeforeAppend")
	nameSlowestMirror          = rules.Kept("R10 nameSlowestMirror")
	gateStartIsLEO             = rules.Kept("C2 gateStartIsLEO")
	serveFromElectionImage     = rules.Kept("C1 serveFromElectionImage")
	ledgerWeakAcks             = rules.Kept("R13 ledgerWeakAcks")
	boundPurgatory             = rules.Kept("F57 boundPurgatory")
)
