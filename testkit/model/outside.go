package model

import (
	"slices"
	"strconv"
	"strings"

	"lockstep/testkit/rules"
)

// carriers are the packages of the machines that the searches drive: one of the data plane, one of the
// control plane.
var carriers = []string{"actors/core/highwater", "actors/core/partition", "actors/core/mirror", "actors/core/registration"}

// ofModel reports whether a rule is one of R1 to R13, or another that the machines of these models carry and
// somebody has looked at.
func ofModel(r rules.Rule) bool {
	if slices.Contains(carriers, r.Package) && (Counterexamples[r.Switch] != "" || outside[r.Switch] != "") {
		return true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(r.Ruling, "R"))
	return err == nil && n >= 1 && n <= 13
}

// Counterexamples names the scenario in which each switched-off rule goes wrong soonest.
var Counterexamples = map[string]string{
	"confirmPastLastOffset": "quiet", "unknownBlocks": "quiet", "reportOnlyDurable": "quiet",
	"duplicateWaitsForOriginal": "retry",
	"resetOnRegistration":       "release",
	"requireExactSourceEpoch":   "source-election", "requireAdoptedEpoch": "source-election", "serveFromElectionImage": "source-election",
	"followCleanLineage":         "source-election",
	"forgetReportsOnEpoch":       "re-elected",
	"refuseLowerSourceEpoch":     "zombie-source",
	"requireMirrorTerm":          "two-records",
	"admitAboveFloor":            "rejoining",
	"floorMarkSurvivesEpochs":    "rejoining-late",
	"additionCountsAtOnce":       "joining",
	"removalCountsWhenCommitted": "removal",
	"noFloorUnderMinISR":         "under-min-isr",
	"freezeUnderMinISR":          "source-under-min-isr",
	"sourceHWBoundedByISR":       "destination-election",
	"keepBelowSourceHW":          "source-loss",
	"keepBelowFloorUnlessClean":  "unclean",
	"requireNewEpochToLead":      "in-place",

	// Of the control plane.
	"claimInsideGate": "changes-of-mind", "syncFetchWhileGated": "early-changes", "promoteWithT": "early-changes",
	"sourceClockOnly": "silence", "unconfirmedAfterLease": "silence", "ungateAfterLease": "after-lease",
	"refuseOlderCommands": "changes-of-mind", "journalGeneration": "changes-of-mind", "ignoreForeignAnswers": "early-changes",
	"echoCurrentRelease": "released-twice", "unregisterKeepsMarker": "released-twice", "obeyRelease": "released-twice",
	"ignoreStaleRelease": "released-twice", "echoSeenRelease": "released",
	"unclaimFirst": "change-of-mind", "reportWhileDemoting": "change-of-mind", "demotionUnregisters": "change-of-mind", "retryUntilAnswered": "change-of-mind",
	"restoredStartsAfresh": "restored", "newDataRegistersAnew": "restored", "newestEvidenceGoverns": "restored", "ownRegistrationOnly": "restored",
	"supersededIsAnAnswer": "restored-early", "takeBackUnknownGate": "restored-early",
	"keepOverRestart": "restarts", "journalBeforeSending": "torn", "finishTornDecision": "torn-rest",
}

// outside says why no schedule of this model goes wrong without a rule. Other tests notice each of them
// (testkit rules).
var outside = map[string]string{
	// Another rule that stays on covers it here.
	"requireCurrentSession":    "requireAdoptedEpoch covers it: an answer of an older session and the adopted epoch holds the right bytes (A0, B0)",
	"trackAdoptedEpochOnly":    "requireAdoptedEpoch covers it: a HW reaches the HW actor only with an answer that was accepted",
	"floorMarkStartsAtLEO":     "the start of the leader epoch is the same line until a truncation, which lowers both",
	"dropWaitersWithEpoch":     "failWaitersOnStepDown covers it: a confirmation of a waiter that failed finds nobody",
	"failWaitersOnStepDown":    "dropWaitersWithEpoch covers it: nobody confirms the waiters that were kept",
	"realignFollowersEachTerm": "requireMirrorTerm covers it: followers that were not realigned are never heard, a wedge and not a loss",
	"alignBeforeHW":            "one leader's letters arrive in order: no HW overtakes the alignment before it",
	// It costs time or truth of an answer, not a record.
	"keepMaximumFloor":   "a smaller floor is as true as a larger one: it holds HW back",
	"underMinFromNewest": "the size only refuses; floors bound HW either way",
	"joinerHoldsFloor":   "liveness: it lets a follower join under load",
	// The model leaves its subject out.
	"askAboutWholeLog":    "the model asks about the whole log",
	"anEpochNeverShrinks": "a source restored from an older copy of itself", "anotherRecordDiverges": "a source restored from an older copy of itself",
	"followSourceStart": "retention", "publishedFloorAtStopping": "stopping", "fenceOldSessions": "stopping",
	"lastMirrorEpochOnce": "stopping", "resetDropsProducers": "stopping", "resetKeepsIdempotent": "stopping",
	"producersFollowTheLog": "producers that go on after an election",
	"nameSlowestMirror":     "texts of answers", "refuseBeforeAppend": "refusals", "obeyAdmission": "refusals",
	"boundPurgatory": "refusals", "ledgerWeakAcks": "acks=1", "countWeakAcks": "acks=1",
	"mirrorsAreReadOnly": "clients of the destination", "gateStartIsLEO": "evidence and claims",
	"raiseEpochAboveSource":      "destination epochs start far above",
	"quarantineBeforeTruncation": "side files", "answerForgottenCuts": "side files",
}

// Outside is why the rule is not one this model can miss, "" if it can.
func Outside(r rules.Rule) string {
	if why := outside[r.Switch]; why != "" || slices.Contains(carriers, r.Package) {
		return why
	}
	return "carried by " + r.Package + ", which the model does not drive"
}
