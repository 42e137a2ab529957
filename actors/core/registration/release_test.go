package registration

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func onTopic(c RegisterTopic, id core.TopicID, name string) RegisterTopic {
	c.Topic, c.Name, c.Source = id, name, source(name)
	return c
}

// A release is on disk before anybody acts on it, replaces the ledger that vouches for evidence before it
// un-gates, and tells the destination (C4, models G5, G9).
func TestReleaseVouchesNoLongerBeforeItUngates(t *testing.T) {
	l := newLedger(t)
	re := l.register(register(1, 0)).Epoch
	if got := last[PublishLedger](t, l.effects); !got.Ledger.Confirms(dst, topicA, re) {
		t.Fatal("the ledger does not confirm a standing registration")
	}
	l.release(topicA)
	if len(l.early) != 0 {
		t.Fatalf("early effects %v: a crash would forget the release", l.early)
	}
	ledger := last[PublishLedger](t, l.effects)
	if ledger.Ledger.Confirms(dst, topicA, re) {
		t.Fatal("the ledger still confirms a released registration")
	}
	if position[PublishLedger](l.effects) > position[Publish](l.effects) {
		t.Fatal("leaders un-gate before evidence stops")
	}
	if n := last[NotifyReleased](t, l.effects); n.Number != 1 || fmt.Sprint(n.Topics) != fmt.Sprint([]core.TopicID{topicA}) {
		t.Fatalf("notice %+v", n)
	}
	if e, _ := ledger.Ledger.Look(dst, topicA); e.Released != 1 {
		t.Fatalf("ledger entry %+v", e)
	}
}

func TestReleaseOnTheWrongClusterSaysWhereToRunIt(t *testing.T) {
	got := newLedger(t).release()
	if got.Code != perr.UnknownClusterMirror || !strings.Contains(got.Text, "run this on the source") {
		t.Fatalf("answered %+v", got)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	got := last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", DryRun: true}))
	if len(got.Topics) != 1 || !got.Topics[0].Gated || got.Number != 0 || l.gates(topicA) != 1 {
		t.Fatalf("answered %+v, %d gates", got, l.gates(topicA))
	}
}

// F35: a release of the whole mirror covers topics that register one second later.
func TestWholeReleaseCoversTopicsToCome(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.release()
	got := l.register(onTopic(register(1, 0), topicB, "b"))
	if got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion || got.Number != 1 {
		t.Fatalf("answered %+v", got)
	}
}

// Model M1: with a counter per key, release 1 of the topic and release 1 of the mirror look alike.
func TestM1OneCounterForTopicAndMirror(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	if n := l.release(topicA).Number; n != 1 {
		t.Fatalf("first release is number %d", n)
	}
	stale := register(2, 1) // sent after release 1 was seen
	l.release()
	if got := l.register(stale); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("a Register that saw only the topic's release was answered %+v", got)
	}
}

// Model M2: the first topic that recovers must not clear the mirror's marker for the others.
func TestM2MirrorMarkerStays(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	l.register(onTopic(register(1, 0), topicB, "b"))
	l.release()
	if got := l.register(register(2, 1)); got.Code != perr.None {
		t.Fatalf("recovery of a: %+v", got)
	}
	if got := l.register(onTopic(register(2, 0), topicB, "b")); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("b came back without echo: %+v", got)
	}
	if got := l.register(onTopic(register(1, 0), core.TopicID{3}, "c")); got.Code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("c, first registered after a recovered: %+v", got)
	}
}

// Model M0 at random: whatever is released, registered, delayed and repeated, a Register made before its
// destination saw the newest release of its topic is never admitted.
func TestM0NoReleaseIsSilentlyUndone(t *testing.T) {
	topics := []core.TopicID{topicA, topicB}
	for seed := int64(0); seed < 400; seed++ {
		r := rand.New(rand.NewSource(seed))
		l := newLedger(t)
		for _, id := range topics {
			l.register(onTopic(register(1, 0), id, "x"))
		}
		gen := core.Generation(1)
		echo := map[core.TopicID]core.ReleaseNumber{}
		seen := map[core.TopicID]int{} // releases the destination knows of, true count
		covering := map[core.TopicID]int{}
		type flight struct {
			cmd RegisterTopic
			saw int
		}
		var flights []flight
		for step := 0; step < 40; step++ {
			id := topics[r.Intn(2)]
			switch r.Intn(6) {
			case 0:
				l.release(id)
				covering[id]++
			case 1:
				l.release()
				covering[topicA]++
				covering[topicB]++
			case 2, 3:
				gen++
				flights = append(flights, flight{onTopic(register(gen, echo[id]), id, "x"), seen[id]})
			default:
				if len(flights) == 0 {
					continue
				}
				i := r.Intn(len(flights))
				f := flights[i]
				if r.Intn(3) > 0 {
					flights = append(flights[:i], flights[i+1:]...)
				}
				was := l.gates(f.cmd.Topic)
				got := l.register(f.cmd)
				if got.Code == perr.None && was == 0 && f.saw < covering[f.cmd.Topic] {
					t.Fatalf("seed %d: %+v undid a release", seed, f.cmd)
				}
				if got.Number != 0 {
					echo[f.cmd.Topic], seen[f.cmd.Topic] = max(echo[f.cmd.Topic], got.Number), covering[f.cmd.Topic]
				}
			}
			if r.Intn(8) == 0 {
				l.restart()
			}
		}
	}
}

// F33: the name is free once the old cluster is forgotten; its markers meet it if it returns.
func TestForgetGivesTheNameFree(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	last[ReleaseAnswered](t, l.do(ReleaseMirror{Mirror: "m", Forget: true}))
	other := register(1, 0)
	other.Key.Cluster = "other"
	if got := l.register(other); got.Code != perr.None {
		t.Fatalf("the new cluster: %+v", got)
	}
	if got := l.register(register(2, 1)); got.Code != perr.MirrorNameInUse {
		t.Fatalf("the old cluster: %+v", got)
	}
}

// I43: releasing one mirror changes nothing in another's gate.
func TestReleaseLeavesOtherMirrorsAlone(t *testing.T) {
	l := newLedger(t)
	l.register(register(1, 0))
	other := register(1, 0)
	other.Key = core.MirrorKey{Cluster: "third", Mirror: "n"}
	l.register(other)
	before := l.s.entries[LedgerKey{other.Key, topicA}]
	l.release()
	if after := l.s.entries[LedgerKey{other.Key, topicA}]; fmt.Sprint(after) != fmt.Sprint(before) || l.gates(topicA) != 1 {
		t.Fatalf("entry %+v became %+v", before, after)
	}
}

// F41: registrations survive a restart of the source, and all of them are published before anybody leads.
func TestRestartKeepsAndPublishesEveryRegistration(t *testing.T) {
	l := newLedger(t)
	re := l.register(register(1, 0)).Epoch
	l.register(onTopic(register(1, 0), topicB, "b"))
	l.restart()
	effects := l.do(Resume{Topics: []core.TopicID{topicA, topicB}})
	if facts := last[Publish](t, effects).Facts; len(facts) != 2 || l.gates(topicA) != 1 || l.gates(topicB) != 1 {
		t.Fatalf("facts %+v", facts)
	}
	if !last[PublishLedger](t, effects).Ledger.Confirms(dst, topicA, re) {
		t.Fatal("the ledger forgot a registration")
	}
}

// F34: gates close with their topic, and a late Register of it gates nothing, whatever the image of the broker
// that passes it on still says.
func TestDeletedTopicClosesItsGates(t *testing.T) {
	for _, how := range []Command{DropTopic{topicA}, Resume{Topics: []core.TopicID{topicB}}} {
		l := newLedger(t)
		l.register(register(1, 0))
		l.do(how)
		if l.gates(topicA) != 0 {
			t.Fatalf("%T left a gate", how)
		}
		if got := l.register(register(1, 0)); got.Code != perr.UnknownTopicId {
			t.Fatalf("late Register answered %+v", got)
		}
	}
}

// Model G6: each leader issues its own gate start; an older leader's late report changes nothing.
func TestG6NewestLeaderGivesTheGateStart(t *testing.T) {
	l := newLedger(t)
	re := l.register(register(1, 0)).Epoch
	report := func(e core.LeaderEpoch, start core.Offset) {
		l.do(ReportGate{Key: dst, ID: core.PartitionID{Topic: topicA}, Epoch: re, LeaderEpoch: e, GateStart: start})
	}
	report(1, 10)
	report(3, 30)
	report(2, 20)
	l.restart()
	if got := l.register(register(2, 0)); fmt.Sprint(got.Gates) != "[{0 3 30}]" {
		t.Fatalf("gates %v", got.Gates)
	}
}

// F17: the answer to an Unregister for a stop names the leaders' ends at un-gating, or gives up after a second.
func TestUnregisterForAStopNamesTheEndAtUngating(t *testing.T) {
	stop := unregister(2)
	stop.Mode, stop.Ref = ModeStop, 9
	for _, row := range []struct {
		name    string
		reports int
		tick    bool
		want    string
	}{
		{"both leaders", 2, false, "[100 101]"},
		{"one has no leader", 1, true, "[100 -1]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLedger(t)
			re := l.register(register(1, 0)).Epoch
			if effects := l.do(stop); has[UnregisterAnswered](effects) || l.gates(topicA) != 0 {
				t.Fatalf("answered before any leader un-gated: %+v", effects)
			}
			for p := int32(0); p < int32(row.reports); p++ {
				l.do(ReportUngated{Key: dst, ID: core.PartitionID{Topic: topicA, Index: p}, Epoch: re, LEO: 100 + core.Offset(p)})
			}
			if row.tick {
				l.now.Mono += ungatingWaitNs
				l.do(Tick{})
			}
			if got := last[UnregisterAnswered](t, l.effects); fmt.Sprint(got.LEO) != row.want || got.Ref != 9 {
				t.Fatalf("answered %+v", got)
			}
			l.now.Mono += ungatingWaitNs
			if effects := l.do(Tick{}); has[UnregisterAnswered](effects) {
				t.Fatal("answered twice")
			}
		})
	}
}
