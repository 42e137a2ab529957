package registration

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func (l *ledger) hold(topics ...core.TopicID) ReleaseAnswered {
	l.t.Helper()
	return last[ReleaseAnswered](l.t, l.do(ReleaseMirror{Mirror: "m", Topics: topics, Hold: true}))
}

func (l *ledger) unhold(topics ...core.TopicID) ReleaseAnswered {
	l.t.Helper()
	return last[ReleaseAnswered](l.t, l.do(LiftHold{Mirror: "m", Topics: topics}))
}

// A held release refuses the recovery that a plain release would admit, over a restart, until it is lifted; and
// lifting it tells the destination, which may be waiting out a minute of back-off (C4).
func TestAHeldReleaseIsNotRecoveredFrom(t *testing.T) {
	for _, topics := range [][]core.TopicID{nil, {topicA}} {
		l := newLedger(t)
		l.register(register(1, 0))
		n := l.hold(topics...).Number
		for range 2 {
			got := l.register(register(2, n))
			if got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion || got.Number != n || !got.Held || !strings.Contains(got.Text, "--unhold") {
				t.Fatalf("a recovery from a held release was answered %+v", got)
			}
			l.restart()
		}
		if got := l.unhold(topics...); got.Code != perr.None || got.Number != 0 {
			t.Fatalf("unhold was answered %+v", got)
		}
		if !has[NotifyLifted](l.effects) {
			t.Fatal("the destination is not told")
		}
		l.restart()
		if got := l.register(register(3, n)); got.Code != perr.None {
			t.Fatalf("after the hold was lifted: %+v", got)
		}
	}
}

func TestLiftingAHoldForOneTopicLeavesItOnTheOthers(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.register(onTopic(register(1, 0), topicB, "b"))
	n := l.hold().Number
	l.unhold(topicA)
	if got := l.register(register(2, n)); got.Code != perr.None {
		t.Fatalf("a: %+v", got)
	}
	if got := l.register(onTopic(register(2, n), topicB, "b")); !got.Held {
		t.Fatalf("b: %+v", got)
	}
	if got := l.register(onTopic(register(1, n), core.TopicID{3}, "c")); !got.Held {
		t.Fatalf("c, registered for the first time: %+v", got)
	}
	l.unhold()
	if got := l.register(onTopic(register(2, n), core.TopicID{3}, "c")); got.Code != perr.None {
		t.Fatalf("c after all holds were lifted: %+v", got)
	}
}

func TestLiftingWhatIsNotHeldSaysSo(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.release()
	if got := l.unhold(); got.Code != perr.InvalidRequest || !strings.Contains(got.Text, "held") {
		t.Fatalf("answered %+v", got)
	}
	if got := l.unhold(topicA); got.Code != perr.None || len(got.Topics) != 1 || got.Topics[0].Code != perr.InvalidRequest {
		t.Fatalf("answered %+v", got)
	}
}

// A mirror that is released, held and forgotten in one breath comes back when the hold is lifted, also after another
// cluster has taken the name (C4, F33).
func TestAHeldMirrorThatWasForgottenCanBeUnheld(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	n := last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", Hold: true, Forget: true})).Number
	if got := l.register(register(2, n)); !got.Held {
		t.Fatalf("a held mirror was answered %+v", got)
	}
	l.restart()
	other := register(1, 0)
	other.Key.Cluster = "another"
	if got := l.register(other); got.Code != perr.None {
		t.Fatalf("the name was given up, and another cluster was answered %+v", got)
	}
	if got := l.unhold(); got.Code != perr.None || got.Cluster != register(1, 0).Key.Cluster {
		t.Fatalf("unhold was answered %+v", got)
	}
	if got := l.register(register(3, n)); got.Held || got.Code != perr.MirrorNameInUse {
		t.Fatalf("after the hold was lifted, with its name taken: %+v", got)
	}
	if got := l.unhold(); got.Code != perr.InvalidRequest {
		t.Fatalf("unhold of what is not held was answered %+v", got)
	}
}
