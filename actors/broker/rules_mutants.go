//go:build mutants

package broker

import "lockstep/actors/core/rules"

var (
	checkLedgerForEvidence = rules.Kept("C4 checkLedgerForEvidence")
	checkEpochForEvidence  = rules.Kept("C4 checkEpochForEvidence")
	raiseEpochAfterPanic   = rules.Kept("R12 raiseEpochAfterPanic")
	poisonWholeVolume      = rules.Kept("R12 poisonWholeVolume")
)
