//go:build !mutants

package controller

const (
	raiseEpochOnRestart  = true // R12, D5: a process start is a new epoch for every partition
	bumpOnInPlaceRestart = true // R12, D4: so is the restart of one leader inside a running process
	electLongestLog      = true // R12, D5: highest (epoch, durable LEO), not the first of the list
	refuseLossyLeader    = true // R12, D13: LOSSY replicas are outside the electable set
	dropLossyFromISR     = true // R12, D13: and outside the ISR
	stateUncleanElection = true // R11: lastUncleanEpoch is cumulative and stated
	publishOnlyDurable   = true // D9, R12: facts leave after their event is on the control majority
	fencePartitionEpoch  = true // D2: an ISR proposal made before a change is not committed after it
	prefixProducerIDs    = true // C13, D24: ids of two clusters never meet
	skipUsedProducerIDs  = true // C13: nor those of two lives of one cluster
	keepOnlyInSync       = true // R12: a reassignment ends with those of its target that are in sync, and no others in the ISR
	acceptOnlyLoss       = true // R12: no loss is accepted where an intact replica exists
)
