package bus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

func gating(start, floor int64, waiters bool) []Evidence {
	e := messages.PartitionEvidence{SourceEpoch: 3, RegistrationEpoch: 5, Gating: true, GateStart: start, FloorAccepted: floor, HasWaiters: waiters, TimeMs: 1000, TimeIndex: 8}
	return []Evidence{{Key: core.MirrorKey{Cluster: "dst", Mirror: "dr"}, Body: e}}
}

func evidenceFor(w *world, ok func(mirror.ReportEvidence) bool) func() bool {
	return func() bool {
		for _, c := range w.told {
			if e, is := c.(mirror.ReportEvidence); is && ok(e) {
				return true
			}
		}
		return false
	}
}

// F19: contact counts from when the floor left that the evidence answers.
func TestEvidenceEchoesTheFloorItAnswers(t *testing.T) {
	w := newWorld(t)
	src, dst := w.pair(time.Hour)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the floor", func() bool { return w.newest[id(1)].Floor == 100 })
	w.change(func() { w.evidence[id(1)] = gating(90, 100, false) })
	before := w.Now().Mono
	src.GatesChanged(id(1))
	w.await("evidence", evidenceFor(w, func(e mirror.ReportEvidence) bool {
		return e.ID == id(1) && e.Epoch == 5 && e.SourceEpoch == 3 && e.GateStart == 90 && e.Floor == 100 &&
			e.T == mirror.ClaimTime{Clock: 1000, Index: 8} && e.Sent > 0 && e.Sent <= before
	}))
}

func TestAnEchoOfAnotherProcessProvesNoContact(t *testing.T) {
	w := newWorld(t)
	src, dst := w.pair(time.Hour)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the floor", func() bool { return len(w.floors) >= 1 })
	nc, err := nats.Connect(src.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	say := func(sender [16]byte, mono int64, from, to string) {
		m := &messages.GateEvidence{SourceCluster: from, DestinationCluster: to, MirrorName: "dr", Sender: sender, SentMono: mono,
			Topics: []messages.GateEvidenceTopic{{TopicId: id(1).Topic, Partitions: []messages.GateEvidencePartition{{Partition: 1, Evidence: gating(90, 100, false)[0].Body}, {Partition: 2, Evidence: gating(90, 100, false)[0].Body}}}}}
		if err := nc.Publish(evidenceSubject("src", "dst"), messages.EncodeBus(m)); err != nil {
			t.Fatal(err)
		}
	}
	say(dst.sender, 1, "else", "dst")
	say(dst.sender, 1, "src", "else")
	say([16]byte{1}, 1, "src", "dst")
	say(dst.sender, 1<<62, "src", "dst")
	say(dst.sender, 1, "src", "dst")
	sorted := func() (evidence []mirror.ReportEvidence, hints []mirror.ReportUnknownPartition) {
		for _, c := range w.told {
			switch c := c.(type) {
			case mirror.ReportEvidence:
				evidence = append(evidence, c)
			case mirror.ReportUnknownPartition:
				hints = append(hints, c)
			}
		}
		return evidence, hints
	}
	w.await("three pieces of evidence", func() bool {
		evidence, hints := sorted()
		return len(evidence) >= 3 && len(hints) >= 3 && evidence[len(evidence)-1].Sent == 1
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	evidence, hints := sorted()
	if len(evidence) != 3 || len(hints) != 3 || len(w.told) != 6 {
		t.Fatalf("told %v; two were addressed to others, and partition 2 was never reported", w.told)
	}
	for i, want := range []int64{0, 0, 1} {
		if e := evidence[i]; e.Sent != want || e.ID != id(1) {
			t.Errorf("evidence %d: %+v, want sent %d", i, e, want)
		}
		if hints[i].ID != id(2) {
			t.Errorf("hint %d is about %v", i, hints[i].ID)
		}
	}
}

func TestWaitersMakeADestinationRepeatItsFloor(t *testing.T) {
	w := newWorld(t)
	src, dst := w.pair(time.Hour)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the floor", func() bool { return len(w.floors) >= 1 })
	w.change(func() { w.evidence[id(1)] = gating(90, 100, true) })
	src.GatesChanged(id(1))
	w.await("repeats", func() bool { return len(w.floors) >= 4 })
}

// Under load gates change with every ack: evidence of it is for people, and does not travel each time.
func TestEvidenceThatChangesNoMindIsPaced(t *testing.T) {
	w := newWorld(t)
	src, dst := w.pair(time.Hour)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the floor", func() bool { return len(w.floors) >= 1 })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	first := time.Now()
	for i := range int64(200) {
		w.change(func() { w.evidence[id(1)] = gating(90, 100+i, i%2 == 0) })
		src.GatesChanged(id(1))
		<-tick.C
	}
	w.await("the last", evidenceFor(w, func(e mirror.ReportEvidence) bool { return e.Floor == 299 }))
	w.mu.Lock()
	n := len(w.told)
	w.mu.Unlock()
	// A busy machine takes longer over the 200 changes, and more is due meanwhile.
	if took := time.Since(first); n > 12+2*int(took/evidenceEvery) {
		t.Errorf("%d pieces of evidence in %v", n, took)
	}
	fastest := time.Hour
	for start := int64(400); start < 410 && fastest > evidenceEvery; start++ {
		w.change(func() { w.evidence[id(1)] = gating(start, 300, false) })
		begin := time.Now()
		src.GatesChanged(id(1))
		w.await("a new gate start", evidenceFor(w, func(e mirror.ReportEvidence) bool { return e.GateStart == core.Offset(start) }))
		fastest = min(fastest, time.Since(begin))
	}
	if fastest > evidenceEvery {
		t.Errorf("news took %v at best", fastest)
	}
}

// T moves on although nothing else does: a claim must not run out of its lease while both sides live.
func TestEvidenceIsRepeatedEveryThirdOfALease(t *testing.T) {
	w := newWorld(t)
	src, dst := w.pair(900 * time.Millisecond)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the floor", func() bool { return len(w.floors) >= 1 })
	w.change(func() { w.evidence[id(1)] = gating(90, 100, false) })
	src.GatesChanged(id(1))
	w.await("three times", func() bool { return len(w.told) >= 3 })
	w.change(func() { w.evidence[id(1)] = nil })
	src.GatesChanged(id(1))
	n := 0
	w.await("silence begins", func() bool {
		src.inlet.mu.Lock()
		n = len(src.inlet.gated)
		src.inlet.mu.Unlock()
		return n == 0 || len(w.told) > 20
	})
	if n != 0 {
		t.Error("evidence of a gate that is gone goes on")
	}
}

func TestAReleaseIsNotified(t *testing.T) {
	w := newWorld(t)
	src, _ := w.pair(time.Hour)
	src.Released(core.MirrorKey{Cluster: "dst", Mirror: "dr"}, 4, []core.TopicID{{9}})
	w.await("the notice", func() bool {
		for _, c := range w.told {
			if r, ok := c.(mirror.ReportReleased); ok && r.Number == 4 && len(r.Topics) == 1 && r.Topics[0] == (core.TopicID{9}) {
				return true
			}
		}
		return false
	})
}

func TestALiftedHoldIsNotified(t *testing.T) {
	w := newWorld(t)
	src, _ := w.pair(time.Hour)
	src.Lifted(core.MirrorKey{Cluster: "dst", Mirror: "dr"}, []core.TopicID{{9}})
	w.await("the notice", func() bool {
		for _, c := range w.told {
			if r, ok := c.(mirror.ReportLifted); ok && len(r.Topics) == 1 && r.Topics[0] == (core.TopicID{9}) {
				return true
			}
		}
		return false
	})
}
