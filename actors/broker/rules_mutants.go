//go:build mutants

package broker

import "lockstep/actors/core/rules"

var (
	checkLedgerForEvidence    = rules.Kept("C4 checkLedgerForEvidence")
	checkEpochForEvidence     = rules.Kept("C4 checkEpochForEvidence")
	raiseEpochAfterPanic      = rules.Kept("R12 raiseEpochAfterPanic")
	mirrorsForgetTheirHW      = rules.Kept("R8 mirrorsForgetTheirHW")
	lossLowersHW              = rules.Kept("R12 lossLowersHW")
	bringBackOnlyCurrent      = rules.Kept("F34 bringBackOnlyCurrent")
	poisonWholeVolume         = rules.Kept("R12 poisonWholeVolume")
	retentionWaitsForMirrors  = rules.Kept("F52 retentionWaitsForMirrors")
	compactionWaitsForMirrors = rules.Kept("F52 compactionWaitsForMirrors")
	tombstonesWaitForReplicas = rules.Kept("F52 tombstonesWaitForReplicas")
	cleanedIsNotCompared      = rules.Kept("R11 cleanedIsNotCompared")
)
