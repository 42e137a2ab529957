//go:build mutants

package group

import "lockstep/actors/core/rules"

var (
	answerOnlyDurable     = rules.Kept("D25 answerOnlyDurable")
	neverReuseGeneration  = rules.Kept("D25 neverReuseGeneration")
	keepMembersOnRestart  = rules.Kept("D25 keepMembersOnRestart")
	boundGroups           = rules.Kept("I61 boundGroups")
	ageByUptime           = rules.Kept("D1 ageByUptime")
	keepSubscribedOffsets = rules.Kept("G5 keepSubscribedOffsets")
	keepGroupsInUse       = rules.Kept("G4 keepGroupsInUse")
	fenceMemberEpochs     = rules.Kept("K848 fenceMemberEpochs")
	waitForRevocation     = rules.Kept("K848 waitForRevocation")
	waitForRelease        = rules.Kept("K848 waitForRelease")
	matchTopicID          = rules.Kept("F34 matchTopicID")
	pendingUntilTheEnd    = rules.Kept("T13 pendingUntilTheEnd")
)
