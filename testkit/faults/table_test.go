package faults

import (
	"testing"

	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
)

func TestTheTableOfRefusals(t *testing.T) {
	behind := "appended at offset 4, not yet durable on far"
	for i, c := range []struct {
		version int16
		code    perr.Code
		text    string
		ok      bool
	}{
		{14, perr.None, "", true}, {13, perr.None, "", true},
		{14, perr.MirrorSyncReplicationTimeout, behind, true}, {14, perr.MirrorSyncReplicationTimeout, "appended", false},
		{13, perr.MirrorSyncReplicationTimeout, behind, false}, {13, perr.NotEnoughReplicasAfterAppend, behind, true},
		{14, perr.NotEnoughReplicasAfterAppend, behind, false}, {14, perr.NotEnoughRemoteReplicasAfterAppend, behind, true},
		{13, perr.NotEnoughRemoteReplicasAfterAppend, behind, false}, {14, perr.NotEnoughReplicas, behind, true},
		{14, perr.RequestTimedOut, "not yet durable on the in-sync replicas", true}, {14, perr.RequestTimedOut, behind, false},
		{14, perr.UnknownServerError, "", false}, {13, perr.ReadOnlyTopic, "", false},
	} {
		if verdict, ok := judge(c.version, dc.Answer{Code: c.code, Text: c.text}, []string{"near", "far"}); ok != c.ok {
			t.Errorf("%d: v%d %s %q: %v (%s)", i, c.version, c.code.Name(), c.text, ok, verdict)
		}
	}
}
