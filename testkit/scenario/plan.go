// Package scenario is the draft's Test Plan: each of its bullets with the scripts that cover it. The scripts of this
// package run on real clusters over real sockets; where only one interleaving will do, on whole clusters inside the
// test's process, whose brokers can be held back. A bullet that needs what is not built yet says what it waits for.
package scenario

// Part is a heading of the Test Plan.
type Part string

const (
	Unit        Part = "Unit Tests"
	Integration Part = "Integration Tests"
	System      Part = "System Tests"
)

// Script is a test function of a package of this repository, or a subcommand of testkit.
type Script struct {
	Package string // from the root
	Test    string // "" for a command
	Command string // as typed behind `go run ./testkit`
}

// Bullet is one of the Test Plan's, shortened but not reworded.
type Bullet struct {
	Part    Part
	Text    string
	By      []Script
	Waiting string // what the rest of the bullet, or all of it, waits for; "" if nothing
}

func in(pkg string, tests ...string) (list []Script) {
	for _, t := range tests {
		list = append(list, Script{Package: pkg, Test: t})
	}
	return list
}

func here(tests ...string) []Script { return in("testkit/scenario", tests...) }

func and(lists ...[]Script) (all []Script) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func typed(command string) []Script {
	return []Script{{Package: "testkit/system", Command: command}}
}

// Plan is the whole Test Plan, in the draft's order.
var Plan = []Bullet{
	{Part: Unit, Text: "MirrorCoordinator and MirrorMetadataManager on both source and destination clusters",
		By: and(in("actors/core/registration", "TestAdmissionTable", "TestLaws"), in("actors/core/mirror", "TestLaws", "TestWorldKeepsEveryClaimUnderFaults"))},
	{Part: Unit, Text: "MirrorFetcherThread sending replica info in sync mode",
		By: in("actors/fetcher", "TestSyncReadsToTheSourcesLEO", "TestAFloorTravelsOnlyUnderItsSourceEpoch")},
	{Part: Unit, Text: "MirrorCommand can alter the mirror type, add topics with --sync, and defer promotion (with a warning) when lag is non-zero",
		By: here("TestCLIWorkflow", "TestLagDeferredPromotion")},
	{Part: Unit, Text: "ReplicaManager and Partition on source waits for remote replicas",
		By: and(in("actors/core/highwater", "TestFormulaEqualsItsDumbTwin", "TestAMirrorThatHasNotReportedBlocks"), in("clusterd/front", "TestAMirrorGatesAcksAndReadsAboveHW"))},
	{Part: Unit, Text: "AlterMirrorTopicType deferred-promotion: when called with lag > 0, topic stays ASYNC with desired=SYNC and auto-promotes when lag reaches zero (never rejects on lag)",
		By: and(in("actors/core/mirror", "TestPromotionNeedsFreshLagZero"), here("TestLagDeferredPromotion"))},
	{Part: Unit, Text: "STOPPING transition unregisters sync topics and cleans up mirror type state — UnregisterMirrorSyncTopicRequest is sent as the first step; STOPPING proceeds even if the Unregister fails",
		By: and(in("actors/core/mirror", "TestStopRunsInOrder", "TestStopWithADeadSourceTellsNobody"), here("TestTopicRemoval", "TestTopicRemovalWithoutASource"))},
	{Part: Unit, Text: "Source MirrorCoordinator admits a normal Register when no Released=true marker is present, and partition leaders begin gating",
		By: and(in("actors/core/registration", "TestAdmissionTable"), in("clusterd/front", "TestAMirrorGatesAcksAndReadsAboveHW"), in("actors/broker", "TestALeaderThatHasNotAppliedARegistrationGivesNoEvidence"))},
	{Part: Unit, Text: "Source-side Released=true marker semantics: stale Register rejected with MIRROR_SYNC_RELEASED_REQUIRES_FRESH_PROMOTION; fresh recovery Register clears the marker",
		By: in("actors/core/registration", "TestAdmissionTable", "TestM2MirrorMarkerStays", "TestC1bStaleRecoveryDoesNotUndoTheSecondRelease", "TestK6BareRecoveryOfAPlainPeer")},
	{Part: Unit, Text: "MirrorCommand source-compatibility probe: rejects --alter --sync / --add --sync when the source's Fetch version < 20 or mirror.sync.version is disabled; warns and proceeds when unreachable; succeeds when compatible",
		By: and(in("cli", "TestTheProbeRefusesASourceThatCannotGate"), here("TestCLIWorkflow", "TestCLISourceCompatibilityProbeIncompatible", "TestCLISourceCompatibilityProbeUnreachable"))},
	{Part: Unit, Text: "Source MirrorCoordinator Layer-2 validation: returns MIRROR_SYNC_VERSION_MISMATCH per-topic; destination keeps effective ASYNC and retries with RetryAttempt-driven backoff",
		By: and(in("clusterd/daemon", "TestAFeatureThatIsOffIsNotShownAndAdmitsNoMirror"), in("actors/core/mirror", "TestRefusedPromotionBacksOff"), here("TestCLISourceCompatibilityProbeUnreachable"))},
	{Part: Unit, Text: "Source partition leader propagation-race detection: MIRROR_REGISTRATION_PROPAGATING when it has not applied what the controller committed; INVALID_SYNC_REGISTRATION otherwise",
		By: and(in("clusterd/front", "TestARegistrationOnItsWayIsPropagating"), here("TestRegistrationPropagationRace"))},
	{Part: Unit, Text: "Destination MirrorMetadataManager handles per-partition INVALID_SYNC_REGISTRATION / MIRROR_REGISTRATION_PROPAGATING as per-partition signals; topic-wide demote only when every partition has been continuously failing, or on Register-time rejection",
		By: and(in("actors/core/mirror", "TestAllPartitionsRefusedDemotes", "TestRefusalsCountOnlyAfterRegisterWasAnswered", "TestI44PartialIsNeverCalledSync"), in("actors/fetcher", "TestARefusedSyncFetchKeepsDataFlowing"), here("TestSinglePartitionStaleLeaderDoesNotDemoteTopic"))},
	{Part: Unit, Text: "Source HW: sourceHW = min(LEOs over participating ISR replicas) excludes released mirrors and applies the under-min-ISR HW freeze",
		By: in("actors/core/highwater", "TestFormulaEqualsItsDumbTwin", "TestWorkedExampleCommitsUpToRecord87", "TestReleasingOneMirrorLeavesTheOtherGating", "TestAMirrorUnderMinISR")},
	{Part: Unit, Text: "Produce per-partition error down-mapping: below v14 both codes become NOT_ENOUGH_REPLICAS_AFTER_APPEND; for v14 or higher as-is; other error codes are unaffected at every negotiated version",
		By: and(in("protocol/perr", "TestClientsOfEachVersionGetACodeTheyKnow"), in("clusterd/front", "TestSyncErrorsAreMappedDownBelowProduce14"))},

	{Part: Integration, Text: "CLI Workflow: Add topics with --sync, alter mirror type, and verify with kafka-cluster-mirrors.sh", By: here("TestCLIWorkflow")},
	{Part: Integration, Text: "Sync Replication: Create mirror via API, replicate topic in sync mode, verify data consistency across clusters",
		By: and(here("TestSyncReplication"), in("testkit/pair", "TestWhileBothLive"))},
	{Part: Integration, Text: "Lag-Deferred Promotion: Trigger --alter --sync while lag > 0, verify the topic stays ASYNC with desired=SYNC and CLI returns a \"pending lag drain\" warning", By: here("TestLagDeferredPromotion")},
	{Part: Integration, Text: "Auto-Promotion: Add topic as SYNC, verify it starts ASYNC and auto-promotes to SYNC when lag reaches zero", By: here("TestAutoPromotion")},
	{Part: Integration, Text: "Topic Removal: Remove sync topic from mirror, verify source unregistration as first STOPPING step and mirror type state cleanup",
		By: and(here("TestTopicRemoval", "TestTopicRemovalWithoutASource"), in("actors/core/mirror", "TestStopRunsInOrder"))},
	{Part: Integration, Text: "Sync Replication Timeout: Throttle the destination; verify producer receives MIRROR_SYNC_REPLICATION_TIMEOUT with the mirror name in the error message", By: here("TestSyncReplicationTimeout")},
	{Part: Integration, Text: "Source MinISR Violation: Bring destination's ISR below its MinISR during sustained produce; NOT_ENOUGH_REMOTE_REPLICAS_AFTER_APPEND with the mirror name; sourceHW freezes and resumes",
		By: and(here("TestSourceMinISRViolation"), in("testkit/pair", "TestADestinationUnderItsMinISRFreezesTheSource"))},
	{Part: Integration, Text: "Producer Client Backward Compatibility (Produce < v14): timeout path, under-MinISR path, control case", By: here("TestProducerClientBackwardCompatibility")},
	{Part: Integration, Text: "Source-Side Release — Concurrent Register Race: the Register lands against the sticky Released=true marker and is rejected; source does not silently re-establish sync", By: here("TestReleaseConcurrentRegisterRace")},
	{Part: Integration, Text: "Source-Side Release — Multi-Destination: release one of two; the remaining destination continues to gate source HW",
		By: in("testkit/pair", "TestTwoDestinationsGateAndReleasingOneLeavesTheOther")},
	{Part: Integration, Text: "Source-Side Release — Auto-Recovery: no operator action on the destination required",
		By: and(here("TestReleaseAutoRecovery"), in("testkit/pair", "TestProducersAreToldWhoIsMissingAndAReleaseLetsThemGoOn"))},
	{Part: Integration, Text: "Source-Side Release — Persistent Source Hold: keep the source-side condition active; the auto-promoter applies exponential backoff via RetryAttempt and does not spam Registers",
		By: and(in("actors/core/mirror", "TestRefusedPromotionBacksOff"), here("TestReleasePersistentSourceHold"), in("testkit/pair", "TestAHeldReleaseWaitsForTheOperatorAndAForgottenNameIsFree"))},
	{Part: Integration, Text: "Auto-Demote Keeps Partition in MIRRORING: partition state stays MIRRORING (not FAILED), replication continues in ASYNC mode", By: here("TestAutoDemoteKeepsPartitionInMirroring")},
	{Part: Integration, Text: "Source ULE Handling (sync mode): destination detects divergence, truncates to the divergence point, and re-syncs from the new source leader", By: here("TestSourceULEHandling")},
	{Part: Integration, Text: "Source ULE Blocked: the source partition becomes unavailable, sync gating naturally pauses, and the operator can failover to the destination via the standard stop-mirror flow", By: here("TestSourceULEBlocked")},
	{Part: Integration, Text: "CLI Source-Compatibility Probe — Compatible: verify the broker call is made and DesiredMirrorType=SYNC is set", By: here("TestCLIWorkflow")},
	{Part: Integration, Text: "CLI Source-Compatibility Probe — Incompatible: the CLI fails with a clear error, exits non-zero, and DesiredMirrorType was not changed", By: here("TestCLISourceCompatibilityProbeIncompatible")},
	{Part: Integration, Text: "CLI Source-Compatibility Probe — Unreachable: warning and the broker call still proceeds; then incompatible: SyncRegistrationRejected{reason=VERSION_MISMATCH} increments", By: here("TestCLISourceCompatibilityProbeUnreachable")},
	{Part: Integration, Text: "Registration Propagation Race: MIRROR_REGISTRATION_PROPAGATING for that partition; other partitions continue normally; the next Fetch succeeds once the leader applies the record", By: here("TestRegistrationPropagationRace")},
	{Part: Integration, Text: "Single-Partition Stale Leader Doesn't Demote Topic: the failing partition resumes normal sync gating without any demote/promote cycle", By: here("TestSinglePartitionStaleLeaderDoesNotDemoteTopic")},
	{Part: Integration, Text: "All-Partitions-Failing Triggers Topic Demote: after mirror.sync.topic.demote.timeout.ms the destination demotes the topic to ASYNC and auto-recovers via the standard path",
		By: and(in("actors/core/mirror", "TestAllPartitionsRefusedDemotes", "TestReleasedDemotesAtOnce"), here("TestAutoDemoteKeepsPartitionInMirroring"))},

	{Part: System, Text: "Performance Benchmark: Measure replication throughput and latency across WAN; verify MirrorSyncReplicationLatencyMs distribution under representative load", By: typed("system wan")},
	{Part: System, Text: "Scalability Test: Replicate 1,000 topics with 100,000 partitions across clusters in sync mode", By: typed("system scale")},
	{Part: System, Text: "Long-Running Stability: Run continuous replication for 7 days, verify no memory leaks or performance degradation", By: typed("system long")},
	{Part: System, Text: "Sync Failover and Failback: destination retains all acked records on failover; failback into sync uses auto-promotion when lag reaches zero",
		By: and(typed("system failover"), in("testkit/pair", "TestATopicMovesThereAndBack")), Waiting: "failback after a crash that keeps the recovered source's data"},
	{Part: System, Text: "Source-Side Release Under Load: source unblocks producers immediately; the destination demotes the topic to ASYNC and auto-recovers without data loss", By: typed("system release")},
	{Part: System, Text: "Mixed-Mode Transaction Failover: A's destination shows the transaction as committed while B's destination shows it as aborted", By: typed("system mixed")},
}
