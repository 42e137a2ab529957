package faults

import (
	"slices"
	"strings"

	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
)

// judge says whether an answer to acks=all is one that the rules allow (R9, R10): an acknowledgement; our own ISR behind
// or under its min, as in Kafka; or a mirror behind or under its min, by its code for the version, and by its name.
func judge(version int16, a dc.Answer, mirrors []string) (verdict string, ok bool) {
	if a.Err != nil {
		return "no answer: " + a.Err.Error(), true // the connection went with a stopped broker; the record may be there or not
	}
	named := slices.ContainsFunc(mirrors, func(m string) bool { return strings.Contains(a.Text, m) })
	verdict = a.Code.Name()
	if named {
		verdict += ", naming the mirror"
	}
	switch a.Code {
	case perr.None:
		return verdict, true
	case perr.RequestTimedOut, perr.NotLeaderOrFollower, perr.LeaderNotAvailable:
		return verdict, !named
	case perr.NotEnoughReplicas: // before the append: ours, or a mirror's that has been ill for a second
		return verdict, true
	case perr.MirrorSyncReplicationTimeout, perr.NotEnoughRemoteReplicasAfterAppend:
		return verdict, named && version >= 14
	case perr.NotEnoughReplicasAfterAppend: // Kafka's own for our ISR, and what older clients get for both of ours
		return verdict, !named || version < 14
	default:
		return verdict, false
	}
}
