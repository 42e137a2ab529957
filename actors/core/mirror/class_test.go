package mirror

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// answer is a sync fetch that left just now and was answered by a source that states nothing.
func (d *site) answer(p int32, change ...func(*ReportProgress)) {
	d.t.Helper()
	d.pass(1e6)
	d.report(p, func(r *ReportProgress) {
		r.Sync, r.Floor, r.EpochStart = true, 10, 0
		for _, c := range change {
			c(r)
		}
	})
}

// arming is a topic that a plain source has admitted: its OK names no registration.
func arming(t *testing.T) *site {
	d := registering(t)
	d.admit(0)
	d.phase(Arming)
	return d
}

func reported(t *testing.T) *site {
	d := arming(t)
	d.answer(0)
	d.phase(Arming)
	d.answer(1)
	d.phase(Sync)
	return d
}

// T is our clock when the oldest of the newest confirmed requests left, and nobody calls it zero RPO (R14).
func TestAPlainSourceMakesATopicSyncByItsWord(t *testing.T) {
	d := arming(t)
	left := d.now.Wall + 1
	d.answer(0)
	d.answer(1)
	d.phase(Sync)
	got := d.describe()
	if got.T.Clock != left || got.Class != ClassReported || got.Armed != 2 || got.Effective != TypeSync {
		t.Fatalf("described as %+v, want T %d", got, left)
	}
	if !strings.HasPrefix(got.State, "SYNC (as reported by the peer), complete until ") {
		t.Errorf("state %q", got.State)
	}
	for _, p := range got.Partitions {
		if p.ZeroRPOFrom != core.Unknown || !p.Armed {
			t.Errorf("partition %+v claims zero RPO", p)
		}
	}
	d.restart()
	if got := d.describe(); got.Class != ClassReported || !got.Unconfirmed || got.T.Clock != left {
		t.Fatalf("after a restart: %+v", got)
	}
	d.answer(0)
	d.answer(1)
	d.tick(2e9)
	if got := d.describe(); got.Unconfirmed || got.T.Clock <= left {
		t.Fatalf("confirmed again: %+v", got)
	}
	d.pass(11e9)
	if got := d.describe(); !got.Unconfirmed || !strings.Contains(got.State, "(as reported by the peer) until") {
		t.Fatalf("older than the lease: %+v", got)
	}
}

// T is never later than the instant at which the fetch left, also not by a part of a millisecond.
func TestTIsRoundedDown(t *testing.T) { // R14, C4
	d := arming(t)
	at := d.now.Wall
	d.now.Mono += 5_500_000
	d.now.Wall += 5
	for p := range int32(partitions) {
		d.report(p, func(r *ReportProgress) { r.Sync, r.Floor, r.Asked = true, 10, d.now.Mono-1 })
	}
	d.phase(Sync)
	if got := d.describe().T.Clock; got != at+4 {
		t.Fatalf("T %d ms after the start, want 4", got-at)
	}
}

func TestWhatDoesNotArmUnderAPlainSource(t *testing.T) { // R14
	cases := map[string]func(*site, *ReportProgress){
		"an async answer":                         func(_ *site, r *ReportProgress) { r.Sync = false },
		"a fetch from before the OK":              func(d *site, r *ReportProgress) { r.Asked = d.now.Mono - 5e9 },
		"a floor below the first answer":          func(_ *site, r *ReportProgress) { r.Floor = 9 },
		"no floor":                                func(_ *site, r *ReportProgress) { r.Floor = core.Unknown },
		"an epoch that begins nobody knows where": func(_ *site, r *ReportProgress) { r.EpochStart = core.Unknown },
		"an epoch that is not adopted":            func(_ *site, r *ReportProgress) { r.SourceEpoch = 6 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			d := arming(t)
			d.answer(0)
			d.answer(1, func(r *ReportProgress) { change(d, r) })
			d.phase(Arming)
			if got := d.describe(); got.Armed != 1 {
				t.Fatalf("%d armed", got.Armed)
			}
			d.answer(1)
			d.phase(Sync)
		})
	}
}

// The base is of the first answer: later HWs are gated already, and under load no floor would ever reach them.
func TestTheFirstAnswersHWIsTheBase(t *testing.T) { // R14
	d := arming(t)
	d.answer(0)
	d.answer(1, func(r *ReportProgress) { r.SourceHW, r.Floor = 20, 15 })
	d.answer(1, func(r *ReportProgress) { r.SourceHW, r.Floor = 40, 19 })
	d.phase(Arming)
	d.answer(1, func(r *ReportProgress) { r.SourceHW, r.Floor = 60, 20 })
	d.phase(Sync)
}

// A leader of epoch 4 acknowledged up to 100 without us and died; its successor, elected cleanly, has all of it
// and an HW of 95, as Kafka's followers do. Armed at 95, T would vouch for five records that are not here.
func TestANewLeadersHWIsOlderThanItsPredecessorsAcks(t *testing.T) { // R14 as it stands loses them
	d := arming(t)
	d.answer(0)
	late := func(floor core.Offset) func(*ReportProgress) {
		return func(r *ReportProgress) { r.SourceHW, r.EpochStart, r.LEO, r.Floor = 95, 100, floor, floor }
	}
	d.answer(1, late(95))
	d.phase(Arming)
	d.answer(1, late(99))
	d.phase(Arming)
	d.answer(1, late(100))
	d.phase(Sync)
}

// Nothing says that a new leader knew of the registration before its first ack (F11): T stands still until the
// floor has passed what it may have acknowledged on its own.
func TestANewSourceEpochIsConfirmedAnew(t *testing.T) { // R14
	d := reported(t)
	d.tick(2e9)
	before := d.describe().T
	next := func(floor core.Offset) func(*ReportProgress) {
		return func(r *ReportProgress) {
			r.SourceEpoch, r.Adopted, r.SourceHW, r.EpochStart, r.Floor = 6, 6, 30, 12, floor
		}
	}
	d.answer(0)
	d.answer(1, next(20))
	d.tick(2e9)
	if got := d.describe().T; got.Clock > before.Clock+1 {
		t.Fatalf("T moved from %d to %d under a leader that nobody vouched for", before.Clock, got.Clock)
	}
	d.answer(1, next(30))
	d.answer(0)
	d.tick(2e9)
	if got := d.describe().T; got.Clock <= before.Clock+1 {
		t.Fatalf("T stands still at %d", got.Clock)
	}
}

// A plain source names no release: 954 alone sets the flag that the next Register must carry (C3).
func TestARefusalOfAPlainSourceSetsTheRecoveryFlag(t *testing.T) {
	d := registering(t)
	d.do(RegisterAnswered{Topic: topicA, Generation: d.topic().Generation, Code: perr.MirrorSyncReleasedRequiresFreshPromotion})
	d.phase(CatchingUp)
	if d.topic().Standing || !d.describe().Recovery {
		t.Fatalf("standing %v, described as %+v", d.topic().Standing, d.describe())
	}
	for p := range int32(partitions) {
		d.progress(p, 10, 10)
	}
	if send := last[SendRegister](t, d.tick(1e9)); !send.Recovery || send.Echo != 0 {
		t.Fatalf("the next Register: %+v", send)
	}
	d.replay()
}

// 952 on every partition is how a plain source's release is heard of: claims end, and the way back is marked.
func TestAPlainSourceThatRefusesEveryPartition(t *testing.T) { // C5, F25
	d := reported(t)
	for p := range int32(partitions) {
		refuse(d, p, perr.InvalidSyncRegistration)
	}
	if got := d.describe(); !strings.HasPrefix(got.State, "PARTIAL") {
		t.Errorf("refused, and %q", got.State)
	}
	d.tick(31e9)
	d.phase(CatchingUp)
	d.unregistered()
	for p := range int32(partitions) {
		d.progress(p, 10, 10)
	}
	if send := last[SendRegister](t, d.tick(3e9)); !send.Recovery {
		t.Fatalf("the next Register: %+v", send)
	}
	d.admit(0)
	if got := d.describe(); got.Armed != 0 {
		t.Fatalf("armed under the new registration already: %+v", got)
	}
}

func TestMinClassProven(t *testing.T) { // R14
	with := func(mirror, topic string) *site {
		d := newSite(t)
		d.do(CreateMirror{Mirror: "m", SourceCluster: "src", Config: map[string]string{"bootstrap.servers": "x:1", MinClassSetting: mirror}})
		start := startOf(TypeSync)
		if topic != "" {
			start.Source.Config = map[string]string{MinClassSetting: topic}
		}
		d.do(StartTopics{Topics: []StartTopic{start}})
		d.do(LocalTopicAnswered{Topic: topicA})
		return d
	}
	plain := func(d *site) {
		for p := range int32(partitions) {
			d.report(p, func(r *ReportProgress) { r.Stated = false })
		}
	}
	for _, row := range []struct {
		mirror, topic string
		admitted      bool
	}{{"", "", true}, {"reported", "", true}, {"proven", "", false}, {"", "proven", false}, {"proven", "reported", true}, {"reported", "proven", false}} {
		d := with(row.mirror, row.topic)
		plain(d)
		d.tick(tickNs)
		if sent := d.topic().phase() == Registering; sent != row.admitted {
			t.Errorf("mirror %q, topic %q: %s", row.mirror, row.topic, d.topic().phase())
		}
		if text := d.describe().ErrorMessage; strings.Contains(text, "lockstep.sync.min.class=proven") == row.admitted {
			t.Errorf("mirror %q, topic %q says %q", row.mirror, row.topic, text)
		}
	}
	// A source of ours is registered with; one that turned plain meanwhile is told to let go.
	d := with("proven", "")
	for p := range int32(partitions) {
		d.report(p, func(r *ReportProgress) { r.Stated = true })
	}
	d.tick(tickNs)
	d.phase(Registering)
	send := last[SendUnregister](t, d.admit(0))
	if send.Stop || !strings.Contains(d.describe().ErrorMessage, "speaks only the KIP") {
		t.Fatalf("sent %+v, described as %+v", send, d.describe())
	}
	d.phase(CatchingUp)
}
