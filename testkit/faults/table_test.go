package faults

import (
	"testing"

	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
)

func TestTheTableOfRefusals(t *testing.T) {
	const (
		far     = "appended at offset 4, not yet durable on far"
		near    = "appended at offset 4, not yet durable on near"
		few     = "mirror far of cluster dc3 has 1 in-sync replicas and needs 2; it recovers by itself or must be released"
		fewHere = "in-sync replicas [1] are fewer than min.insync.replicas 2"
		ours    = "appended at offset 4, not yet durable on the in-sync replicas [1 2 3]"
	)
	well, source := situation{}, situation{source: true, hit: []string{"near", "far"}}
	late, ill := situation{hit: []string{"far"}}, situation{hit: []string{"far"}, under: []string{"far"}}
	deaf := situation{hit: []string{"near", "far"}, deaf: []string{"far"}}
	for i, c := range []struct {
		version int16
		code    perr.Code
		text    string
		s       situation
		ok      bool
	}{
		{14, perr.None, "", well, true}, {13, perr.None, "", late, true},
		{14, perr.None, "", deaf, false}, {13, perr.None, "", deaf, false},

		{14, perr.MirrorSyncReplicationTimeout, far, late, true}, {14, perr.MirrorSyncReplicationTimeout, "appended", late, false},
		{14, perr.MirrorSyncReplicationTimeout, far, well, false}, {14, perr.MirrorSyncReplicationTimeout, near, late, false},
		{14, perr.MirrorSyncReplicationTimeout, far, deaf, true}, {14, perr.MirrorSyncReplicationTimeout, near, deaf, false},
		{13, perr.MirrorSyncReplicationTimeout, far, late, false}, {13, perr.NotEnoughReplicasAfterAppend, far, late, true},
		{13, perr.NotEnoughReplicasAfterAppend, near, late, false}, {14, perr.NotEnoughReplicasAfterAppend, far, late, false},

		{14, perr.NotEnoughRemoteReplicasAfterAppend, "appended, not committed: " + few, ill, true},
		{14, perr.NotEnoughRemoteReplicasAfterAppend, few, ill, false}, {14, perr.NotEnoughRemoteReplicasAfterAppend, "appended, not committed: " + few, late, false},
		{13, perr.NotEnoughRemoteReplicasAfterAppend, "appended, not committed: " + few, ill, false},
		{13, perr.NotEnoughReplicasAfterAppend, "appended, not committed: " + few, ill, true},
		{13, perr.NotEnoughReplicasAfterAppend, "appended, not committed: " + few, late, false},
		{14, perr.NotEnoughReplicas, few, ill, true}, {14, perr.NotEnoughReplicas, "appended, not committed: " + few, ill, false},
		{14, perr.NotEnoughReplicas, few, late, false}, {14, perr.NotEnoughReplicas, "", ill, false},
		{14, perr.NotEnoughReplicas, fewHere, source, true}, {14, perr.NotEnoughReplicas, fewHere, ill, false},

		{14, perr.RequestTimedOut, ours, well, true}, {14, perr.RequestTimedOut, far, late, false},
		{14, perr.NotLeaderOrFollower, "", source, true}, {14, perr.NotLeaderOrFollower, "", late, false},
		{14, perr.UnknownServerError, "", source, false}, {13, perr.ReadOnlyTopic, "", source, false},
	} {
		if verdict, why := judge(c.version, dc.Answer{Code: c.code, Text: c.text}, c.s); (why == "") != c.ok {
			t.Errorf("%d: v%d %s %q in %+v: %q (%s)", i, c.version, c.code.Name(), c.text, c.s, why, verdict)
		}
	}
}

func TestAMirrorThatIsFreeHoldsNothing(t *testing.T) {
	s := situation{}
	s.deafens("near", "far")
	s.frees("far")
	if _, why := judge(14, dc.Answer{Code: perr.MirrorSyncReplicationTimeout, Text: "appended at offset 4, not yet durable on far"}, s); why == "" {
		t.Error("a released mirror may be named")
	}
	if _, why := judge(14, dc.Answer{}, s); why == "" {
		t.Error("acknowledged though near is deaf")
	}
	s.hears()
	s.deafens("far")
	if _, why := judge(14, dc.Answer{}, s); why != "" {
		t.Errorf("not acknowledged although only a released mirror is deaf: %s", why)
	}
	s.binds("far")
	s.deafens("far")
	if _, why := judge(14, dc.Answer{}, s); why == "" {
		t.Error("acknowledged though a mirror that gates again is deaf")
	}
}
