//go:build !mutants

package target

const (
	armedBeforeOthers       = true // C15, F38, model T2: armed and not known to be released comes first
	refusedCountsAsReleased = true // C15, model T4: whoever was told that the source does not gate is among the others
	neverByLogEnd           = true // F38, model T1: a log may be long with what was never acknowledged
	gatedEpochsOnly         = true // C15, model T4: a newer source epoch counts only if its leader gated
	unknownDecidesNothing   = true // C15: what is unknown is not low
)
