package registration

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
	"lockstep/testkit/laws"
)

// supersededBy is a ledger whose topic a dst has taken over in era 1, planned or not.
func supersededBy(t *testing.T, planned bool) *ledger {
	t.Helper()
	l := newLedger(t)
	if !planned {
		l.register(register(1, 0))
		if got := last[SupersedeAnswered](t, l.do(failover(2, 1))); got.Outcome != OutcomeSuperseded || got.Era != 1 {
			t.Fatalf("answered %+v", got)
		}
		return l
	}
	re := fencedBy(t, l)
	l.reports(0, 5, 100, 100, re)
	l.reports(1, 5, 100, 100, re)
	return l
}

// C8: after the commit point a release is refused, a Register is, and an Unregister that the successor sent before
// acknowledges nothing; the gates of others stay theirs to end. A forced release takes the writes back, in an era above.
func TestAfterSuccession(t *testing.T) {
	for _, planned := range []bool{true, false} {
		l := supersededBy(t, planned)
		want := map[bool]perr.Code{true: perr.NotLeaderOrFollower, false: perr.ReadOnlyTopic}[planned]
		if f := l.fence(); f.Code != want || !strings.Contains(f.Text, "dst") {
			t.Fatalf("planned %v: fence %+v", planned, f)
		}
		for _, whole := range []bool{true, false} {
			cmd := ReleaseMirror{Mirror: "m", Topics: []core.TopicID{topicA}}
			if whole {
				cmd.Topics = nil
			}
			got := last[ReleaseAnswered](t, l.do(cmd))
			if got.Number != 0 || len(got.Topics) != 1 || got.Topics[0].Code != perr.InvalidClusterMirrorState || !strings.Contains(got.Topics[0].Text, "--force") || l.standing() != Superseded || l.gates(topicA) != 1 {
				t.Fatalf("released %+v, %s", got, l.standing())
			}
		}
		if got := l.unregister(unregister(9)); got.Code != perr.InvalidClusterMirrorState || l.gates(topicA) != 1 {
			t.Fatalf("unregistered %+v", got)
		}
		other := register(1, 0)
		other.Key = core.MirrorKey{Cluster: "third", Mirror: "n"}
		for _, cmd := range []RegisterTopic{register(10, 1), other} {
			if got := l.register(cmd); got.Code != perr.InvalidClusterMirrorState || !strings.Contains(got.Text, "cluster dst") {
				t.Fatalf("registered %+v", got)
			}
		}
		l.restart()
		if l.standing() != Superseded {
			t.Fatal("a restart forgot the successor")
		}
		last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", Force: true}))
		if l.standing() != TakesWrites || l.fence() != (image.Fence{}) || l.gates(topicA) != 0 || l.s.successions[topicA].Era != 2 {
			t.Fatalf("forced: %+v, %d gates", l.s.successions[topicA], l.gates(topicA))
		}
		l.restart()
		if got := last[SupersedeAnswered](t, l.do(failover(11, 1))); got.Outcome == OutcomeSuperseded || l.standing() != TakesWrites {
			t.Fatalf("the successor's old news: %+v", got)
		}
	}
}

// F18: only the mirror of a standing registration is obeyed, and only with a higher era; the rest is counted.
func TestWhoseFailoverIsObeyed(t *testing.T) {
	stranger := core.MirrorKey{Cluster: "third", Mirror: "n"}
	for _, row := range []struct {
		name  string
		setup func(*ledger)
		cmd   func(*SupersedeTopic)
		obey  bool
	}{
		{"the mirror that gates", nil, nil, true},
		{"a journal older than what was sent since", func(l *ledger) { l.register(register(9, 0)) }, nil, true},
		{"in the middle of its switchover", func(l *ledger) { l.do(switchover(2)) }, func(c *SupersedeTopic) { c.Generation = 3 }, true},
		{"a stranger", nil, func(c *SupersedeTopic) { c.Key = stranger }, false},
		{"released before", func(l *ledger) { l.release(topicA) }, nil, false},
		{"left before", func(l *ledger) { l.unregister(unregister(2)) }, func(c *SupersedeTopic) { c.Generation = 3 }, false},
		{"an era that is past", func(l *ledger) {
			l.do(failover(2, 1))
			l.do(ReleaseMirror{Mirror: "m", Force: true})
			l.register(register(3, 1))
		}, func(c *SupersedeTopic) { c.Generation, c.Era = 4, 2 }, false},
		{"an era that this cluster took over in", nil, func(c *SupersedeTopic) { c.Source.Era = 1 }, false},
		{"a topic that follows a mirror", nil, func(c *SupersedeTopic) { c.Source.Mirrored = true }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLedger(t)
			l.register(register(1, 0))
			if row.setup != nil {
				row.setup(l)
			}
			cmd := failover(2, 1)
			if row.cmd != nil {
				row.cmd(&cmd)
			}
			got := last[SupersedeAnswered](t, l.do(cmd))
			if obeyed := l.standing() == Superseded; obeyed != row.obey || (got.Outcome == OutcomeSuperseded) != row.obey || (got.Code == perr.None) != row.obey {
				t.Fatalf("answered %+v, %s", got, l.standing())
			}
			ignored := last[Described](t, l.do(Describe{})).Ledger.Successions
			if counted := len(ignored) > 0 && ignored[0].Ignored > 0; counted == row.obey {
				t.Fatalf("described %+v", ignored)
			}
			if l.restart(); (l.standing() == Superseded) != row.obey {
				t.Fatalf("after a restart: %s", l.standing())
			}
		})
	}
}

// A second failover of the same mirror, in a higher era, and one of another mirror that still gates.
func TestAHigherEraTakesOverAgain(t *testing.T) {
	l := newLedger(t)
	other := register(1, 0)
	other.Key = core.MirrorKey{Cluster: "third", Mirror: "n"}
	l.register(other)
	l.register(register(1, 0))
	l.do(failover(2, 1))
	later := failover(2, 1)
	later.Key = other.Key
	if got := last[SupersedeAnswered](t, l.do(later)); got.Outcome == OutcomeSuperseded || !strings.Contains(got.Text, "cluster dst") {
		t.Fatalf("two successors of one era: %+v", got)
	}
	later.Era = 2
	if got := last[SupersedeAnswered](t, l.do(later)); got.Outcome != OutcomeSuperseded || l.s.successions[topicA].by() != other.Key {
		t.Fatalf("a higher era: %+v", got)
	}
}

// A topic that was handed over, deleted and moved back under its id is a source again, in whatever era it opened.
func TestATopicThatReturnsGatesAgain(t *testing.T) {
	l := supersededBy(t, true)
	l.do(DropTopic{topicA})
	if got := l.register(register(9, 0)); got.Code != perr.UnknownTopicId {
		t.Fatalf("while it is gone: %+v", got)
	}
	l.do(ReturnTopic{topicA})
	l.restart()
	cmd := register(1, 0)
	cmd.Source.Era = 2
	if got := l.register(cmd); got.Code != perr.None || got.Era != 2 || l.gates(topicA) != 1 {
		t.Fatalf("back: %+v", got)
	}
	move := switchover(2)
	move.Source.Era = 2
	l.do(move)
	if r := l.s.successions[topicA]; r.standing() != Fenced || r.Next != 3 {
		t.Fatalf("moved on: %+v", r)
	}
	if l.do(ReturnTopic{topicA}); l.standing() != Fenced {
		t.Fatal("the return of a topic that is there changes something")
	}
}

// moved is a life with a lifted fence, a switchover, a forced release, and a failover.
func moved(t *testing.T) *ledger {
	l := newLedger(t)
	re := fencedBy(t, l)
	l.now.Mono += patience
	l.do(Tick{})
	l.do(switchover(3))
	l.reports(0, 5, 10, 10, re)
	l.reports(1, 5, 10, 10, re)
	l.reports(1, 6, 9, 9, re)
	l.do(ReleaseMirror{Mirror: "m", Force: true})
	l.register(register(4, 1))
	l.do(failover(5, 9))
	l.do(Describe{})
	return l
}

func TestLawsOfSuccession(t *testing.T) {
	laws.Check(t, Machine(), "src", moved(t).script)
}

// A crash may keep any prefix of the journal: what comes back is one standing, from which the move goes on or is lifted,
// and never a fence of a mirror that does not gate.
func TestAnyPrefixOfAMoveResumes(t *testing.T) {
	entries := moved(t).journal
	for n := range entries {
		l := newLedger(t)
		l.journal = entries[:n+1]
		for _, entry := range l.journal {
			ev, err := Machine().Decode(entry)
			if err != nil {
				t.Fatal(err)
			}
			Machine().Apply(l.s, ev)
		}
		l.do(Resume{Topics: []core.TopicID{topicA}, Patience: patience})
		e, r := l.s.entries[LedgerKey{dst, topicA}], l.s.successions[topicA]
		switch r.standing() {
		case Fenced:
			if !e.registered {
				t.Fatalf("after %d entries: fenced for a mirror that does not gate", n+1)
			}
			l.reports(0, 8, 10, 10, e.epoch)
			if got := last[SupersedeAnswered](t, append(l.do(switchover(r.Generation)), l.reports(1, 8, 10, 10, e.epoch)...)); got.Outcome != OutcomeSuperseded {
				t.Fatalf("after %d entries: %+v", n+1, got)
			}
		case Superseded:
			if l.fence().Number == 0 {
				t.Fatalf("after %d entries: superseded and not fenced", n+1)
			}
		case TakesWrites:
			if l.fence() != (image.Fence{}) {
				t.Fatalf("after %d entries: %+v", n+1, l.fence())
			}
		default:
			t.Fatalf("after %d entries: %d", n+1, r.Standing)
		}
	}
}
