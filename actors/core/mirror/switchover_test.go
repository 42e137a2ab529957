package mirror

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
	"lockstep/testkit/laws"
)

func (d *site) leave(v Verb) TopicResult {
	d.t.Helper()
	return last[TopicsAnswered](d.t, d.do(StopTopics{Topics: []core.TopicID{topicA}, Verb: v})).Topics[0]
}

// switching is a SYNC topic whose source has been asked to hand over, under generation 2.
func switching(t *testing.T) *site {
	t.Helper()
	d := synced(t)
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	if got := d.leave(VerbSwitchover); got.Code != perr.None {
		t.Fatalf("answered %+v", got)
	}
	return d
}

// superseded is the source's word that it has handed over.
func (d *site) superseded(ends ...core.Offset) []Effect {
	c := SupersedeAnswered{Topic: topicA, Generation: d.topic().Generation, Outcome: Superseded, Era: 1}
	for p, end := range ends {
		c.Ends = append(c.Ends, End{Partition: int32(p), LEO: end})
	}
	return d.do(c)
}

func (d *site) ended(c SupersedeAnswered) []Effect {
	c.Topic, c.Generation = topicA, d.topic().Generation
	return d.do(c)
}

// C8, C9: asked, SYNC all the while; committed: un-claimed, the ends of the source mirrored, and then as any stop, in
// the source's next era.
func TestASwitchoverRunsInOrder(t *testing.T) {
	d := switching(t)
	sent := all[SendSupersede](d.all)
	if len(sent) != 1 || sent[0].Failover || sent[0].Generation != 2 || sent[0].Era != 1 || len(all[SendUnregister](d.all)) != 0 {
		t.Fatalf("sent %+v", sent)
	}
	if got := d.describe(); got.Phase != Sync || got.Effective != TypeSync || !got.Moving || !strings.Contains(got.State, "being switched over") {
		t.Fatalf("described %+v", got)
	}
	if p := d.published(); !p.Opening || p.State != image.MirrorMirroring || !p.Reporting {
		t.Fatalf("published %+v", p)
	}
	effects := d.superseded(13, 10)
	if len(all[FencePartition](effects)) != 0 || d.mode() != FetchSync {
		t.Fatalf("opens below the end of the source, mode %d", d.mode())
	}
	if got := d.describe(); got.Effective != TypeAsync || got.Phase != Stopping || got.Era != 1 || got.Moving {
		t.Fatalf("described %+v", got)
	}
	d.progress(0, 12, 12)
	d.tick(tickNs)
	if d.mode() == FetchOff {
		t.Fatal("fenced at 12, the source ended at 13")
	}
	d.progress(0, 13, 13)
	d.tick(tickNs)
	got := strings.Join(d.local(100), ", ")
	want := "fence 0, fence 1, raise 0 to 1024, raise 1 to 1024, publish state 6, reset 0 keep 1, reset 1 keep 1, publish state 7"
	if got != want {
		t.Fatalf("did %s\nwant %s", got, want)
	}
	if got := d.describe(); got.Phase != Stopped || got.Era != 1 || !strings.Contains(got.State, "switchover, era 1") || got.Partitions[0].SourceEnd != 13 {
		t.Fatalf("described %+v", got)
	}
	if n := len(all[SendUnregister](d.all)); n != 0 {
		t.Fatalf("%d Unregisters", n)
	}
	if p := d.published(); p.Era != 1 || p.State != image.MirrorStopped || p.Opening {
		t.Fatalf("published %+v", p)
	}
}

// The end of a source that elects a leader after the commit is asked for, and taken, while this copy waits for it.
func TestAnEndThatMovesIsWaitedForNoLonger(t *testing.T) {
	d := switching(t)
	d.superseded(13, 10)
	entries := len(d.journal)
	if n := len(all[SendSupersede](d.tick(3 * switchoverEveryNs))); n < 2 {
		t.Fatalf("asked %d times in 3 s", n)
	}
	if d.superseded(13, 10); len(d.journal) != entries {
		t.Fatal("the same answer is journaled again")
	}
	d.superseded(10, 10)
	d.local(100)
	d.phase(Stopped)
}

func TestWhatMayBeSwitchedOver(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(*testing.T) *site
		code perr.Code
		text string
	}{
		{"SYNC", synced, perr.None, ""},
		{"ASYNC", func(t *testing.T) *site { return started(t, TypeAsync) }, perr.InvalidClusterMirrorState, "not SYNC"},
		{"ARMING", func(t *testing.T) *site { d := registering(t); d.admit(1); return d }, perr.InvalidClusterMirrorState, "--failover"},
		{"SYNC, unconfirmed", func(t *testing.T) *site { d := synced(t); d.tick(11e9); return d }, perr.InvalidClusterMirrorState, "use --failover"},
		{"SYNC, just started", func(t *testing.T) *site { d := synced(t); d.restart(); return d }, perr.InvalidClusterMirrorState, "use --failover"},
		{"PARTIAL", func(t *testing.T) *site { d := synced(t); refuse(d, 0, perr.InvalidSyncRegistration); return d }, perr.InvalidClusterMirrorState, "not gated on all partitions"},
		{"being switched over", switching, perr.MirrorTopicBeingStopped, "already"},
		{"being stopped", func(t *testing.T) *site { d := synced(t); d.stop(); return d }, perr.MirrorTopicBeingStopped, "already"},
		{"of a source without numbers", func(t *testing.T) *site { d := synced(t); d.topic().Epoch = 0; return d }, perr.UnsupportedVersion, "number"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := row.make(t)
			before := d.topic().phase()
			if got := d.leave(VerbSwitchover); got.Code != row.code || !strings.Contains(got.Text, row.text) {
				t.Fatalf("answered %+v", got)
			}
			d.phase(before)
		})
	}
}

// Whatever ends it, the topic is what it was: SYNC, reporting, claimed; and it may be tried again under a new number.
func TestASwitchoverThatEndsLeavesTheTopicAsItWas(t *testing.T) {
	for name, answer := range map[string]SupersedeAnswered{
		"lifted":                     {Outcome: Ended, Text: "timed out: partition 1 ends at 12"},
		"refused":                    {Code: perr.InvalidClusterMirrorState, Text: "timed out"},
		"a source that is too old":   {Code: perr.UnsupportedVersion, Text: "timed out"},
		"the source forgot us since": {Code: perr.InvalidSyncRegistration, Text: "timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			d := switching(t)
			d.ended(answer)
			if got := d.describe(); got.Phase != Sync || got.Moving || !strings.Contains(got.ErrorMessage, "timed out") {
				t.Fatalf("described %+v", got)
			}
			if p := d.published(); d.mode() != FetchSync || !p.Reporting || p.Opening {
				t.Fatalf("mode %d, published %+v", d.mode(), p)
			}
			if n := len(all[SendSupersede](d.tick(5e9))); n != 0 {
				t.Fatalf("asked %d times after the end", n)
			}
			for p := int32(0); p < partitions; p++ {
				d.evidence(p, 1, 10, 10)
			}
			if got := d.leave(VerbSwitchover); got.Code != perr.None || d.topic().Generation != 3 {
				t.Fatalf("tried again: %+v", got)
			}
		})
	}
}

// No answer, or "ask again", is not an end: the source may have handed over.
func TestASwitchoverAsksUntilItHasAnOutcome(t *testing.T) {
	d := switching(t)
	d.ended(SupersedeAnswered{Code: perr.CoordinatorNotAvailable})
	d.do(SupersedeAnswered{Topic: topicA, Generation: 1, Outcome: Superseded, Era: 9})
	d.ended(SupersedeAnswered{Outcome: Fencing, Text: "partition 0"})
	if n := len(all[SendSupersede](d.tick(10e9))); n < 3 {
		t.Fatalf("asked %d times in 10 s", n)
	}
	d.phase(Sync)
	sent := all[SendSupersede](d.restart())
	if len(sent) != 1 || sent[0].Generation != 2 {
		t.Fatalf("after a restart: %+v", sent)
	}
	d.superseded(10, 10)
	d.progress(0, 10, 10)
	d.progress(1, 10, 10)
	d.tick(tickNs)
	d.local(100)
	d.phase(Stopped)
}

// What un-claims a topic meanwhile waits for the outcome with its Unregister: under a newer number it would hide that
// the source has handed over, and nobody would take the topic's writes.
func TestADemotionWaitsForTheOutcome(t *testing.T) {
	for _, over := range []bool{true, false} {
		d := switching(t)
		d.do(ReportReleased{Number: 1})
		if n := len(all[SendUnregister](d.all)); n != 0 {
			t.Fatalf("%d Unregisters before the outcome", n)
		}
		d.phase(CatchingUp)
		for p := int32(0); p < partitions; p++ {
			d.progress(p, 10, 10)
		}
		if d.tick(1e9); len(all[SendRegister](d.all)) != 1 {
			t.Fatal("registers before the outcome")
		}
		if !over {
			d.ended(SupersedeAnswered{Outcome: Ended, Text: "released meanwhile"})
			if n := len(all[SendUnregister](d.all)); n != 1 {
				t.Fatalf("%d Unregisters after the end", n)
			}
			continue
		}
		d.superseded(10, 10)
		d.local(100)
		d.phase(Stopped)
	}
	d := switching(t)
	if got := last[TopicsAnswered](t, d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})).Topics[0]; got.Code != perr.MirrorTopicBeingStopped {
		t.Fatalf("alter --async answered %+v", got)
	}
}

// A source that knows newer numbers than this journal ends the switchover and the claim with it (C3).
func TestASwitchoverOfARestoredDestination(t *testing.T) {
	d := switching(t)
	d.ended(SupersedeAnswered{Code: perr.InvalidSyncRegistration, Newest: 7, Fresh: core.Incarnation{9}})
	if got := d.describe(); got.Effective != TypeAsync || got.Incarnation != (core.Incarnation{9}) || got.Moving {
		t.Fatalf("described %+v", got)
	}
	if sent := last[SendUnregister](t, d.all); sent.Generation != 8 {
		t.Fatalf("sent %+v", sent)
	}
}

// A stop during a switchover tells the source as ever, which lifts the fence if it stands; whatever it answers, this
// copy opens.
func TestAStopDuringASwitchover(t *testing.T) {
	for _, code := range []perr.Code{perr.None, perr.InvalidClusterMirrorState} {
		d := switching(t)
		if got := d.stop(); got.Code != perr.None {
			t.Fatalf("answered %+v", got)
		}
		d.do(UnregisterAnswered{Topic: topicA, Generation: 3, Code: code})
		d.local(100)
		d.phase(Stopped)
		if len(all[SendSupersede](d.tick(10e9))) != 0 {
			t.Fatal("still asks")
		}
	}
}

// C8: era + 1 and no Unregister, from every state; the old source is told until it answers, over restarts and long
// after this copy has opened.
func TestAFailoverTellsTheOldSource(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *site{
		"SYNC":                synced,
		"being switched over": switching,
		"ARMING":              func(t *testing.T) *site { d := registering(t); d.admit(1); return d },
		"DEMOTING": func(t *testing.T) *site {
			d := synced(t)
			d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
			return d
		},
		"DIVERGED": func(t *testing.T) *site {
			d := synced(t)
			d.do(ReportDiverged{ID: id(0), Session: 1, Text: "x"})
			return d
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := make(t)
			d.tick(11e9)
			before := len(all[SendUnregister](d.all))
			if got := d.leave(VerbFailover); got.Code != perr.None || got.Warning != "" {
				t.Fatalf("answered %+v", got)
			}
			sent := last[SendSupersede](t, d.all)
			if !sent.Failover || sent.Era != 1 || sent.Generation != d.topic().Generation || d.mode() != FetchOff {
				t.Fatalf("sent %+v, mode %d", sent, d.mode())
			}
			d.restart()
			d.local(100)
			d.phase(Stopped)
			if got := d.describe(); got.Era != 1 || !got.Telling || !strings.Contains(got.State, "failover, era 1, the old source has not answered yet") {
				t.Fatalf("described %+v", got)
			}
			d.restart()
			again := all[SendSupersede](d.tick(60e9))
			if len(again) < 10 || again[0].Generation != sent.Generation || again[0].Era != 1 {
				t.Fatalf("told %d times in a minute: %+v", len(again), again[0])
			}
			d.ended(SupersedeAnswered{Code: perr.CoordinatorNotAvailable})
			d.superseded()
			if got := d.describe(); got.Telling || got.Heard != HeardObeyed || !strings.Contains(got.State, "takes no more writes") {
				t.Fatalf("described %+v", got)
			}
			if len(all[SendSupersede](d.tick(60e9))) != 0 || len(all[SendUnregister](d.all)) != before {
				t.Fatal("tells on, or unregistered")
			}
			d.replay()
		})
	}
}

// C8: the era is one above the source's, which it states in its answers and in evidence.
func TestTheEraFollowsTheSource(t *testing.T) {
	d := registering(t)
	d.do(RegisterAnswered{Topic: topicA, Generation: 1, Epoch: 1, Era: 3})
	d.do(ReportEvidence{ID: id(0), Sent: d.now.Mono, Epoch: 1, SourceEpoch: 5, GateStart: 10, Floor: 10, T: ClaimTime{Clock: 5}, Era: 4})
	d.do(ReportEvidence{ID: id(0), Sent: d.now.Mono, Epoch: 1, SourceEpoch: 5, GateStart: 10, Floor: 10, T: ClaimTime{Clock: 6}, Era: math.MaxInt64})
	d.restart()
	d.leave(VerbFailover)
	if sent := last[SendSupersede](t, d.all); sent.Era != 5 || d.topic().Era != 5 {
		t.Fatalf("sent %+v", sent)
	}
}

// moved is a life with an ended switchover, then one that is committed; or a failover.
func moved(t *testing.T, v Verb) *site {
	d := switching(t)
	d.ended(SupersedeAnswered{Outcome: Ended, Text: "timed out"})
	for p := int32(0); p < partitions; p++ {
		d.evidence(p, 1, 10, 10)
	}
	d.leave(v)
	if v == VerbSwitchover {
		d.superseded(13, 10)
		d.superseded(12, 10)
		d.progress(0, 12, 12)
		d.progress(1, 10, 10)
		d.tick(tickNs)
	}
	d.local(100)
	if v == VerbFailover {
		d.superseded()
	}
	return d
}

// A crash may keep any prefix of the journal. What comes back asks what it must ask, and ends where the source says.
func TestAnyPrefixOfAMoveResumes(t *testing.T) {
	for _, v := range []Verb{VerbSwitchover, VerbFailover} {
		laws.Check(t, Machine(), "m", moved(t, v).script)
		journal := moved(t, v).journal
		for n := range journal {
			d := newSite(t)
			d.journal = journal[:n+1]
			d.s = d.replayOnly()
			d.do(Republish{})
			effects := d.do(Resume{})
			topic := d.topic()
			if topic == nil {
				continue
			}
			at := fmt.Sprintf("%s after %d entries (%s, %s)", v, n+1, topic.phase(), topic.step())
			asks := len(all[SendSupersede](effects)) == 1
			if waits := topic.Pending == pendingSwitchover || topic.Pending == pendingFailover; asks != waits {
				t.Fatalf("%s: pending %d, asks %v", at, topic.Pending, asks)
			}
			if topic.Pending == pendingSwitchover {
				d.superseded(12, 10)
				d.progress(0, 12, 12)
				d.progress(1, 10, 10)
				d.tick(tickNs)
			}
			if p := d.topic().phase(); p == Stopping {
				d.local(100)
				d.phase(Stopped)
			}
			if topic.verb() == VerbFailover && topic.phase() == Stopping && topic.Era != 1 {
				t.Fatalf("%s: era %d", at, topic.Era)
			}
		}
	}
}
