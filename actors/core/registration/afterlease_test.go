package registration

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

const lease = int64(10e9)

// releaseAfterLease releases topics, and performs what the broker does behind the ledger's new snapshot.
func (l *ledger) releaseAfterLease(topics ...core.TopicID) ReleaseAnswered {
	l.t.Helper()
	effects := l.do(ReleaseMirror{Mirror: "m", Topics: topics, AfterLease: true, Lease: lease})
	answer := last[ReleaseAnswered](l.t, effects)
	l.published(effects)
	return answer
}

func (l *ledger) published(effects []Effect) {
	l.t.Helper()
	for _, e := range effects {
		if n, ok := e.(NoteRelease); ok {
			l.do(ReleasePublished{Key: n.Key, Number: n.Number, Lease: lease})
		}
	}
}

func (l *ledger) pass(ns int64) {
	l.t.Helper()
	l.now.Mono += ns
	l.do(Tick{})
}

// F19: nobody is vouched for any more, and acks still wait until what was vouched for before is not believed any more.
func TestAReleaseAfterTheLeaseWithholdsAcksUntilItIsOver(t *testing.T) {
	l := newLedger(t)
	re := l.register(register(1, 0)).Epoch
	got := l.releaseAfterLease(topicA)
	if got.Wait != lease+lease/10 || got.Promised || !got.Topics[0].Gated {
		t.Fatalf("answered %+v", got)
	}
	if l.s.ledger().Confirms(dst, topicA, re) {
		t.Fatal("evidence may vouch for a released mirror")
	}
	if e, _ := l.s.ledger().Look(dst, topicA); e.Released != 1 || !e.Leaving {
		t.Fatalf("ledger %+v", e)
	}
	l.pass(lease)
	if l.gates(topicA) != 1 || l.s.registrations()[topicA].Gates[0].Epoch != re {
		t.Fatal("un-gated inside the lease")
	}
	l.pass(lease / 10)
	if l.gates(topicA) != 0 || len(l.s.registrations()[topicA].Released) != 1 {
		t.Fatalf("after the lease %+v", l.s.registrations()[topicA])
	}
	l.restart()
	if l.gates(topicA) != 0 {
		t.Fatal("gated again by a restart")
	}
}

// The lease runs from when evidence has ended, which is not when the release was decided: a slow disk may lie between.
func TestTheLeaseRunsFromWhenEvidenceHasEnded(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	effects := l.do(ReleaseMirror{Mirror: "m", AfterLease: true, Lease: lease})
	l.pass(2 * lease) // the release is not on disk yet
	if l.gates(topicA) != 1 {
		t.Fatal("un-gated while evidence is still stated")
	}
	l.published(effects)
	l.pass(lease)
	if l.gates(topicA) != 1 {
		t.Fatal("un-gated inside the lease of the newest evidence")
	}
	l.pass(lease)
	if l.gates(topicA) != 0 {
		t.Fatal("gated for ever")
	}
}

// The destination un-claims before it unregisters: its word ends the wait. An older one is not heard.
func TestTheDestinationsWordEndsTheWait(t *testing.T) {
	l := newLedger(t)
	l.register(register(3, 0))
	l.releaseAfterLease(topicA)
	if got := l.unregister(unregister(4)); got.Code != perr.None || l.gates(topicA) != 0 {
		t.Fatalf("answered %+v, %d gates", got, l.gates(topicA))
	}
	if got := l.register(register(5, 0)); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("the marker went with the wait: %+v", got)
	}
}

func TestARecoveryDuringTheWaitGatesAnew(t *testing.T) {
	l := newLedger(t)
	old := l.register(register(1, 0)).Epoch
	l.releaseAfterLease(topicA)
	got := l.register(register(2, 1))
	if got.Code != perr.None || got.Epoch == old {
		t.Fatalf("answered %+v", got)
	}
	l.pass(3 * lease)
	if l.gates(topicA) != 1 {
		t.Fatal("the wait of an earlier release ended a new registration")
	}
}

func TestARestartGivesTheWholeLeaseAgain(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.releaseAfterLease()
	l.pass(lease)
	l.restart()
	l.published(l.do(Resume{Topics: []core.TopicID{topicA}, Lease: lease}))
	if l.gates(topicA) != 1 {
		t.Fatal("a restart un-gated inside the lease")
	}
	l.pass(lease)
	if l.gates(topicA) != 1 {
		t.Fatal("un-gated before the lease of the new process")
	}
	l.pass(lease / 10)
	if l.gates(topicA) != 0 {
		t.Fatal("gated for ever")
	}
}

// Promised in evidence, every release waits; only --force does not.
func TestAPromiseIsKeptWhoeverReleases(t *testing.T) {
	l := newLedger(t)
	l.do(Resume{Lease: lease, Promise: true})
	l.register(register(1, 0))
	if led := l.s.ledger(); !led.Promised || led.Lease != lease/1e6 {
		t.Fatalf("ledger %+v", led)
	}
	effects := l.do(ReleaseMirror{Mirror: "m", Lease: lease})
	if got := last[ReleaseAnswered](t, effects); got.Wait == 0 || !got.Promised {
		t.Fatalf("answered %+v", got)
	}
	l.published(effects)
	if l.gates(topicA) != 1 {
		t.Fatal("a promise was broken")
	}
	if got := last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", Lease: lease, Force: true})); got.Wait != 0 || l.gates(topicA) != 0 {
		t.Fatalf("--force waits: %+v", got)
	}
}

// A process started without the setting keeps what the one before it had promised, for as long as somebody may count
// on it, and says nothing of the kind itself.
func TestWhatEvidencePromisedOutlivesTheSetting(t *testing.T) {
	l := newLedger(t)
	l.do(Resume{Lease: lease, Promise: true})
	l.register(register(1, 0))
	l.restart()
	if got := last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", Lease: lease / 10, DryRun: true})); got.Wait != lease+lease/10 {
		t.Fatalf("before anything is known of this process: %+v", got)
	}
	l.do(Resume{Topics: []core.TopicID{topicA}, Lease: lease / 10})
	if l.s.ledger().Promised {
		t.Fatal("evidence still promises")
	}
	if got := last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", Lease: lease / 10, DryRun: true})); got.Wait != lease+lease/10 || !got.Promised {
		t.Fatalf("inside the lease that was promised: %+v", got)
	}
	l.pass(lease + lease/10)
	if got := last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", Lease: lease / 10})); got.Wait != 0 || l.gates(topicA) != 0 {
		t.Fatalf("nobody counts on it any more: %+v", got)
	}
}

// A mirror that fails over while it leaves is obeyed: it could not know, and nothing was acknowledged without it. What
// waits for it is never acknowledged here.
func TestAMirrorThatLeavesMayStillTakeOver(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.releaseAfterLease(topicA)
	got := last[SupersedeAnswered](t, l.do(SupersedeTopic{Key: dst, Topic: topicA, Name: "a", Generation: 2, Mode: ModeFailover, Era: 5, Source: source("a")}))
	if got.Outcome != OutcomeSuperseded {
		t.Fatalf("answered %+v", got)
	}
	l.pass(3 * lease)
	if l.gates(topicA) != 1 {
		t.Fatal("what waited for the successor was acknowledged")
	}
	if got := l.release(topicA); len(got.Topics) != 1 || !strings.Contains(got.Topics[0].Text, "--force") {
		t.Fatalf("answered %+v", got)
	}
}

func TestAReleaseOfWhatIsNotGatedDoesNotWait(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.unregister(unregister(2))
	if got := l.releaseAfterLease(); got.Wait != 0 || l.gates(topicA) != 0 {
		t.Fatalf("answered %+v", got)
	}
}
