//go:build !mutants

package broker

const (
	checkLedgerForEvidence    = true // C4, model G5: a release in the ledger ends evidence before any leader hears of it
	checkEpochForEvidence     = true // C4: only a leader of the controller's newest epoch vouches
	raiseEpochAfterPanic      = true // R12: an in-place restart is a new epoch, durable before its first append or answer
	mirrorsForgetTheirHW      = true // R8, I18: a mirror's log can be cut, so no old HW speaks for it
	lossLowersHW              = true // R12: where a loss was accepted, what was committed once is not what stands there now
	bringBackOnlyCurrent      = true // F34: a deleted partition does not come back empty under an image that lags
	poisonWholeVolume         = true // R12, D4: no actor goes on over a volume that failed another
	retentionWaitsForMirrors  = true // F52, M04: retention does not pass what a registered mirror has
	compactionWaitsForMirrors = true // F52: nor does compaction: what a tombstone ends is known to who has to know
	tombstonesWaitForReplicas = true // F52, compat-R04: and a replica that is behind hears of it, too
	cleanedIsNotCompared      = true // R11: a copy that was compacted is no other history
)
