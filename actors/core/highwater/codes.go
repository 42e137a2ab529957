package highwater

import "lockstep/protocol/perr"

// The codes this machine chooses between; the front maps them down for old clients.
const (
	codeTimedOut          perr.Code = 7   // REQUEST_TIMED_OUT: our own ISR is behind
	codeNotLeader         perr.Code = 6   // NOT_LEADER_OR_FOLLOWER
	codeNotEnoughReplicas perr.Code = 19  // NOT_ENOUGH_REPLICAS: refused before append
	codeMirrorTimedOut    perr.Code = 950 // MIRROR_SYNC_REPLICATION_TIMEOUT
	codeMirrorUnderMin    perr.Code = 951 // NOT_ENOUGH_REMOTE_REPLICAS_AFTER_APPEND
)
