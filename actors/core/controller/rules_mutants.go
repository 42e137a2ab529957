//go:build mutants

package controller

import "lockstep/actors/core/rules"

var (
	raiseEpochOnRestart  = rules.Kept("R12 raiseEpochOnRestart")
	bumpOnInPlaceRestart = rules.Kept("R12 bumpOnInPlaceRestart")
	electLongestLog      = rules.Kept("R12 electLongestLog")
	refuseLossyLeader    = rules.Kept("R12 refuseLossyLeader")
	dropLossyFromISR     = rules.Kept("R12 dropLossyFromISR")
	stateUncleanElection = rules.Kept("R11 stateUncleanElection")
	publishOnlyDurable   = rules.Kept("D9 publishOnlyDurable")
	fencePartitionEpoch  = rules.Kept("D2 fencePartitionEpoch")
	prefixProducerIDs    = rules.Kept("C13 prefixProducerIDs")
	skipUsedProducerIDs  = rules.Kept("C13 skipUsedProducerIDs")
	keepOnlyInSync       = rules.Kept("R12 keepOnlyInSync")
	acceptOnlyLoss       = rules.Kept("R12 acceptOnlyLoss")
)
