//go:build !mutants

package group

const (
	answerOnlyDurable     = true // D25: a commit, a generation, an assignment is answered at quorum durability
	neverReuseGeneration  = true // a generation is journaled before anybody is told its number
	keepMembersOnRestart  = true // D25: a stable group survives a restart without a rebalance
	boundGroups           = true // I61: what members say and commit is bounded per shard
	ageByUptime           = true // D1: offsets expire by the time the shard has lived, not by the wall clock
	keepSubscribedOffsets = true // compat-G05: what a member subscribes to does not expire
	keepGroupsInUse       = true // a group with members is not deleted
	fenceMemberEpochs     = true // KIP-848: a member acts only on the epoch it was told
	waitForRevocation     = true // KIP-848: a member stays on its epoch until it has given up what it is to
	waitForRelease        = true // KIP-848: a partition is given to nobody while another has it
	matchTopicID          = true // F34: offsets belong to the topic's id, not to its name
	pendingUntilTheEnd    = true // T13: offsets of a transaction count with its records, and are unstable until then
)
