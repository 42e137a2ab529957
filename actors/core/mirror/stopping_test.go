package mirror

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

func (d *site) stop() TopicResult {
	d.t.Helper()
	return last[TopicsAnswered](d.t, d.do(StopTopics{Topics: []core.TopicID{topicA}})).Topics[0]
}

// local answers whatever was asked of this cluster's partitions, at most n asks, and returns what it answered.
func (d *site) local(n int) (order []string) {
	d.t.Helper()
	for range 50 { // whatever is not asked now is asked again
		if len(all[FencePartition](d.effects))+len(all[RaiseEpoch](d.effects))+len(all[WritePidReset](d.effects)) > 0 {
			break
		}
		d.tick(tickNs)
	}
	asks := d.effects
	for len(asks) > 0 && len(order) < n {
		e := asks[0]
		asks = asks[1:]
		var effects []Effect
		switch e := e.(type) {
		case FencePartition:
			order = append(order, fmt.Sprintf("fence %d", e.ID.Index))
			effects = d.do(FenceAnswered{ID: e.ID, OK: true, LME: 5, LEO: 10, Epoch: 15})
		case RaiseEpoch:
			order = append(order, fmt.Sprintf("raise %d to %d", e.ID.Index, e.Min))
			effects = d.do(EpochAnswered{ID: e.ID, Epoch: e.Min})
		case WritePidReset:
			order = append(order, fmt.Sprintf("reset %d keep %d", e.ID.Index, e.Keep))
			effects = d.do(ResetAnswered{ID: e.ID, OK: true})
		case Publish:
			if s := e.Facts[0].(image.MirrorTopicChanged).Topic.State; s != image.MirrorMirroring {
				order = append(order, fmt.Sprintf("publish state %d", s))
			}
		}
		asks = append(asks, effects...)
	}
	return order
}

// C9: the order of a stop, with the Unregister answered and its ends mirrored first (C8, model W5).
func TestStopRunsInOrder(t *testing.T) {
	d := synced(t)
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	warning := d.stop().Warning
	if !strings.Contains(warning, "goes on acknowledging") {
		t.Fatalf("warning %q", warning)
	}
	if got := d.describe(); got.Effective != TypeAsync || got.Phase != Stopping {
		t.Fatalf("still claimed: %+v", got)
	}
	sent := all[SendUnregister](d.effects)
	if len(sent) != 0 { // describe replaced the effects
		t.Fatal("unexpected")
	}
	sent = all[SendUnregister](d.all)
	if len(sent) != 1 || !sent[0].Stop || sent[0].Deadline != d.now.Mono+stopTellNs {
		t.Fatalf("sent %+v", sent)
	}
	effects := d.do(UnregisterAnswered{Topic: topicA, Generation: 2, LEO: []core.Offset{13, core.Unknown}})
	if len(all[FencePartition](effects)) != 0 || d.mode() == FetchOff {
		t.Fatal("fetchers removed below the source's end at un-gating")
	}
	d.progress(0, 12, 13)
	if effects = d.tick(tickNs); len(all[FencePartition](effects)) != 0 {
		t.Fatal("fenced at 12, the source ended at 13")
	}
	d.progress(0, 13, 13)
	d.tick(tickNs)
	if d.mode() != FetchOff {
		t.Fatal("still fetching while fenced")
	}
	got := strings.Join(d.local(100), ", ")
	want := "fence 0, fence 1, raise 0 to 1024, raise 1 to 1024, publish state 6, reset 0 keep 1, reset 1 keep 1, publish state 7"
	if got != want {
		t.Fatalf("did %s\nwant %s", got, want)
	}
	if got := d.describe(); got.Phase != Stopped || got.Partitions[0].LastMirroredEpoch != 5 {
		t.Fatalf("%+v", got)
	}
}

// C9: a crash after any step goes on at that step: nothing is skipped, nothing durable is done twice.
func TestStopResumesAtEveryStep(t *testing.T) {
	for crash := 0; crash < 8; crash++ {
		t.Run(fmt.Sprintf("after %d answers", crash), func(t *testing.T) {
			d := synced(t)
			d.stop()
			d.do(UnregisterAnswered{Topic: topicA, Generation: 2})
			done := map[string]int{}
			for _, o := range d.local(crash) {
				done[o]++
			}
			d.restart()
			for _, o := range d.local(100) {
				done[o]++
			}
			if d.topic().phase() != Stopped {
				t.Fatalf("phase %s at step %s, did %v", d.topic().phase(), d.topic().step(), done)
			}
			for _, p := range d.topic().Partitions {
				if p.LME != 5 || !p.Fenced || !p.Raised || !p.Reset {
					t.Fatalf("partition %+v", p)
				}
			}
			if n := len(all[SendUnregister](d.all)); n != 1 {
				t.Fatalf("%d Unregisters", n)
			}
		})
	}
}

// C8, models W7 and W9: one Unregister, withdrawn at its deadline, never sent again: not by a retry, not by a
// restart, not after this copy has opened.
func TestW9UnregisterOfAStopIsWithdrawn(t *testing.T) {
	d := synced(t)
	d.stop()
	effects := d.tick(stopTellNs - tickNs)
	if len(all[FencePartition](effects)) != 0 {
		t.Fatal("went on before the deadline")
	}
	if len(all[FencePartition](d.tick(tickNs))) != partitions {
		t.Fatal("did not go on at the deadline")
	}
	d.local(100)
	d.phase(Stopped)
	d.tick(60e9)
	d.restart()
	if text := d.describe().ErrorMessage; !strings.Contains(text, "--release-sync --mirror m") {
		t.Errorf("what its source was not told: %q", text)
	}
	if n := len(all[SendUnregister](d.all)); n != 1 {
		t.Fatalf("%d Unregisters", n)
	}
	d.do(UnregisterAnswered{Topic: topicA, Generation: 2, LEO: []core.Offset{99, 99}})
	d.phase(Stopped)

	d = synced(t)
	d.stop()
	if len(all[SendUnregister](d.restart())) != 0 {
		t.Fatal("a restart sent the Unregister again")
	}
	if len(all[FencePartition](d.tick(stopTellNs-tickNs))) != 0 {
		t.Fatal("opened while the Unregister of the process before may still be on its way")
	}
	if len(all[FencePartition](d.tick(tickNs))) != partitions || len(all[SendUnregister](d.all)) != 1 {
		t.Fatal("did not go on, or sent again")
	}
}

// C8: with a source that has been silent for a lease nothing is sent: the standing registration keeps an isolated
// source from acknowledging.
func TestStopWithADeadSourceTellsNobody(t *testing.T) {
	d := synced(t)
	d.tick(11e9)
	if w := d.stop().Warning; w != "" {
		t.Fatalf("warning %q", w)
	}
	if len(all[SendUnregister](d.all)) != 0 || len(all[FencePartition](d.all)) != partitions {
		t.Fatal("waited for a dead source")
	}
	d.local(100)
	d.phase(Stopped)
	if text := d.describe().ErrorMessage; !strings.Contains(text, "--release-sync --mirror m") {
		t.Errorf("what its source was not told: %q", text)
	}
}

// A source that dies while its end is mirrored does not hold the stop up.
func TestDrainGivesUpWithTheSource(t *testing.T) {
	d := synced(t)
	d.stop()
	d.do(UnregisterAnswered{Topic: topicA, Generation: 2, LEO: []core.Offset{20, 20}})
	d.tick(9e9)
	if d.topic().step() != StepDrain {
		t.Fatalf("step %s", d.topic().step())
	}
	d.tick(3e9)
	d.local(100)
	if got := d.describe(); got.Phase != Stopped || !strings.Contains(got.ErrorMessage, "offset 20, where the source ended") {
		t.Fatalf("%+v", got)
	}
}

// C8: stop is legal from every state.
func TestStopIsLegalFromEveryState(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(*testing.T) *site
	}{
		{"ASYNC", func(t *testing.T) *site { return started(t, TypeAsync) }},
		{"CATCHING_UP", func(t *testing.T) *site { return started(t, TypeSync) }},
		{"REGISTERING", registering},
		{"ARMING", func(t *testing.T) *site { d := registering(t); d.admit(1); return d }},
		{"SYNC", synced},
		{"DEMOTING", func(t *testing.T) *site {
			d := synced(t)
			d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
			return d
		}},
		{"DIVERGED", func(t *testing.T) *site {
			d := synced(t)
			d.do(ReportDiverged{ID: id(0), Session: 1, Text: "x"})
			return d
		}},
		{"FAILED", func(t *testing.T) *site {
			d := synced(t)
			d.do(ReportRejected{ID: id(0), Session: 1, Text: "x"})
			return d
		}},
		{"ORPHANED", func(t *testing.T) *site {
			d := synced(t)
			d.do(ReportSourceTopicGone{Topic: topicA, Text: "x"})
			return d
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := row.make(t)
			d.phase(map[string]Phase{"ASYNC": Async, "CATCHING_UP": CatchingUp, "REGISTERING": Registering, "ARMING": Arming, "SYNC": Sync, "DEMOTING": Demoting, "DIVERGED": Diverged, "FAILED": Failed, "ORPHANED": Orphaned}[row.name])
			if got := d.stop(); got.Code != perr.None {
				t.Fatalf("answered %+v", got)
			}
			d.tick(stopTellNs + tickNs)
			d.restart()
			d.local(100)
			d.phase(Stopped)
			if d.mode() != FetchOff || d.published().State != image.MirrorStopped || d.published().Reporting {
				t.Fatalf("mode %d, published %+v", d.mode(), d.published())
			}
		})
	}
}

// C9: LME is written once. A second answer, after our own control batches, would name our own epoch.
func TestLMEIsWrittenOnce(t *testing.T) {
	d := synced(t)
	d.tick(11e9)
	d.stop()
	d.do(FenceAnswered{ID: id(0), OK: true, LME: 5, LEO: 10, Epoch: 15})
	d.do(FenceAnswered{ID: id(0), OK: true, LME: 1024, LEO: 12, Epoch: 1024})
	if p := d.topic().Partitions[0]; p.LME != 5 || p.Target != 1024 {
		t.Fatalf("%+v", p)
	}
}

// D23, F48: above every epoch seen, mirrored, adopted or our own.
func TestEpochRisesAboveEveryEpochSeen(t *testing.T) {
	for _, row := range []struct {
		local, source, lme, want core.LeaderEpoch
	}{{15, 5, 5, 1024}, {15, 1023, 1023, 1024}, {15, 1024, 5, 2048}, {3000, 5, 5, 3072}, {1, 2, 2047, 2048}} {
		d := started(t, TypeAsync)
		d.report(0, func(r *ReportProgress) { r.SourceEpoch, r.Adopted, r.LocalEpoch = row.source, row.source, 1 })
		d.stop()
		d.do(FenceAnswered{ID: id(0), OK: true, LME: row.lme, LEO: 10, Epoch: row.local})
		if p := d.topic().Partitions[0]; p.Target != row.want {
			t.Fatalf("%+v: target %d", row, p.Target)
		}
	}
}

// C13: producer state survives where this copy was armed and not known to be released.
func TestKeepFollowsArmingAndRelease(t *testing.T) {
	for _, row := range []struct {
		name string
		make func() *site
		want []partition.KeepProducers
	}{
		{"never armed", func() *site { return started(t, TypeAsync) }, []partition.KeepProducers{0, 0}},
		{"one armed", func() *site { d := registering(t); d.admit(1); d.evidence(1, 1, 10, 10); return d }, []partition.KeepProducers{0, 1}},
		{"armed", func() *site { return synced(t) }, []partition.KeepProducers{1, 1}},
		{"armed, then demoted", func() *site {
			d := synced(t)
			d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
			d.unregistered()
			return d
		}, []partition.KeepProducers{0, 0}},
		{"armed, then released", func() *site { d := synced(t); d.do(ReportReleased{Number: 1}); return d }, []partition.KeepProducers{0, 0}},
		{"released while stopping", func() *site { d := synced(t); d.stop(); d.do(ReportReleased{Number: 1}); return d }, []partition.KeepProducers{0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := row.make()
			d.tick(11e9)
			d.stop()
			for p := int32(0); p < partitions; p++ {
				d.do(FenceAnswered{ID: id(p), OK: true, LME: 5, LEO: 10, Epoch: 15})
				if got := d.topic().Partitions[p].keep(); got != row.want[p] {
					t.Fatalf("partition %d keeps %d, want %d", p, got, row.want[p])
				}
			}
		})
	}
}

// TestAStopMakesThePartitionsItWaitsFor: the source had added partitions, and the cluster died before they were made here.
// The stop waited for leaders of partitions that nobody made any more, and a failover never ended (testkit sim, I65 of seed
// 0xff1c204ad9ace02c).
func TestAStopMakesThePartitionsItWaitsFor(t *testing.T) {
	d := synced(t)
	d.do(ReportPartitions{Topic: topicA, Count: partitions + 1})
	d.do(StopTopics{Topics: []core.TopicID{topicA}, Verb: VerbFailover})
	d.restart()
	asked := len(all[GrowLocalTopic](d.all))
	d.tick(2 * driveNs)
	if g := all[GrowLocalTopic](d.all); len(g) == asked || g[len(g)-1].Count != partitions+1 {
		t.Fatalf("asked for %+v, %d of them before the restart", g, asked)
	}
	d.do(LocalTopicGrown{Topic: topicA, Count: partitions + 1, Code: perr.PolicyViolation})
	d.phase(Stopping)
	d.do(LocalTopicGrown{Topic: topicA, Count: partitions + 1})
	before := len(all[GrowLocalTopic](d.all))
	d.tick(2 * driveNs)
	if n := len(all[GrowLocalTopic](d.all)); n != before {
		t.Errorf("asked again for what is there")
	}
	for p := range int32(partitions + 1) {
		d.do(FenceAnswered{ID: id(p), OK: true, LEO: 10, LME: 1, Epoch: 1})
	}
	if step := d.topic().step(); step != StepEpoch {
		t.Errorf("with every partition fenced the stop is at %v", step)
	}
}

// Asks that went nowhere (no leader) are repeated.
func TestUnansweredAsksAreRepeated(t *testing.T) {
	d := started(t, TypeAsync)
	d.stop()
	d.do(FenceAnswered{ID: id(0), OK: false, Text: "no leader"})
	if n := len(all[FencePartition](d.tick(3e9))); n < 2*partitions {
		t.Fatalf("asked %d times in 3 s", n)
	}
}

// What kept a topic from SYNC, and what its operator may do about it, is not said of one that was stopped.
func TestAStoppedTopicDoesNotShowWhyItWasNotMirrored(t *testing.T) {
	d := started(t, TypeAsync)
	d.do(ReportSourceTopicGone{Topic: topicA, Text: "the source no longer has topic a"})
	if got := d.describe(); got.Phase != Orphaned || got.ErrorMessage == "" {
		t.Fatalf("while it is ORPHANED: %+v", got)
	}
	d.stop()
	d.local(100)
	if got := d.describe(); got.Phase != Stopped || got.ErrorMessage != "" {
		t.Errorf("once it is stopped: %+v", got)
	}
}

// A failover is asked for because the source does not answer; once it is over, that is no error of the topic.
func TestAStoppedTopicShowsNoErrorOfItsSource(t *testing.T) {
	d := started(t, TypeAsync)
	refuse(d, 0, perr.NetworkException)
	if p := d.describe().Partitions[0]; !p.Failing || p.ErrorMessage == "" || p.RetryAttempt == 0 {
		t.Fatalf("while it is mirrored: %+v", p)
	}
	d.stop()
	d.local(100)
	if got := d.describe(); got.Phase != Stopped || got.ErrorMessage != "" || got.Partitions[0].Failing || got.Partitions[0].ErrorMessage != "" || got.Partitions[0].RetryAttempt != 0 {
		t.Errorf("once it is stopped: %+v", got)
	}
}

func TestStoppedMirrorCanBeDeletedAndOnlyThen(t *testing.T) {
	d := started(t, TypeAsync)
	if got := last[Answered](t, d.do(DeleteMirror{})); got.Code != perr.ClusterMirrorNotEmpty {
		t.Fatalf("answered %+v", got)
	}
	d.stop()
	d.local(100)
	if got := last[Answered](t, d.do(DeleteMirror{})); got.Code != perr.None || d.published().State != image.MirrorNone {
		t.Fatalf("answered %+v", got)
	}
	d.restart()
	if last[Described](t, d.do(Describe{})).Mirror.Exists {
		t.Fatal("still there")
	}
}
