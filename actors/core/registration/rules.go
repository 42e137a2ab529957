//go:build !mutants

package registration

const (
	neverReuseEpoch         = true // R2, C2, model G8: a registration admitted anew has an epoch of its own
	newDataRegistersAnew    = true // R2, F44: other data at the destination is another registration
	journalGeneration       = true // C3, model K1: also when nothing else changes
	refuseOlderCommands     = true // C3, F16, models C2 and C4
	judgeEqualAgain         = true // C3, model K2: the same command meets the state of now
	numberedStaysNumbered   = true // C3: a key that sent a generation must send it
	unregisterKeepsMarker   = true // C3, model K4
	echoCurrentRelease      = true // C3, F14, F15, models C1 and C1b
	tellPlainPeersFirst     = true // C3, model K6
	oneReleaseCounter       = true // C3, C10, model M1
	mirrorMarkerStays       = true // C10, model M2
	wholeReleaseMarks       = true // C10, F35
	refuseSecondCluster     = true // C10, F33
	topicIDDecides          = true // C10, F34
	keepOverRestart         = true // C10, F41
	closeGatesOfDeleted     = true // C10, F34
	returnedTopicGates      = true // C10: a topic that was moved away, deleted and moved back is a source like any other
	ledgerBeforeFacts       = true // C4, model G5
	publishOnlyDurable      = true // C4, model G9
	newestGateOnly          = true // C2, model G6: each leader issues its own gate start
	namesUngatedEnd         = true // C8, F17: an Unregister for a stop names the LEOs at un-gating
	refuseMirroredTopic     = true // C11, F37
	refuseBelowMinClass     = true // R14: lockstep.sync.min.class=proven
	otherKindRegistersAnew  = true // R14: lists and floors are not believed under one registration
	refuseCycle             = true // C11, F37
	endedFenceStaysEnded    = true // C8: a switchover that was lifted is not begun again by its own repetition
	fenceOnEveryLeader      = true // C8: every leader has applied the fence
	floorReachesEnd         = true // C8, F17, I47: superseded only where floor = LEO, on all partitions in one step
	newestLeaderReports     = true // C8: an older leader does not speak for what a newer one appended
	thisFenceOnly           = true // C8: a report of an earlier fence does not count
	fenceTimesOut           = true // C8: decided at the source
	leavingEndsFence        = true // C8: a release or an unregister before the commit point lifts the fence
	releaseEndsAtSuccession = true // C8: after the commit point a release must be forced
	supersededKeepsGates    = true // C8, I46: a late Unregister of the successor acknowledges nothing
	refuseAfterSuccession   = true // C8: who is superseded gates on nobody new
	onlyRegisteredTakesOver = true // C8, F18: anybody else is ignored
	onlyHigherEraObeyed     = true // C8, F18
	unholdFindsForgotten    = true // C4, C10: a mirror whose name was given up can still be held, and must come back
	holdRefusesRecovery     = true // C4: a held release is not recovered from before the operator says so
	refuseUnsynced          = true // R14: lockstep.sync.min.class=proven needs both sides on disk
	ungateAfterLease        = true // C4, F19: what was stated before a release is not outlived by a gate that opened
	leaseFromPublished      = true // C4: evidence may be stated until the ledger without it is out
	promiseOutlivesSetting  = true // C4: what evidence promised is kept, also by a process that promises nothing
)
