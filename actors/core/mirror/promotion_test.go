package mirror

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// The topic is read-only before it exists, so that no producer writes to it for an instant.
func TestTopicIsReadOnlyBeforeItIsMade(t *testing.T) {
	d := newSite(t)
	d.do(CreateMirror{Mirror: "m", SourceCluster: "src", Config: map[string]string{"bootstrap.servers": "x:1"}})
	effects := d.do(StartTopics{Topics: []StartTopic{startOf(TypeAsync)}})
	if p, c := first[Publish](effects), first[CreateLocalTopic](effects); p < 0 || c < p {
		t.Fatalf("publish at %d, create at %d", p, c)
	}
	if len(all[FetchTopic](effects)) != 0 {
		t.Fatal("fetching before the topic exists")
	}
}

// C1, models C3 and G3: neither lag zero nor OK is a claim; SYNC is committed when the last partition is armed.
func TestC3ClaimIsInsideTheGate(t *testing.T) {
	d := registering(t)
	if d.describe().Effective == TypeSync {
		t.Fatal("SYNC claimed before Register was answered")
	}
	d.admit(1)
	if got := d.describe(); got.Effective == TypeSync || got.State != "ARMING 0 of 2" {
		t.Fatalf("after OK: %s, %q", got.Effective, got.State)
	}
	d.evidence(0, 1, 10, 10)
	if got := d.describe(); got.Effective == TypeSync || got.State != "ARMING 1 of 2" || got.Partitions[0].ZeroRPOFrom != 10 || got.Partitions[1].ZeroRPOFrom != core.Unknown {
		t.Fatalf("one partition armed: %+v", got)
	}
	d.evidence(1, 1, 12, 11)
	d.phase(Arming)
	d.evidence(1, 1, 12, 12)
	d.phase(Sync)
}

// C2, model G2: a floor of one leader and the gate start of another prove nothing together.
func TestG2FloorAndGateStartAreOfOneSourceEpoch(t *testing.T) {
	d := registering(t)
	d.admit(1)
	stated := ReportEvidence{ID: id(0), Epoch: 1, SourceEpoch: 5, GateStart: 10, Floor: core.Unknown}
	d.do(stated)
	d.do(ReportEvidence{ID: id(0), Epoch: 1, SourceEpoch: 6, GateStart: core.Unknown, Floor: 11})
	if d.topic().Partitions[0].Armed {
		t.Fatal("armed with a floor of epoch 6 and a gate start of epoch 5")
	}
	d.do(ReportEvidence{ID: id(0), Epoch: 1, SourceEpoch: 6, GateStart: 11, Floor: 11})
	if !d.topic().Partitions[0].Armed {
		t.Fatal("not armed")
	}
}

// C2: the gate starts of the Register answer count, for evidence of the same leader.
func TestGateStartOfTheAnswerArms(t *testing.T) {
	d := registering(t)
	d.do(RegisterAnswered{Topic: topicA, Generation: d.topic().Generation, Epoch: 1, Gates: []GateStart{{Partition: 1, LeaderEpoch: 5, Start: 10}}})
	d.evidence(1, 1, core.Unknown, 10)
	if !d.topic().Partitions[1].Armed {
		t.Fatal("not armed")
	}
}

// C2, model G6b: after an election on an idle topic the first gate start may never be reached again.
func TestG6NewestGateStartArms(t *testing.T) {
	d := registering(t)
	d.admit(1)
	d.do(ReportEvidence{ID: id(0), Epoch: 1, SourceEpoch: 5, GateStart: 20, Floor: 10})
	d.do(ReportEvidence{ID: id(0), Epoch: 1, SourceEpoch: 6, GateStart: 15, Floor: 15})
	if p := d.topic().Partitions[0]; !p.Armed || p.From != 15 {
		t.Fatalf("partition %+v: arming is wedged", p)
	}
}

// C2, model G8: armed outlives elections and restarts under one registration, and only there.
func TestG8ArmedHoldsUnderOneRegistration(t *testing.T) {
	d := synced(t)
	d.restart()
	if k := d.topic().armed(); k != 2 {
		t.Fatalf("%d partitions armed after a restart", k)
	}
	d.do(ReportReleased{Number: 1})
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(1e9)
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(tickNs)
	d.admit(2)
	if k := d.topic().armed(); k != 0 || d.topic().phase() != Arming {
		t.Fatalf("%d partitions armed under a registration that has given no evidence, phase %s", k, d.topic().phase())
	}
}

// C2: an Unregister whose answer was lost ended the registration; the next one arms anew.
func TestAnotherRegistrationArmsAnew(t *testing.T) {
	d := synced(t)
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeSync})
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(tickNs)
	d.admit(2)
	if k := d.topic().armed(); k != 0 || d.topic().phase() == Sync {
		t.Fatalf("%d partitions armed under a registration that has given no evidence", k)
	}
}

// C1, model G7: HW waits for floors, floors come from sync fetches: the mode follows the gate, not the claim.
func TestG7FetchModeIsSyncFromRegisterUntilUnregister(t *testing.T) {
	d := started(t, TypeSync)
	if d.mode() != FetchAsync || d.published().Reporting {
		t.Fatal("sync before Register")
	}
	d = registering(t)
	check := func(when string) {
		t.Helper()
		if d.mode() != FetchSync || !d.published().Reporting {
			t.Fatalf("%s: mode %d, reporting %v", when, d.mode(), d.published().Reporting)
		}
	}
	check("registering")
	d.admit(1)
	check("arming")
	for p := int32(0); p < partitions; p++ {
		d.evidence(p, 1, 10, 10)
	}
	check("sync")
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
	check("demoting")
	d.restart()
	check("demoting after a restart")
	d.unregistered()
	if d.mode() != FetchAsync || d.published().Reporting {
		t.Fatal("still reporting after Unregister was answered")
	}
	d.phase(Async)
}

// C3: a number is on disk before its message leaves, and it is sent again unchanged until answered.
func TestRegisterIsJournaledThenSentUntilAnswered(t *testing.T) {
	d := registering(t)
	if len(all[SendRegister](d.early)) != 0 {
		t.Fatal("Register left before its number was on disk")
	}
	sent := last[SendRegister](t, d.all)
	if sent.Generation != 1 || sent.MinISR != 2 || sent.Incarnation != data1 {
		t.Fatalf("sent %+v", sent)
	}
	again := all[SendRegister](d.tick(3e9))
	if len(again) != 4 { // at 200 ms, 600 ms, 1.4 s and 3 s
		t.Fatalf("%d repetitions in 3 s: %+v", len(again), again)
	}
	for i, r := range again {
		r.Attempt = sent.Attempt
		if fmt.Sprint(r) != fmt.Sprint(sent) {
			t.Fatalf("repetition %d differs: %+v", i, r)
		}
	}
	resumed := last[SendRegister](t, d.restart())
	if resumed.Generation != 1 {
		t.Fatalf("after a restart %+v", resumed)
	}
}

// C3: a late answer to an older Register must not pass for the newest.
func TestAnswersCountForTheirOwnCommand(t *testing.T) {
	d := registering(t)
	old := d.topic().Generation
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
	d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeSync})
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(tickNs)
	d.phase(Registering)
	d.do(RegisterAnswered{Topic: topicA, Generation: old, Epoch: 1})
	d.phase(Registering)
}

// Model K5: numbers that were used by a history which this journal does not hold.
func TestK5RestoredDestinationStartsAfresh(t *testing.T) {
	d := registering(t)
	fresh := core.Incarnation{9}
	d.do(RegisterAnswered{Topic: topicA, Generation: 1, Code: perr.InvalidSyncRegistration, Newest: 6, Fresh: fresh})
	sent := last[SendRegister](t, d.effects)
	if sent.Generation != 7 || sent.Incarnation != fresh || d.published().Incarnation != fresh {
		t.Fatalf("sent %+v", sent)
	}
}

// C3, F14, F15: a release is journaled, then echoed; a restart does not cost the hint.
func TestRecoveryEchoesTheReleaseSeen(t *testing.T) {
	d := registering(t)
	d.do(RegisterAnswered{Topic: topicA, Generation: 1, Code: perr.MirrorSyncReleasedRequiresFreshPromotion, Number: 4})
	if got := d.describe(); got.Phase != CatchingUp || !got.Recovery || got.RetryAttempt != 1 || got.Reporting {
		t.Fatalf("after 954: %+v", got)
	}
	d.restart()
	for range 10 {
		for p := int32(0); p < partitions; p++ {
			d.progress(p, 10, 10)
		}
		d.tick(tickNs)
	}
	if sent := last[SendRegister](t, d.all); sent.Echo != 4 || !sent.Recovery || sent.Generation <= 1 {
		t.Fatalf("sent %+v", sent)
	}
	d.admit(2)
	for p := int32(0); p < partitions; p++ {
		d.evidence(p, 2, 10, 10)
	}
	if got := d.describe(); got.Effective != TypeSync || got.Recovery || got.RetryAttempt != 0 {
		t.Fatalf("recovered: %+v", got)
	}
}

// C7: attempts are half a second apart, then twice as long each, at most a minute, for ever.
func TestRefusedPromotionBacksOff(t *testing.T) {
	d := registering(t)
	var gaps []int64
	for len(gaps) < 10 {
		d.do(RegisterAnswered{Topic: topicA, Generation: d.topic().Generation, Code: perr.MirrorSyncReleasedRequiresFreshPromotion, Number: 1})
		refused := d.now.Mono
		for d.topic().phase() != Registering {
			for p := int32(0); p < partitions; p++ {
				d.progress(p, 10, 10)
			}
			d.tick(tickNs)
			if d.now.Mono-refused > 2*backOffMostNs {
				t.Fatal("gave up")
			}
		}
		gaps = append(gaps, (d.now.Mono-refused)/1e6)
	}
	if gaps[0] < 500 || gaps[1] < 1000 || gaps[9] < 60_000 || gaps[9] > 61_000 {
		t.Fatalf("gaps %v ms", gaps)
	}
}

// C7, F42: when a topic may be registered.
func TestPromotionNeedsFreshLagZero(t *testing.T) {
	behind := func(bytes, rate int64) func(*ReportProgress) {
		return func(r *ReportProgress) { r.LEO, r.SourceHW, r.LagBytes, r.Rate = 10, 20, bytes, rate }
	}
	zero := func(r *ReportProgress) {}
	for _, row := range []struct {
		name string
		run  func(*site)
		want Phase
	}{
		{"all at zero", func(d *site) { d.report(0, zero); d.report(1, zero) }, Registering},
		{"one never seen", func(d *site) { d.report(0, zero) }, CatchingUp},
		{"one behind", func(d *site) { d.report(0, zero); d.report(1, behind(1, 1000)) }, CatchingUp},
		{"one answer is old", func(d *site) { d.report(0, zero); d.pass(freshNs); d.report(1, zero) }, CatchingUp},
		{"zero latched while the other catches up", func(d *site) {
			d.report(0, zero)
			d.pass(5e9)
			d.report(0, behind(100, 1000))
			d.report(1, zero)
		}, Registering},
		{"the latch is over", func(d *site) {
			d.report(0, zero)
			d.pass(latchNs)
			d.report(0, behind(100, 1000))
			d.report(1, zero)
		}, CatchingUp},
		{"latched, but producers would stall", func(d *site) { d.report(0, zero); d.report(0, behind(2000, 1000)); d.report(1, zero) }, CatchingUp},
		{"latched in another epoch", func(d *site) {
			d.report(0, zero)
			d.report(0, func(r *ReportProgress) { r.SourceEpoch, r.Adopted, r.LEO, r.SourceHW, r.LagBytes = 6, 6, 10, 20, 1 })
			d.report(1, zero)
		}, CatchingUp},
		{"epoch not adopted yet", func(d *site) { d.report(0, zero); d.report(1, func(r *ReportProgress) { r.SourceEpoch = 6 }) }, CatchingUp},
		{"under min ISR here", func(d *site) { d.report(0, zero); d.report(1, func(r *ReportProgress) { r.ISRSize = 1 }) }, CatchingUp},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := started(t, TypeSync)
			row.run(d)
			d.tick(1e6)
			d.phase(row.want)
		})
	}
}

func TestRefusedTopicsSayWhatAndWhy(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*StartTopic)
		code   perr.Code
		text   string
	}{
		{"other id", func(s *StartTopic) { s.Local = LocalTopic{Exists: true, ID: core.TopicID{7}, Name: "a"} }, perr.InconsistentTopicId, core.TopicID{7}.String()},
		{"data here", func(s *StartTopic) { s.Local = LocalTopic{Exists: true, ID: topicA, Name: "a", Records: 42} }, perr.InvalidClusterMirrorState, "42 records"},
		{"other mirror", func(s *StartTopic) {
			s.Local = LocalTopic{Exists: true, ID: topicA, Name: "a", Mirror: "n", State: 3}
		}, perr.TopicAlreadyInClusterMirror, `"n"`},
		{"empty and equal id", func(s *StartTopic) { s.Local = LocalTopic{Exists: true, ID: topicA, Name: "a"} }, perr.None, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newSite(t)
			d.do(CreateMirror{Mirror: "m", SourceCluster: "src", Config: map[string]string{"bootstrap.servers": "x:1"}})
			st := startOf(TypeAsync)
			row.change(&st)
			got := last[TopicsAnswered](t, d.do(StartTopics{Topics: []StartTopic{st}})).Topics[0]
			if got.Code != row.code || !strings.Contains(got.Text, row.text) {
				t.Fatalf("answered %+v", got)
			}
		})
	}
}

// A refusal other than RELEASED leaves open what an earlier Register did: it is taken back (F25).
func TestOtherRefusalIsTakenBack(t *testing.T) {
	d := registering(t)
	d.do(RegisterAnswered{Topic: topicA, Generation: 1, Code: perr.MirrorSyncVersionMismatch, Text: "feature off"})
	d.phase(CatchingUp)
	if sent := last[SendUnregister](t, d.effects); sent.Generation != 2 || sent.Stop {
		t.Fatalf("sent %+v", sent)
	}
	if got := d.describe(); !strings.Contains(got.ErrorMessage, "feature off") {
		t.Fatalf("says %q", got.ErrorMessage)
	}
}
