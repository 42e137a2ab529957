package broker

import (
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

func TestAnAckIsTimedFromItsAppendToEachThingItWaitsFor(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	re := r.register(id, 1)
	leader := r.leader(id)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	waiting := r.send(leader, -1, "gated")
	r.eventually("it waits for nothing but the mirror", func() bool {
		return r.AckStage(StageLeader).Count == 1 && r.AckStage(StageISR).Count == 1
	})
	if n := r.AckStage(StageMirrors).Count + r.AckStage(StageTotal).Count; n != 0 {
		t.Fatalf("%d counted before the floor", n)
	}
	r.floor(id, re, leader.View().LEO, 1)
	<-waiting
	r.eventually("the ack is counted", func() bool { return r.AckStage(StageTotal).Count == 1 })
	waits := r.AckWaits()
	if len(waits) != 1 || waits[0].Topic != id.Topic || waits[0].Count != 1 || r.AckStage(StageMirrors).Count != 1 {
		t.Fatalf("%+v, mirrors %+v", waits, r.AckStage(StageMirrors))
	}
	if waits[0].Sum > r.AckStage(StageTotal).Sum {
		t.Errorf("waited %s for the mirror, %s in all", waits[0].Sum, r.AckStage(StageTotal).Sum)
	}
}

func TestAckTimingFollowsWhatTheMachineSays(t *testing.T) {
	r := memoryRig(t, 1)
	key := core.MirrorKey{Cluster: "dc2", Mirror: "dr"}
	timing := func() *ackTiming {
		w := &ackTiming{replica: &Replica{id: core.PartitionID{Topic: core.TopicID{1}}, broker: r.brokers[0]}}
		r.stats.waits = nil
		w.observe(highwater.LeaderBegan{Started: highwater.LeaderStarted{Epoch: 3, Self: 1}})
		w.observe(highwater.ImageArrived{Image: highwater.AppliedImage{Epoch: 3, Version: 1, ISR: []core.ReplicaID{1}, Gates: []highwater.Gate{{Key: key}}}})
		return w
	}
	park := func(w *ackTiming, ref core.RequestID, offset core.Offset) {
		w.observe(highwater.AckParked{Waiter: highwater.Waiter{Ref: ref, Offset: offset, Deadline: 1}})
	}
	floor := func(w *ackTiming, offset core.Offset, after time.Duration) {
		w.observe(highwater.FloorHeard{Report: highwater.ReportFloor{Key: key, Floor: offset}, At: r.Now().Mono + int64(after)})
	}
	counted := func() int64 {
		n := int64(0)
		for _, w := range r.AckWaits() {
			n += w.Count
		}
		return n
	}

	w := timing()
	for i := core.Offset(1); i <= 5; i++ {
		park(w, core.RequestID(i), i)
	}
	floor(w, 2, time.Second)
	floor(w, 2, time.Second)
	floor(w, 1, time.Second)
	if n := counted(); n != 2 {
		t.Errorf("a floor of 2, repeated and followed by an older one, counts %d batches", n)
	}
	w.observe(highwater.AcksConfirmed{UpTo: 2})
	w.observe(highwater.AcksDropped{Refs: []core.RequestID{4}})
	if n := counted(); n != 3 {
		t.Errorf("a batch that was given up is left out: %d", n)
	}
	floor(w, 5, time.Second)
	if n := counted(); n != 5 {
		t.Errorf("after a floor of 5: %d", n)
	}
	w.observe(highwater.AcksConfirmed{UpTo: 5})
	if n := counted(); n != 5 || len(w.waiting) != 0 {
		t.Errorf("confirmed batches are counted again: %d, waiting %v", n, w.waiting)
	}

	w = timing()
	park(w, 1, 7)
	w.observe(highwater.SteppedDown{})
	w.observe(highwater.AcksConfirmed{UpTo: 7})
	if n := counted(); n != 0 {
		t.Errorf("a batch of an ended term counts: %d", n)
	}

	// An image of the next epoch comes before the epoch does.
	w = timing()
	w.observe(highwater.ImageArrived{Image: highwater.AppliedImage{Epoch: 4, Version: 2, ISR: []core.ReplicaID{1}}})
	park(w, 1, 7)
	w.observe(highwater.LeaderBegan{Started: highwater.LeaderStarted{Epoch: 4, Self: 1}})
	if len(w.gates) != 0 || len(w.waiting) != 0 || w.image.Epoch != 4 {
		t.Errorf("in the next epoch: %+v", w)
	}
	park(w, 2, 8)
	w.observe(highwater.AcksConfirmed{UpTo: 8})
	if n := counted(); n != 0 {
		t.Errorf("a mirror that no longer gates was waited for: %d", n)
	}
}

func TestLagInSecondsCountsFromTheFirstSightOfWhatIsMissing(t *testing.T) {
	var tr track
	at := func(second int64, source, here core.Offset) int64 {
		tr.note(mirror.ProgressReported{Report: mirror.ReportProgress{SourceHW: source, LEO: here}, At: second * 1e9})
		if len(tr.ahead) == 0 {
			return 0
		}
		return second - tr.ahead[0].at/1e9
	}
	for i, step := range []struct {
		second       int64
		source, here core.Offset
		behind       int64
	}{
		{1, 10, 10, 0}, {2, 20, 10, 0}, {5, 30, 10, 3}, {6, 30, 20, 1}, {7, 30, 25, 2}, {8, 30, 30, 0}, {9, 30, 40, 0},
		{10, 50, 40, 0}, {12, 45, 40, 0}, {13, 45, 40, 1}, {14, 45, 45, 0},
	} {
		if got := at(step.second, step.source, step.here); got != step.behind {
			t.Errorf("step %d: %d s behind, want %d", i, got, step.behind)
		}
	}
	for i := core.Offset(0); i < 10*aheadMost; i++ {
		at(100+int64(i), 1000+i, 0)
	}
	if len(tr.ahead) > aheadMost || tr.ahead[0].at != 100e9 {
		t.Errorf("%d sightings are kept, the oldest of second %d", len(tr.ahead), tr.ahead[0].at/1e9)
	}
}

func TestWhyAMirrorWasTurnedDownIsCounted(t *testing.T) {
	var all stats
	s := all.mirror("dr")
	for _, ev := range []mirror.Event{
		mirror.RegisterRefused{Code: int16(perr.MirrorSyncVersionMismatch)}, mirror.RegisterRefused{Code: int16(perr.MirrorSyncReleasedRequiresFreshPromotion)},
		mirror.RegisterRefused{Code: int16(perr.MirrorNameInUse)}, mirror.TopicUnclaimed{Reason: 2}, mirror.TopicUnclaimed{Reason: 3}, mirror.TopicUnclaimed{Reason: 1},
	} {
		s.observe(ev)
	}
	want := map[string]int64{RejectedVersionMismatch: 1, RejectedReleased: 2, RejectedFailing: 1, "MIRROR_NAME_IN_USE": 1}
	if len(s.rejected) != len(want) {
		t.Errorf("%v", s.rejected)
	}
	for reason, n := range want {
		if s.rejected[reason] != n {
			t.Errorf("%s: %d, want %d", reason, s.rejected[reason], n)
		}
	}
}

func TestISRChangesAndElectionsAreCounted(t *testing.T) {
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	before := r.Elections()
	r.command(r.StopBroker, leader.Broker())
	r.eventually("a shrink and a new leader", func() bool {
		e := r.Elections()
		return e.ISRShrinks > before.ISRShrinks && e.NewLeaders == before.NewLeaders+1
	})
	r.command(r.StartBroker, leader.Broker())
	r.eventually("an expansion", func() bool { return r.Elections().ISRExpands > before.ISRExpands && len(r.isr(id)) == 3 })
	if e := r.Elections(); e.Unclean != 0 {
		t.Errorf("%+v", e)
	}
	var s stats
	img := image.ApplyAll(image.Empty(), []image.Fact{image.TopicChanged{Topic: image.Topic{ID: id.Topic, Partitions: []image.Partition{{Leader: 1, LastUnclean: core.NoEpoch}}}}})
	s.published(img, controller.Publish{Facts: []image.Fact{image.PartitionChanged{ID: id, Partition: image.Partition{Leader: 2, LastUnclean: 4}}}})
	if s.elections.unclean.Load() != 1 {
		t.Error("an unclean election is not counted")
	}
}

// BenchmarkAckTiming is what the metrics cost one acknowledged batch of three replicas and one mirror.
func BenchmarkAckTiming(b *testing.B) {
	clock := shell.NewRealClock()
	defer clock.Close()
	c := &Cluster{system: &shell.System{Clock: clock}}
	key := core.MirrorKey{Cluster: "dc2", Mirror: "dr"}
	w := &ackTiming{replica: &Replica{id: core.PartitionID{Topic: core.TopicID{1}}, broker: &Broker{cluster: c}}}
	w.observe(highwater.LeaderBegan{Started: highwater.LeaderStarted{Epoch: 1, Self: 1}})
	w.observe(highwater.ImageArrived{Image: highwater.AppliedImage{Epoch: 1, Version: 1, ISR: []core.ReplicaID{1, 2, 3}, Gates: []highwater.Gate{{Key: key}}}})
	at := core.Offset(0)
	for b.Loop() {
		at++
		w.observe(highwater.AckParked{Waiter: highwater.Waiter{Ref: core.RequestID(at), Offset: at, Deadline: 1}})
		now := c.Now().Mono
		for id := core.ReplicaID(1); id <= 3; id++ {
			w.observe(highwater.ReplicaProgressed{Replica: id, LEO: at, At: now})
		}
		w.observe(highwater.FloorHeard{Report: highwater.ReportFloor{Key: key, Floor: at}, At: now})
		w.observe(highwater.AcksConfirmed{UpTo: at})
	}
}
