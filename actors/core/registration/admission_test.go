package registration

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// The admission table of rulings §4, row by row.
func TestAdmissionTable(t *testing.T) {
	released := func(l *ledger) { l.register(register(1, 0)); l.release(topicA) }
	for _, row := range []struct {
		name  string
		setup func(*ledger)
		cmd   func(*RegisterTopic)
		code  perr.Code
		text  string
		gates int
	}{
		{"marker absent", nil, nil, perr.None, "", 1},
		{"marker absent, recovery", nil, func(c *RegisterTopic) { c.Recovery = true }, perr.None, "", 1},
		{"marker set, no echo", released, nil, perr.MirrorSyncReleasedRequiresFreshPromotion, "release 1", 0},
		{"marker set, older echo", func(l *ledger) { released(l); l.release(topicA) }, func(c *RegisterTopic) { c.Echo, c.Recovery = 1, true }, perr.MirrorSyncReleasedRequiresFreshPromotion, "release 2", 0},
		{"marker set, echo", released, func(c *RegisterTopic) { c.Echo = 1 }, perr.None, "", 1},
		{"feature off", nil, func(c *RegisterTopic) { c.CanGate = false }, perr.MirrorSyncVersionMismatch, "mirror.sync.version=1", 0},
		{"unknown topic id (C10, F34)", nil, func(c *RegisterTopic) { c.Source = Source{} }, perr.UnknownTopicId, "no topic with id", 0},
		{"id and name do not match (C10, F34)", nil, func(c *RegisterTopic) { c.Name = "b" }, perr.InconsistentTopicId, `called "a"`, 0},
		{"topic follows a mirror itself (C11)", nil, func(c *RegisterTopic) { c.Source.Mirrored = true }, perr.InvalidClusterMirrorState, "takes its writes", 0},
		{"the path closes a cycle (C11)", nil, func(c *RegisterTopic) { c.Path = []core.ClusterID{"dst", "src"} }, perr.InvalidClusterMirrorState, "wait for itself", 0},
		{"second cluster with the name (C10, F33)", func(l *ledger) { l.register(register(1, 0)) }, func(c *RegisterTopic) { c.Key.Cluster = "other" }, perr.MirrorNameInUse, "belongs to cluster dst", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLedger(t)
			if row.setup != nil {
				row.setup(l)
			}
			cmd := register(5, 0)
			if row.cmd != nil {
				row.cmd(&cmd)
			}
			got := l.register(cmd)
			if got.Code != row.code || !strings.Contains(got.Text, row.text) {
				t.Fatalf("answered %v %q, want %v %q", got.Code, got.Text, row.code, row.text)
			}
			if l.gates(topicA) != row.gates {
				t.Fatalf("%d gates, want %d", l.gates(topicA), row.gates)
			}
			l.restart()
			if l.gates(topicA) != row.gates {
				t.Fatalf("%d gates after a restart, want %d", l.gates(topicA), row.gates)
			}
		})
	}
}

func TestAlreadyRegisteredKeepsTheEpochAndListsKnownGates(t *testing.T) {
	l := newLedger(t)
	first := l.register(register(1, 0))
	if first.Code != perr.None || len(first.Gates) != 0 {
		t.Fatalf("first answer %+v: no leader has applied anything yet, all partitions are PENDING", first)
	}
	l.do(ReportGate{Key: dst, ID: core.PartitionID{Topic: topicA, Index: 1}, Epoch: first.Epoch, LeaderEpoch: 7, GateStart: 40})
	again := l.register(register(2, 0))
	if again.Epoch != first.Epoch {
		t.Fatalf("epoch %d, want %d unchanged", again.Epoch, first.Epoch)
	}
	if fmt.Sprint(again.Gates) != "[{1 7 40}]" {
		t.Fatalf("gates %v", again.Gates)
	}
}

// Model K1: "already registered" writes nothing, the source restarts, and an Unregister of before that Register
// ends the live registration.
func TestK1GenerationIsJournaledWhenNothingElseChanges(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.register(register(3, 0)) // an Unregister(2) is still in flight
	l.restart()
	if got := l.unregister(unregister(2)); got.Newest != 3 {
		t.Fatalf("late Unregister(2) answered %+v, want superseded by 3", got)
	}
	if l.gates(topicA) != 1 {
		t.Fatal("a late Unregister ended a live registration")
	}
}

// Model K2: the same answer as before would be OK although an operator has released since.
func TestK2EqualCommandIsJudgedAgain(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.release(topicA)
	if got := l.register(register(1, 0)); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion || got.Number != 1 {
		t.Fatalf("repeated Register after a release answered %+v", got)
	}
}

// Model K4: leaving and coming back must not undo a release.
func TestK4UnregisterNeverClearsAMarker(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.release(topicA)
	l.unregister(unregister(2))
	if got := l.register(register(3, 0)); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("answered %+v", got)
	}
}

// Model K5: a destination restored from an older journal reuses a number for another command.
func TestK5ReusedNumberIsSupersededAndNamed(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.unregister(unregister(2))
	got := l.register(register(2, 0))
	if got.Newest != 2 || got.Code != perr.InvalidSyncRegistration {
		t.Fatalf("answered %+v, want superseded naming 2", got)
	}
	if l.gates(topicA) != 0 {
		t.Fatal("admitted under a number that was taken")
	}
}

// Model C2: Unregister(2) is delayed, the topic is registered again, then it arrives.
func TestC2LateUnregisterHasNoEffect(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.register(register(3, 0))
	l.unregister(unregister(2))
	if l.gates(topicA) != 1 {
		t.Fatal("the source stopped gating under a standing claim")
	}
}

// Model C4: D demotes before its Register arrives; the late Register must not gate on nobody.
func TestC4UnregisterOfAnUnknownKeyKeepsTheLateRegisterOut(t *testing.T) {
	l := newLedger(t)
	l.unregister(unregister(2))
	l.restart()
	if got := l.register(register(1, 0)); got.Newest != 2 || l.gates(topicA) != 0 {
		t.Fatalf("late Register(1) answered %+v, %d gates", got, l.gates(topicA))
	}
}

// Model C1 (F15): a recovery hint without any release seen must not clear a marker set meanwhile.
func TestC1HintWithoutNumberDoesNotUndoARelease(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.release(topicA)
	cmd := register(2, 0)
	cmd.Recovery = true
	if got := l.register(cmd); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("answered %+v", got)
	}
}

// Model C1b (F14): a recovery Register of release 1 is still in flight when release 2 is made.
func TestC1bStaleRecoveryDoesNotUndoTheSecondRelease(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.release(topicA)
	l.register(register(2, 1)) // admitted; a copy stays in flight
	l.release(topicA)
	if got := l.register(register(2, 1)); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion || got.Number != 2 {
		t.Fatalf("the copy was answered %+v", got)
	}
	if l.gates(topicA) != 0 {
		t.Fatal("release 2 was undone")
	}
}

// Model G8: evidence of an ended registration must not pass for the new one.
func TestG8RegistrationEpochIsNeverReused(t *testing.T) {
	l := newLedger(t)
	seen := map[core.RegistrationEpoch]bool{}
	for g := core.Generation(1); g < 9; g += 2 {
		got := l.register(register(g, 0))
		if seen[got.Epoch] {
			t.Fatalf("epoch %d given out twice", got.Epoch)
		}
		seen[got.Epoch] = true
		l.unregister(unregister(g + 1))
		l.restart()
	}
}

// F44: the floors of data that is gone must not satisfy the gate of new data.
func TestOtherDataIsAnotherRegistration(t *testing.T) {
	l := newLedger(t)
	first := l.register(register(1, 0))
	cmd := register(2, 0)
	cmd.Incarnation = data2
	second := l.register(cmd)
	if second.Epoch == first.Epoch {
		t.Fatal("the registration of other data kept its epoch")
	}
	gates := l.s.registrations()[topicA].Gates
	if len(gates) != 1 || gates[0].Incarnation != data2 || gates[0].Epoch != second.Epoch {
		t.Fatalf("gates %+v", gates)
	}
}

// C3: once numbered, always numbered; a release forgets that, for a destination that was downgraded.
func TestNumberedKeyRefusesCommandsWithoutNumber(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	if got := l.unregister(unregister(0)); got.Newest != 1 || l.gates(topicA) != 1 {
		t.Fatalf("answered %+v with %d gates", got, l.gates(topicA))
	}
	l.release(topicA)
	if got := l.register(register(0, 0)); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("after a release: %+v", got)
	}
}

// Model K6: a bare flag counts only once this release was told to the destination.
func TestK6BareRecoveryOfAPlainPeer(t *testing.T) {
	bare := register(0, 0)
	bare.Recovery = true
	for _, row := range []struct {
		name string
		told func(*ledger)
		code perr.Code
	}{
		{"never told", func(*ledger) {}, perr.MirrorSyncReleasedRequiresFreshPromotion},
		{"told by a 954", func(l *ledger) { l.register(register(0, 0)) }, perr.None},
		{"told by a 952", func(l *ledger) { l.do(ReportTold{Key: dst, Topic: topicA, Number: 1}) }, perr.None},
		{"told of an older release", func(l *ledger) { l.do(ReportTold{Key: dst, Topic: topicA, Number: 1}); l.release(topicA) }, perr.MirrorSyncReleasedRequiresFreshPromotion},
		{"told, then a restart", func(l *ledger) { l.register(register(0, 0)); l.restart() }, perr.MirrorSyncReleasedRequiresFreshPromotion},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLedger(t)
			l.register(register(0, 0))
			l.release(topicA)
			row.told(l)
			if got := l.register(bare); got.Code != row.code {
				t.Fatalf("answered %+v, want %v", got, row.code)
			}
		})
	}
}

// R14: peers that number nothing are gates of their own kind, and one that starts to number registers anew.
func TestAPlainRegistrationIsMarkedAndEndsWithItsKind(t *testing.T) {
	l := newLedger(t)
	first := l.register(register(0, 0))
	if gates := l.s.registrations()[topicA].Gates; first.Code != perr.None || len(gates) != 1 || !gates[0].Plain {
		t.Fatalf("answered %+v with gates %+v", first, gates)
	}
	if again := l.register(register(0, 0)); again.Epoch != first.Epoch {
		t.Fatalf("the same again: %+v", again)
	}
	l.restart()
	if gates := l.s.registrations()[topicA].Gates; len(gates) != 1 || !gates[0].Plain || !last[Described](t, l.do(Describe{})).Ledger.Registrations[0].Plain {
		t.Fatalf("after a restart: %+v", gates)
	}
	numbered := l.register(register(1, 0))
	if gates := l.s.registrations()[topicA].Gates; numbered.Epoch <= first.Epoch || len(gates) != 1 || gates[0].Plain {
		t.Fatalf("answered %+v with gates %+v", numbered, gates)
	}
	l.restart()
	if gates := l.s.registrations()[topicA].Gates; len(gates) != 1 || gates[0].Plain {
		t.Fatalf("after a restart: %+v", gates)
	}
}

func TestATopicMayAskForPeersThatProve(t *testing.T) { // R14
	l := newLedger(t)
	bare, ours := register(0, 0), register(1, 0)
	bare.Source.ProvenOnly, ours.Source.ProvenOnly = true, true
	got := l.register(bare)
	if got.Code != perr.MirrorSyncVersionMismatch || !strings.Contains(got.Text, "lockstep.sync.min.class=proven") || l.gates(topicA) != 0 {
		t.Fatalf("answered %+v with %d gates", got, l.gates(topicA))
	}
	if got := l.register(ours); got.Code != perr.None {
		t.Fatalf("ours: %+v", got)
	}
}

// R14: proven is what is on disk, on both sides.
func TestATopicThatAsksForProofRefusesAPageCache(t *testing.T) {
	l := newLedger(t)
	there, here := register(1, 0), register(1, 0)
	there.Source.ProvenOnly, there.Unsynced = true, true
	here.Source.ProvenOnly, here.Source.Unsynced = true, true
	for cluster, c := range map[string]RegisterTopic{"dst": there, "src": here} {
		if got := l.register(c); got.Code != perr.MirrorSyncVersionMismatch || !strings.Contains(got.Text, "cluster "+cluster+" runs with durability=os") || l.gates(topicA) != 0 {
			t.Errorf("%s: answered %+v with %d gates", cluster, got, l.gates(topicA))
		}
	}
	there.Source.ProvenOnly, there.Generation = false, 2
	if got := l.register(there); got.Code != perr.None {
		t.Errorf("a topic that does not ask: %+v", got)
	}
}
