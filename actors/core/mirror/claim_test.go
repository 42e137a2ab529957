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
