package mirror

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// C5: RELEASED(n) demotes at once, tells the source, and the topic recovers by itself.
func TestReleasedDemotesAtOnce(t *testing.T) {
	d := synced(t)
	effects := d.do(ReportReleased{Number: 1, Topics: []core.TopicID{topicA}})
	got := d.describe()
	if got.Phase != CatchingUp || got.Effective != TypeAsync || got.Desired != TypeSync || !got.Recovery || got.Release != 1 {
		t.Fatalf("%+v", got)
	}
	if sent := last[SendUnregister](t, effects); sent.Generation != 2 || sent.Stop || sent.Deadline != 0 {
		t.Fatalf("sent %+v", sent)
	}
}

// C5, model K3: a late notice of a release that the newest Register has answered changes nothing.
func TestK3StaleReleaseIsIgnored(t *testing.T) {
	d := registering(t)
	d.do(RegisterAnswered{Topic: topicA, Generation: 1, Code: perr.MirrorSyncReleasedRequiresFreshPromotion, Number: 3})
	d.tick(1e9)
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(tickNs)
	d.admit(2)
	for p := int32(0); p < partitions; p++ {
		d.evidence(p, 2, 10, 10)
	}
	d.phase(Sync)
	d.do(ReportReleased{Number: 3})
	d.phase(Sync)
	d.do(ReportReleased{Number: 4})
	d.phase(CatchingUp)
}

// A release heard of outside a claim is journaled, so that the next Register echoes it.
func TestReleaseOfAnAsyncTopicIsRemembered(t *testing.T) {
	d := started(t, TypeAsync)
	d.do(ReportReleased{Number: 2})
	d.restart()
	d.phase(Async)
	if d.topic().Release != 2 {
		t.Fatalf("release %d", d.topic().Release)
	}
}

// C5, F22: the draft's rule, and what must not keep it from firing or make it fire.
func TestAllPartitionsRefusedDemotes(t *testing.T) {
	for _, row := range []struct {
		name string
		run  func(*site)
		want Phase
	}{
		{"all refused for the time-out", func(d *site) {
			refuse(d, 0, perr.InvalidSyncRegistration)
			refuse(d, 1, perr.MirrorRegistrationPropagating)
		}, CatchingUp},
		{"one healthy", func(d *site) { refuse(d, 0, perr.InvalidSyncRegistration) }, Sync},
		{"one with another error", func(d *site) { refuse(d, 0, perr.InvalidSyncRegistration); refuse(d, 1, perr.LeaderNotAvailable) }, CatchingUp},
		{"all with other errors", func(d *site) { refuse(d, 0, perr.LeaderNotAvailable); refuse(d, 1, perr.LeaderNotAvailable) }, Sync},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := synced(t)
			row.run(d)
			d.tick(29e9)
			d.phase(Sync)
			effects := d.tick(2e9)
			d.phase(row.want)
			if sent := all[SendUnregister](effects); (len(sent) > 0) != (row.want == CatchingUp) {
				t.Fatalf("Unregister sent: %+v", sent) // F25: the source would gate on a mirror that no longer reports
			}
		})
	}
	t.Run("async reads between probes do not restart the clock", func(t *testing.T) {
		d := synced(t)
		for range 31 {
			for p := int32(0); p < partitions; p++ {
				refuse(d, p, perr.InvalidSyncRegistration)
				d.report(p, func(r *ReportProgress) { r.Sync = false })
			}
			d.tick(1e9)
		}
		if len(all[SendUnregister](d.all)) == 0 {
			t.Fatal("not demoted after 31 s")
		}
	})
}

// C5: between sending Register and its answer sync fetches are refused legitimately; that time does not count.
func TestRefusalsCountOnlyAfterRegisterWasAnswered(t *testing.T) {
	d := registering(t)
	for p := int32(0); p < partitions; p++ {
		refuse(d, p, perr.InvalidSyncRegistration)
	}
	d.tick(40e9)
	d.phase(Registering)
	d.admit(1)
	d.tick(tickNs)
	d.phase(Arming)
	for p := int32(0); p < partitions; p++ {
		refuse(d, p, perr.InvalidSyncRegistration)
	}
	d.tick(31e9)
	d.phase(CatchingUp)
}

// C6: un-claim, then Unregister until answered, then ASYNC; floors are reported meanwhile (F24).
func TestDemotionIsASaga(t *testing.T) {
	d := synced(t)
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
	if got := d.describe(); got.Phase != Demoting || got.Effective != TypeAsync || got.Desired != TypeAsync || !got.Reporting {
		t.Fatalf("%+v", got)
	}
	if d.mode() != FetchSync {
		t.Fatal("no floors are reported while the source still gates")
	}
	if n := len(all[SendUnregister](d.tick(20e9))); n < 6 {
		t.Fatalf("sent %d times in 20 s", n)
	}
	if sent := last[SendUnregister](t, d.restart()); sent.Generation != 2 {
		t.Fatalf("after a restart %+v", sent)
	}
	d.unregistered()
	d.phase(Async)
	if n := len(all[SendUnregister](d.tick(20e9))); n != 0 || d.mode() != FetchAsync {
		t.Fatalf("sent %d times after the answer, mode %d", n, d.mode())
	}
}

// C6: "unknown topic" ends the saga, "superseded" goes on above the number named (model K5).
func TestEveryAnswerEndsTheSaga(t *testing.T) {
	demoting := func() *site {
		d := synced(t)
		d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
		return d
	}
	d := demoting()
	d.do(UnregisterAnswered{Topic: topicA, Generation: 2, Code: perr.UnknownTopicId})
	d.phase(Async)
	d = demoting()
	d.do(UnregisterAnswered{Topic: topicA, Generation: 2, Code: perr.InvalidSyncRegistration, Newest: 8, Fresh: core.Incarnation{9}})
	if sent := last[SendUnregister](t, d.effects); sent.Generation != 9 {
		t.Fatalf("sent %+v", sent)
	}
	d.unregistered()
	d.phase(Async)
}

// C6: a newer Register ends the saga without waiting for the answer.
func TestNewerRegisterEndsTheSaga(t *testing.T) {
	d := synced(t)
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeSync})
	d.phase(CatchingUp)
	if d.mode() != FetchSync {
		t.Fatal("the source may still gate: floors must go on")
	}
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(tickNs)
	d.phase(Registering)
	if sent := last[SendRegister](t, d.all); sent.Generation != 3 {
		t.Fatalf("sent %+v", sent)
	}
	d.do(UnregisterAnswered{Topic: topicA, Generation: 2})
	d.phase(Registering)
	if !d.published().Reporting {
		t.Fatal("the answer to an older command ended reporting")
	}
}

// I40, model K5: a journal from before a registration knows nothing of it; its evidence says that it stands.
func TestUnknownGateIsTakenBack(t *testing.T) {
	d := started(t, TypeAsync)
	effects := d.evidence(0, 3, 10, core.Unknown)
	if sent := all[SendUnregister](effects); len(sent) != 1 || sent[0].Stop {
		t.Fatalf("sent %+v: the source's producers wait for floors that nobody reports", sent)
	}
	d.unregistered()
	d.phase(Async)
	d = synced(t)
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
	d.unregistered()
	if sent := all[SendUnregister](d.evidence(0, 1, 10, 10)); len(sent) != 0 {
		t.Fatalf("late evidence of our own ended registration sent %+v", sent)
	}
	d.tick(11e9)
	d.stop()
	if sent := all[SendUnregister](d.evidence(0, 3, 10, 10)); len(sent) != 0 {
		t.Fatalf("a stopping copy un-gates its source: %+v", sent)
	}
}

// R2, R11: data that was reset carries no promise; it is registered anew under another incarnation.
func TestResetDataIsDisarmedAndRegisteredAnew(t *testing.T) {
	d := synced(t)
	fresh := core.Incarnation{9}
	d.do(ReportReset{ID: id(0), Session: 1, Fresh: fresh, Text: "reset to the source's log start"})
	got := d.describe()
	if got.Phase != CatchingUp || got.Armed != 0 || d.published().Incarnation != fresh {
		t.Fatalf("%+v", got)
	}
}

// DIVERGED keeps the data and claims nothing; the source is told, and stop stays possible.
func TestDivergedUnclaimsAndTellsTheSource(t *testing.T) {
	d := synced(t)
	effects := d.do(ReportDiverged{ID: id(1), Session: 1, Text: "source epoch 4 is lower than 5"})
	got := d.describe()
	if got.Phase != Diverged || got.Effective != TypeAsync || got.ErrorMessage == "" || got.Partitions[1].ErrorMessage == "" {
		t.Fatalf("%+v", got)
	}
	if len(all[SendUnregister](effects)) != 1 {
		t.Fatal("the source was not told")
	}
	d.unregistered()
	d.phase(Diverged)
}

// Reports of an ended fetch session are nobody's.
func TestReportsOfAnOlderSessionAreDropped(t *testing.T) {
	d := started(t, TypeAsync)
	d.do(ReportDiverged{ID: id(0), Session: 0, Text: "old"})
	d.do(ReportProgress{ID: id(0), Session: 0, LEO: 99})
	d.phase(Async)
	if d.describe().Partitions[0].DestinationOffset != core.Unknown {
		t.Fatal("an old report counted")
	}
}

// F34: the source deletes a topic that is claimed. The claim ends with it, the registration is withdrawn, the copy stays.
func TestATopicThatTheSourceDeletedIsOrphaned(t *testing.T) {
	d := synced(t)
	sent := last[SendUnregister](t, d.do(ReportSourceTopicGone{Topic: topicA, Text: "gone"}))
	if got := d.describe(); got.Phase != Orphaned || got.Effective != TypeAsync || !strings.Contains(got.ErrorMessage, "--recover") {
		t.Fatalf("%+v", got)
	}
	d.do(UnregisterAnswered{Topic: topicA, Generation: sent.Generation, Code: perr.UnknownTopicId})
	if got := d.describe(); got.Phase != Orphaned || got.Reporting {
		t.Fatalf("after the answer %+v", got)
	}
	d.do(ReportSourceTopicGone{Topic: topicA, Text: "gone"})
	if len(d.effects) != 0 {
		t.Fatalf("said again: %v", d.effects)
	}
	d.restart()
	d.phase(Orphaned)
	if d.mode() != FetchOff {
		t.Fatal("fetches what is gone")
	}
}

func TestOrphanedTopicRecoversByHand(t *testing.T) {
	d := started(t, TypeSync)
	d.do(ReportSourceTopicGone{Topic: topicA, Text: "the source no longer has topic a"})
	d.phase(Orphaned)
	if got := d.describe(); !strings.Contains(got.ErrorMessage, "no longer has topic a") || !strings.Contains(got.ErrorMessage, "--stop") || got.State != "ORPHANED" {
		t.Fatalf("%+v", got)
	}
	if d.mode() != FetchOff {
		t.Fatal("still fetching")
	}
	got := last[TopicsAnswered](t, d.do(RecoverTopics{Topics: []core.TopicID{topicA}}))
	if got.Topics[0].Code != perr.None || d.mode() != FetchAsync || d.published().Session != 2 {
		t.Fatalf("%+v, mode %d", got, d.mode())
	}
	d.phase(CatchingUp)
}
