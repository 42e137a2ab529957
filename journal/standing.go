package journal

import "lockstep/actors/core"

// Standing is how far the volumes of a quorum are with what it proposed. Numbers are those of its one sequence over all
// control streams, inclusive; 0 is none.
type Standing struct {
	Term      int64
	Proposed  int64
	Committed int64 // a majority has it on disk
	Members   []MemberStanding
}

// MemberStanding is one volume of a quorum.
type MemberStanding struct {
	Broker core.ReplicaID
	Acked  int64 // on its disk; -1: unknown, it is being refilled
	Err    error // why it takes no more, nil while it does
}
