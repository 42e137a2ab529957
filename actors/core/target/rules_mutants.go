//go:build mutants

package target

import "lockstep/actors/core/rules"

var (
	armedBeforeOthers       = rules.Kept("C15 armedBeforeOthers")
	refusedCountsAsReleased = rules.Kept("C15 refusedCountsAsReleased")
	neverByLogEnd           = rules.Kept("F38 neverByLogEnd")
	gatedEpochsOnly         = rules.Kept("C15 gatedEpochsOnly")
	unknownDecidesNothing   = rules.Kept("C15 unknownDecidesNothing")
)
