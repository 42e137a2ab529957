//go:build mutants

package registration

import "lockstep/actors/core/rules"

var (
	neverReuseEpoch        = rules.Kept("C2 neverReuseEpoch")
	newDataRegistersAnew   = rules.Kept("R2 newDataRegistersAnew")
	journalGeneration      = rules.Kept("C3 journalGeneration")
	refuseOlderCommands    = rules.Kept("C3 refuseOlderCommands")
	judgeEqualAgain        = rules.Kept("C3 judgeEqualAgain")
	numberedStaysNumbered  = rules.Kept("C3 numberedStaysNumbered")
	unregisterKeepsMarker  = rules.Kept("C3 unregisterKeepsMarker")
	echoCurrentRelease     = rules.Kept("C3 echoCurrentRelease")
	tellPlainPeersFirst    = rules.Kept("C3 tellPlainPeersFirst")
	oneReleaseCounter      = rules.Kept("C10 oneReleaseCounter")
	mirrorMarkerStays      = rules.Kept("C10 mirrorMarkerStays")
	wholeReleaseMarks      = rules.Kept("C10 wholeReleaseMarks")
	refuseSecondCluster    = rules.Kept("C10 refuseSecondCluster")
	topicIDDecides         = rules.Kept("C10 topicIDDecides")
	keepOverRestart        = rules.Kept("C10 keepOverRestart")
	closeGatesOfDeleted    = rules.Kept("C10 closeGatesOfDeleted")
	ledgerBeforeFacts      = rules.Kept("C4 ledgerBeforeFacts")
	publishOnlyDurable     = rules.Kept("C4 publishOnlyDurable")
	newestGateOnly         = rules.Kept("C2 newestGateOnly")
	namesUngatedEnd        = rules.Kept("C8 namesUngatedEnd")
	refuseMirroredTopic    = rules.Kept("C11 refuseMirroredTopic")
	refuseBelowMinClass    = rules.Kept("R14 refuseBelowMinClass")
	otherKindRegistersAnew = rules.Kept("R14 otherKindRegistersAnew")
	refuseCycle            = rules.Kept("C11 refuseCycle")
)
