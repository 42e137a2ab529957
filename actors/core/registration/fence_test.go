package registration

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

const patience = int64(30e9)

func switchover(g core.Generation) SupersedeTopic {
	return SupersedeTopic{Ref: core.RequestID(100 + g), Key: dst, Topic: topicA, Name: "a", Generation: g, Mode: ModeSwitchover, Source: source("a"), Patience: patience}
}

func failover(g core.Generation, era core.Era) SupersedeTopic {
	c := switchover(g)
	c.Mode, c.Era = ModeFailover, era
	return c
}

// fencedBy is a ledger whose topic a is registered and being moved, generation 2, and its registration epoch.
func fencedBy(t *testing.T, l *ledger) core.RegistrationEpoch {
	t.Helper()
	re := l.register(register(1, 0)).Epoch
	if effects := l.do(switchover(2)); has[SupersedeAnswered](effects) {
		t.Fatalf("answered at once: %+v", effects)
	}
	return re
}

func (l *ledger) fence() image.Fence { return l.s.registrations()[topicA].Fence }

// reports lets the leader of a partition report, with the floor of dst.
func (l *ledger) reports(p int32, leader core.LeaderEpoch, leo, floor core.Offset, re core.RegistrationEpoch) []Effect {
	return l.do(ReportFenced{ID: core.PartitionID{Topic: topicA, Index: p}, Number: l.fence().Number, LeaderEpoch: leader, LEO: leo,
		Floors: []GateFloor{{Key: core.MirrorKey{Cluster: "third", Mirror: "n"}, Epoch: re, Floor: leo}, {Key: dst, Epoch: re, Floor: floor}}})
}

func (l *ledger) standing() Standing { return l.s.successions[topicA].standing() }

// C8: fence, drained on all partitions, superseded; the commit point answers, and says so again after a restart.
func TestASwitchoverIsCommittedWhenEveryPartitionIsThere(t *testing.T) {
	l := newLedger(t)
	re := fencedBy(t, l)
	if f := l.fence(); f.Code != perr.NotLeaderOrFollower || !strings.Contains(f.Text, "moved to cluster dst") || l.gates(topicA) != 1 {
		t.Fatalf("fence %+v, %d gates", f, l.gates(topicA))
	}
	if effects := l.reports(0, 5, 100, 100, re); has[SupersedeAnswered](effects) || l.standing() != Fenced {
		t.Fatal("committed with one of two partitions")
	}
	effects := l.reports(1, 7, 50, 50, re)
	got := last[SupersedeAnswered](t, effects)
	if got.Outcome != OutcomeSuperseded || got.Era != 1 || fmt.Sprint(got.Ends) != "[{0 5 100} {1 7 50}]" || got.Ref != 102 {
		t.Fatalf("answered %+v", got)
	}
	if len(l.early) != 0 || position[Publish](effects) > position[SupersedeAnswered](effects) {
		t.Fatalf("effects %+v", effects)
	}
	if f := l.fence(); f.Code != perr.NotLeaderOrFollower || !strings.Contains(f.Text, "connect there") {
		t.Fatalf("fence %+v", f)
	}
	l.restart()
	l.do(Resume{Topics: []core.TopicID{topicA}, Patience: patience})
	for _, g := range []core.Generation{2, 3} {
		if again := last[SupersedeAnswered](t, l.do(switchover(g))); again.Outcome != OutcomeSuperseded || fmt.Sprint(again.Ends) != fmt.Sprint(got.Ends) {
			t.Fatalf("asked again: %+v", again)
		}
	}
	l.now.Mono += 2 * patience
	l.do(Tick{})
	if l.standing() != Superseded {
		t.Fatalf("standing %s after the time-out of the fence", l.standing())
	}
}

// What does not prove that the mirror has everything does not commit.
func TestASwitchoverIsNotCommittedWithout(t *testing.T) {
	other := core.MirrorKey{Cluster: "third", Mirror: "n"}
	id := func(p int32) core.PartitionID { return core.PartitionID{Topic: topicA, Index: p} }
	for name, report := range map[string]func(l *ledger, re core.RegistrationEpoch) ReportFenced{
		"the floor of its last record": func(l *ledger, re core.RegistrationEpoch) ReportFenced {
			return ReportFenced{ID: id(1), Number: l.fence().Number, LeaderEpoch: 5, LEO: 100, Floors: []GateFloor{{dst, re, 99}}}
		},
		"a floor": func(l *ledger, re core.RegistrationEpoch) ReportFenced {
			return ReportFenced{ID: id(1), Number: l.fence().Number, LeaderEpoch: 5, LEO: 100}
		},
		"a floor of this mirror": func(l *ledger, re core.RegistrationEpoch) ReportFenced {
			return ReportFenced{ID: id(1), Number: l.fence().Number, LeaderEpoch: 5, LEO: 100, Floors: []GateFloor{{other, re, 100}}}
		},
		"a floor of this registration": func(l *ledger, re core.RegistrationEpoch) ReportFenced {
			return ReportFenced{ID: id(1), Number: l.fence().Number, LeaderEpoch: 5, LEO: 100, Floors: []GateFloor{{dst, re - 1, 100}}}
		},
		"this fence": func(l *ledger, re core.RegistrationEpoch) ReportFenced {
			return ReportFenced{ID: id(1), Number: l.fence().Number - 1, LeaderEpoch: 5, LEO: 100, Floors: []GateFloor{{dst, re, 100}}}
		},
		"this partition": func(l *ledger, re core.RegistrationEpoch) ReportFenced {
			return ReportFenced{ID: id(2), Number: l.fence().Number, LeaderEpoch: 5, LEO: 100, Floors: []GateFloor{{dst, re, 100}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t)
			re := fencedBy(t, l)
			l.reports(0, 5, 100, 100, re)
			l.do(report(l, re))
			if l.standing() != Fenced {
				t.Fatalf("%s without it", l.standing())
			}
			l.now.Mono += fenceAnswerNs
			if got := last[SupersedeAnswered](t, l.do(Tick{})); got.Outcome != OutcomeFencing || !strings.Contains(got.Text, "partition 1") {
				t.Fatalf("answered %+v", got)
			}
		})
	}
}

// A leader that was deposed does not speak for its successor, who may have appended before it heard of the fence.
func TestTheNewestLeaderSpeaksForAPartition(t *testing.T) {
	l := newLedger(t)
	re := fencedBy(t, l)
	l.reports(0, 6, 110, 90, re)
	l.reports(0, 5, 100, 100, re)
	l.reports(1, 5, 1, 1, re)
	if l.standing() != Fenced {
		t.Fatal("committed on the word of a deposed leader")
	}
	l.reports(0, 6, 110, 110, re)
	if l.standing() != Superseded {
		t.Fatal("not committed")
	}
}

// A leader elected after the commit may end lower: the successor is told where, or it would wait for ever.
func TestAnEndThatMovesAfterTheCommitIsTold(t *testing.T) {
	l := newLedger(t)
	re := fencedBy(t, l)
	l.reports(0, 5, 100, 100, re)
	l.reports(1, 5, 1, 1, re)
	l.reports(0, 6, 98, core.Unknown, re)
	l.reports(0, 5, 100, 100, re)
	l.restart()
	if got := last[SupersedeAnswered](t, l.do(switchover(2))); fmt.Sprint(got.Ends) != "[{0 6 98} {1 5 1}]" {
		t.Fatalf("answered %+v", got)
	}
}

// C8: lifted before the commit point, by time, by the mirror, or by an operator. A repetition of the command that
// arrives later does not fence again: its destination has been told that it is over.
func TestAFenceIsLiftedAndStaysLifted(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*ledger)
		text string
	}{
		{"time-out", func(l *ledger) { l.now.Mono += patience; l.do(Tick{}) }, "timed out: no leader of partition 1"},
		{"time-out after a restart", func(l *ledger) {
			l.restart()
			l.do(Resume{Topics: []core.TopicID{topicA}, Patience: patience})
			l.now.Mono += patience - 1
			if l.do(Tick{}); l.standing() != Fenced {
				l.t.Fatal("lifted before its time")
			}
			l.now.Mono++
			l.do(Tick{})
		}, "timed out: no leader of partition 0"},
		{"unregister", func(l *ledger) { l.unregister(unregister(3)) }, ""},
		{"release", func(l *ledger) { l.release(topicA) }, "released"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLedger(t)
			re := fencedBy(t, l)
			l.reports(0, 5, 100, 100, re)
			number := l.fence().Number
			row.end(l)
			if l.standing() != TakesWrites || l.fence() != (image.Fence{}) {
				t.Fatalf("%s, fence %+v", l.standing(), l.fence())
			}
			l.restart()
			got := last[SupersedeAnswered](t, l.do(switchover(2)))
			if l.standing() != TakesWrites || got.Newest == 0 && got.Outcome != OutcomeEnded || !strings.Contains(got.Text, row.text) {
				t.Fatalf("repeated: %+v, %s", got, l.standing())
			}
			l.do(ReportFenced{ID: core.PartitionID{Topic: topicA, Index: 1}, Number: number, LeaderEpoch: 5, LEO: 1, Floors: []GateFloor{{dst, re, 1}}})
			if l.standing() != TakesWrites {
				t.Fatal("a late report committed a lifted fence")
			}
		})
	}
}

func TestEverybodyWhoWaitsHearsOfTheEnd(t *testing.T) {
	for name, end := range map[string]func(*ledger) []Effect{
		"release":    func(l *ledger) []Effect { return l.do(ReleaseMirror{Mirror: "m"}) },
		"unregister": func(l *ledger) []Effect { return l.do(unregister(3)) },
		"deletion":   func(l *ledger) []Effect { return l.do(DropTopic{topicA}) },
	} {
		l := newLedger(t)
		fencedBy(t, l)
		if got := last[SupersedeAnswered](t, end(l)); got.Outcome != OutcomeEnded || got.Ref != 102 {
			t.Errorf("%s: %+v", name, got)
		}
		l.now.Mono += patience
		if has[SupersedeAnswered](l.do(Tick{})) {
			t.Errorf("%s: answered twice", name)
		}
	}
}

// A second attempt after a lifted fence has another number and the same era.
// An era that leaves no room above it would never be released, and one below zero is none.
func TestAnEraThatCannotBeOneIsRefused(t *testing.T) {
	for _, era := range []core.Era{-1, math.MinInt64, 1<<62 + 1, math.MaxInt64} {
		l := newLedger(t)
		l.register(register(1, 0))
		if got := last[SupersedeAnswered](t, l.do(failover(2, era))); got.Code != perr.InvalidRequest || l.fence() != (image.Fence{}) {
			t.Errorf("era %d: %+v, fence %+v", era, got, l.fence())
		}
	}
}

func TestANewGenerationFencesAgain(t *testing.T) {
	l := newLedger(t)
	re := fencedBy(t, l)
	first := l.fence().Number
	l.now.Mono += patience
	l.do(Tick{})
	l.do(switchover(3))
	if f := l.fence(); f.Number <= first {
		t.Fatalf("fence %d after %d", f.Number, first)
	}
	l.reports(0, 5, 1, 1, re)
	if got := last[SupersedeAnswered](t, l.reports(1, 5, 1, 1, re)); got.Era != 1 || got.Outcome != OutcomeSuperseded {
		t.Fatalf("answered %+v", got)
	}
}

func TestWhoMayNotSwitchOver(t *testing.T) {
	for _, row := range []struct {
		name  string
		setup func(*ledger)
		cmd   func(*SupersedeTopic)
		code  perr.Code
		text  string
	}{
		{"never registered", func(l *ledger) {}, nil, perr.InvalidSyncRegistration, "does not gate"},
		{"released", func(l *ledger) { l.register(register(1, 0)); l.release(topicA) }, nil, perr.InvalidSyncRegistration, "release 1"},
		{"another mirror moves it", func(l *ledger) {
			other := register(1, 0)
			other.Key = core.MirrorKey{Cluster: "third", Mirror: "n"}
			l.register(other)
			l.register(register(1, 0))
			move := switchover(2)
			move.Key = other.Key
			l.do(move)
		}, nil, perr.InvalidClusterMirrorState, "moved to cluster third"},
		{"unknown topic", func(l *ledger) { l.register(register(1, 0)) }, func(c *SupersedeTopic) { c.Source = Source{} }, perr.UnknownTopicId, ""},
		{"follows a mirror", func(l *ledger) { l.register(register(1, 0)) }, func(c *SupersedeTopic) { c.Source.Mirrored = true }, perr.InvalidClusterMirrorState, "takes its writes"},
		{"older than what was sent since", func(l *ledger) { l.register(register(7, 0)) }, nil, perr.InvalidSyncRegistration, "superseded"},
		{"without a number", func(l *ledger) { l.register(register(1, 0)) }, func(c *SupersedeTopic) { c.Generation = 0 }, perr.InvalidSyncRegistration, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLedger(t)
			row.setup(l)
			before := l.fence()
			cmd := switchover(2)
			if row.cmd != nil {
				row.cmd(&cmd)
			}
			got := last[SupersedeAnswered](t, l.do(cmd))
			if got.Code != row.code || !strings.Contains(got.Text, row.text) || l.fence() != before {
				t.Fatalf("answered %v %q, fence %+v", got.Code, got.Text, l.fence())
			}
		})
	}
}
