package mirror

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func evidenceAt(p int32, epoch core.RegistrationEpoch, sent, clock int64) ReportEvidence {
	return ReportEvidence{ID: id(p), Sent: sent, Epoch: epoch, SourceEpoch: 5, GateStart: 10, Floor: 10, T: ClaimTime{Clock: clock, Index: clock / 10}}
}

// C4, model G4: T is the source's clock when the evidence was composed, the smallest over all partitions.
func TestG4TIsTheSourcesClockOfTheOldestPartition(t *testing.T) {
	d := synced(t)
	base := d.now.Wall
	d.do(evidenceAt(0, 1, d.now.Mono, base+5000))
	d.do(evidenceAt(1, 1, d.now.Mono, base+3000))
	d.pass(60e9) // a slow network: what was true then says nothing of now
	d.tick(tickNs)
	if got := d.describe().T; got.Clock != base+3000 || got.Index != (base+3000)/10 {
		t.Fatalf("T %+v, want %d", got, base+3000)
	}
}

// C4: only own registration and armed partitions speak.
func TestTComesFromOwnRegistrationAndArmedPartitions(t *testing.T) {
	d := registering(t)
	d.admit(3)
	d.do(evidenceAt(0, 2, d.now.Mono, 500_000)) // of an older registration
	if d.topic().Partitions[0].Armed {
		t.Fatal("armed by another registration's evidence")
	}
	early := evidenceAt(0, 3, d.now.Mono, 900_000)
	early.Floor = 5 // below the gate start: not armed yet
	d.do(early)
	late := evidenceAt(0, 3, d.now.Mono, 700_000)
	d.do(late)
	d.do(evidenceAt(1, 3, d.now.Mono, 800_000))
	d.tick(tickNs)
	if got := d.describe().T.Clock; got != 700_000 {
		t.Fatalf("T %d: evidence of a partition that was not armed counted", got)
	}
}

// C4: T is journaled about once a second, and survives a restart.
func TestTIsJournaledOnceASecond(t *testing.T) {
	d := synced(t)
	before := len(d.journal)
	for range 50 {
		d.pass(100e6)
		for p := int32(0); p < partitions; p++ {
			d.do(evidenceAt(p, 1, d.now.Mono, d.now.Wall))
		}
		d.do(Tick{})
	}
	if n := len(d.journal) - before; n < 4 || n > 6 {
		t.Fatalf("%d entries in 5 s", n)
	}
	clock := d.topic().Clock
	d.restart()
	if got := d.describe(); got.T.Clock != clock || !got.Unconfirmed {
		t.Fatalf("after a restart %+v", got)
	}
}

// C4, F19: a claim older than the lease is shown as unconfirmed, counted from sending the request.
func TestClaimOlderThanTheLeaseIsUnconfirmed(t *testing.T) {
	d := synced(t)
	sent := d.now.Mono
	for p := int32(0); p < partitions; p++ {
		d.do(evidenceAt(p, 1, sent, d.now.Wall))
	}
	d.tick(10e9)
	if got := d.describe(); got.Unconfirmed || !strings.HasPrefix(got.State, "SYNC, complete until 2023") {
		t.Fatalf("inside the lease: %+v", got)
	}
	d.tick(tickNs)
	if got := d.describe(); !got.Unconfirmed || !strings.Contains(got.State, "unconfirmed since 2023") || !strings.HasPrefix(got.State, "SYNC until 2023") {
		t.Fatalf("after the lease: %q", got.State)
	}
	for p := int32(0); p < partitions; p++ {
		e := evidenceAt(p, 1, sent, d.now.Wall) // an answer that was under way for 10 s
		d.do(e)
	}
	if got := d.describe(); !got.Unconfirmed {
		t.Fatal("a late answer to an old request renewed the lease")
	}
	for p := int32(0); p < partitions; p++ {
		d.do(evidenceAt(p, 1, d.now.Mono, d.now.Wall))
	}
	if got := d.describe(); got.Unconfirmed {
		t.Fatalf("after contact: %+v", got)
	}
}

// I44: with one partition not gated the topic is PARTIAL, and the word SYNC is not shown.
func TestI44PartialIsNeverCalledSync(t *testing.T) {
	d := synced(t)
	refuse(d, 1, perr.InvalidSyncRegistration)
	got := d.describe()
	if !got.Partial || strings.Contains(got.State, "SYNC") || got.Partitions[1].State != "NOT GATED" || got.Phase != Sync {
		t.Fatalf("%+v", got)
	}
	d.report(1, func(r *ReportProgress) { r.Sync = false }) // async reads between probes prove nothing
	if !d.describe().Partial {
		t.Fatal("an async read ended PARTIAL")
	}
	d.progress(1, 10, 10)
	if got := d.describe(); got.Partial || !strings.HasPrefix(got.State, "SYNC, complete until") {
		t.Fatalf("%+v", got)
	}
}

// The source gates under a registration that is not ours: somebody registered in our name since.
func TestEvidenceOfANewerRegistrationEndsTheClaim(t *testing.T) {
	d := synced(t)
	d.evidence(0, 2, 10, 10)
	if got := d.describe(); got.Effective == TypeSync || got.Phase != CatchingUp {
		t.Fatalf("%+v", got)
	}
	d = synced(t)
	d.evidence(0, 0, 10, 10)
	d.phase(Sync)
}

// C4: SYNC is always shown with T, also between the promotion and the first second after it, and after a crash
// that kept the promotion and nothing later.
func TestSYNCIsNeverWithoutT(t *testing.T) {
	d := registering(t)
	d.admit(1)
	d.evidence(0, 1, 10, 10)
	d.do(evidenceAt(0, 1, d.now.Mono, 900_000))
	d.do(evidenceAt(1, 1, d.now.Mono, 800_000))
	if got := d.describe(); got.Phase != Sync || got.T.Clock != 800_000 || strings.HasSuffix(got.State, "until -") {
		t.Fatalf("at promotion %q, T %+v", got.State, got.T)
	}
	d.s = d.replay()
	if got := d.describe(); got.Phase != Sync || got.T.Clock != 800_000 {
		t.Fatalf("after a crash %q, T %+v", got.State, got.T)
	}
}

// C2, C4: where partitions stayed armed, the answer of another Register proves no instant: the claim waits for
// the evidence that does.
func TestAnArmedTopicIsClaimedWithTheNextEvidence(t *testing.T) {
	d := registering(t)
	d.admit(1)
	d.evidence(0, 1, 10, 10)
	d.s = d.replay()
	d.evidence(1, 1, 10, 10)
	if got := d.describe(); got.Phase == Sync {
		t.Fatalf("claimed with %+v, though partition 0 has not been confirmed since the start", got.T)
	}
	d.evidence(0, 1, 10, 10)
	if got := d.describe(); got.Phase != Sync || got.T.Clock == 0 {
		t.Fatalf("%+v", got)
	}
}

// C4: the lease counts from when a request left. An answer that was under way for longer proves nothing.
func TestALateAnswerProvesNoContact(t *testing.T) {
	for what, answer := range map[string]func(d *site, asked int64) Command{
		"answer": func(d *site, asked int64) Command {
			return ReportProgress{ID: id(0), Session: d.topic().Session, Asked: asked, Sync: true, SourceEpoch: 5, Adopted: 5, SourceHW: 10, LEO: 10}
		},
		"refusal": func(d *site, asked int64) Command {
			return ReportFailure{ID: id(0), Session: d.topic().Session, Asked: asked, Code: perr.MirrorRegistrationPropagating}
		},
	} {
		d := synced(t)
		asked := d.now.Mono
		d.pass(11e9)
		d.do(answer(d, asked))
		result := last[TopicsAnswered](t, d.do(StopTopics{Topics: []core.TopicID{topicA}})).Topics[0]
		if result.Warning != "" || d.topic().step() != StepFence {
			t.Errorf("an %s that was under way for 11 s counts as contact: %q, %s", what, result.Warning, d.topic().step())
		}
	}
}

// The broker's --set counts for mirrors without a setting of their own, also after a restart, and what the brokers
// are told follows it: floors must come three times in a lease.
func TestTheBrokersLeaseAndDemoteTimeoutCountForItsMirrors(t *testing.T) {
	d := newSite(t)
	d.do(CreateMirror{Mirror: "m", SourceCluster: "src", Config: map[string]string{"bootstrap.servers": "x:1"}, Defaults: Defaults{LeaseMs: 900, DemoteMs: 700}})
	d.do(StartTopics{Topics: []StartTopic{startOf(TypeAsync)}})
	if l, m, r := d.s.leaseNs(), d.s.demoteNs(), d.published().RepeatNs; l != 900e6 || m != 700e6 || r != 300e6 {
		t.Fatalf("lease %d, demote %d, repeat %d", l, m, r)
	}
	d.s = d.replay()
	d.do(Republish{Defaults: Defaults{LeaseMs: 600}})
	d.do(Resume{Defaults: Defaults{LeaseMs: 600}})
	if l, m, r := d.s.leaseNs(), d.s.demoteNs(), d.published().RepeatNs; l != 600e6 || m != 30e9 || r != 200e6 {
		t.Fatalf("after a restart: lease %d, demote %d, repeat %d", l, m, r)
	}
	d.do(ConfigureMirror{Config: map[string]string{"bootstrap.servers": "x:1", "lockstep.claim.lease.ms": "3000"}})
	if l, r := d.s.leaseNs(), d.published().RepeatNs; l != 3e9 || r != 1e9 {
		t.Fatalf("with a setting of its own: lease %d, repeat %d", l, r)
	}
}

// C15, model T4: a log stands under a new source epoch before anybody knows whether its leader gates. In which epoch it was
// last seen to gate is kept over a restart, and ends with the registration.
func TestTheEpochThatGatedIsKept(t *testing.T) {
	d := synced(t)
	gated := func(want core.LeaderEpoch) {
		t.Helper()
		if got := d.describe().Partitions[0].GatedIn; got != want {
			t.Errorf("gated in epoch %d, want %d", got, want)
		}
	}
	gated(5)
	newer := evidenceAt(0, 1, d.now.Mono, 500_000)
	newer.SourceEpoch = 6
	d.do(newer)
	d.restart()
	gated(6)
	d.do(evidenceAt(0, 1, d.now.Mono, 600_000)) // of the old leader, late
	gated(6)
	d.do(ReportReleased{Number: 9, Topics: []core.TopicID{topicA}})
	gated(core.NoEpoch)
}

func promised(d *site, lease int64, promise bool) {
	d.tick(tickNs)
	for p := int32(0); p < partitions; p++ {
		e := evidenceAt(p, 1, d.now.Mono, d.now.Wall)
		e.LeaseMs, e.Promised = lease/1e6, promise
		d.do(e)
	}
}

// C4: RPO 0 is said of this moment only while a promise of the source covers it, and never beyond its lease.
func TestRPOZeroIsSaidInsideAPromiseOnly(t *testing.T) {
	d := synced(t)
	promised(d, 4e9, false)
	if got := d.describe(); got.ZeroRPO || strings.Contains(got.State, "RPO 0") {
		t.Fatalf("without a promise: %+v", got)
	}
	promised(d, 4e9, true)
	if got := d.describe(); !got.ZeroRPO || !strings.Contains(got.State, "RPO 0") {
		t.Fatalf("promised: %+v", got)
	}
	d.tick(4e9 + tickNs)
	if got := d.describe(); got.ZeroRPO || !got.Unconfirmed {
		t.Fatalf("beyond the lease of the source: %+v", got)
	}
	promised(d, 4e9, true)
	d.tick(tickNs)
	d.do(evidenceAt(1, 1, d.now.Mono, d.now.Wall)) // a leader that promises nothing, of a source that was started anew
	if d.describe().ZeroRPO {
		t.Fatal("one partition is not promised")
	}
}

// F19: the source lets a mirror go when its own lease is over; no claim may look confirmed longer than that.
func TestNoClaimOutlivesTheLeaseOfTheSource(t *testing.T) {
	d := synced(t)
	promised(d, 3e9, false)
	d.tick(3e9 + tickNs)
	if got := d.describe(); !got.Unconfirmed {
		t.Fatalf("%+v", got)
	}
}
