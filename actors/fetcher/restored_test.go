package fetcher

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// A source that was restored from an older copy counts its epochs again: under the same numbers, and as long as before, it
// has other records. The record where the common history ends says so.
func TestARestoredSourceIsKnownByItsRecords(t *testing.T) { // R11
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 5, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 5)
	adopted := func(session core.MirrorSession, differs bool) {
		t.Helper()
		r.home.change(func() { l.session = session })
		r.mirror(session, mirror.FetchSync)
		r.peer.awaitFetch(func(q peerFetch) bool { return q.Probe && q.Compare == 4 })
		r.home.await(t, "a divergence check of the session", func() bool {
			for _, a := range l.adopts {
				if a.Session == session && a.OfLEO == 5 {
					return a.Differs == differs
				}
			}
			return false
		})
	}
	adopted(2, false)
	r.peer.change(func() {
		log := r.peer.logs[0]
		log.cut(0, log.epoch)
		log.append(2)
		log.append(3)
	})
	adopted(3, true)
}

// Another topic may have the name by the time of a divergence check. What it answers under the name says nothing of ours.
func TestAnswersOfATopicMadeAgainUnderTheNameAreNotAdopted(t *testing.T) { // F34
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 5, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 5)
	r.peer.change(func() {
		log := r.peer.logs[0]
		log.cut(0, log.epoch)
		r.peer.script = func(_ peerFetch, p *messages.FetchResponsePartition) { p.ErrorCode = int16(perr.UnknownTopicId) }
	})
	r.home.change(func() { l.session = 2 })
	probes := 0
	r.mirror(2, mirror.FetchSync)
	r.peer.awaitFetch(func(q peerFetch) bool {
		if q.Probe {
			probes++
		}
		return probes >= 3 // the first one is of session 1; the answer before the last one is dealt with
	})
	r.home.change(func() {
		for _, a := range l.adopts {
			if a.Session == 2 {
				t.Errorf("asked to adopt %+v", a)
			}
		}
	})
}

// The first broker that is asked after a restart of ours has not heard of the newest election: what it says is waited out, and
// a log that was mirrored under the newer epoch is not compared with it. A source that keeps to the lower epoch was restored.
func TestMetadataThatLagsAfterARestartIsWaitedOut(t *testing.T) { // R3
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.home.change(func() { l.adopted = 4 })
	r.peer.change(func() { r.peer.logs[0].epoch = 3 })
	r.mirror(1, mirror.FetchSync)
	r.home.await(t, "a report that an older epoch is stated", func() bool {
		return slices.ContainsFunc(r.home.told, func(c mirror.Command) bool {
			f, ok := c.(mirror.ReportFailure)
			return ok && f.Code == perr.FencedLeaderEpoch && strings.Contains(f.Text, "epoch 3") && strings.Contains(f.Text, "epoch 4")
		})
	})
	r.home.change(func() {
		for _, a := range l.adopts {
			t.Errorf("asked to adopt %+v", a)
		}
	})
	r.peer.change(func() { r.peer.logs[0].epoch = 4 })
	r.peer.produce(0, 3, true)
	r.upTo(0, 3)

	since := time.Now().Add(-lowerAfter)
	f := &fetcher{}
	view := partition.View{Mirroring: true, Adopted: 4}
	if f.waitsForNewer(newCursor(assignment{SourceEpoch: 3, Since: since}), view, since.Add(lowerAfter)) {
		t.Error("a source that stated a lower epoch all the time is waited for still")
	}
}

// The source is restored while the mirror cannot hear it, and comes back under the epoch that is adopted, with more than the
// mirror has. Neither its records nor its silence is used before they were compared, and no floor that was stated to the
// run before is sent to it.
func TestAnotherRunOfTheSourceIsCheckedFirst(t *testing.T) { // R3
	for name, more := range map[string]int{"with records beyond ours": 2, "as long as ours": 0} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, nil)
			r.config["metadata.refresh.interval.ms"] = "60000"
			l := r.home.add(r.id(0), 1)
			r.peer.change(func() { r.peer.logs[0].source = core.Incarnation{1} })
			r.peer.produce(0, 5, true)
			r.home.change(func() {
				l.floor = &highwater.PublishFloor{Mirror: "dr", Epoch: 9, SourceEpoch: 1, SourceIncarnation: core.Incarnation{1}, Floor: 5, ISRSize: 2, MinISR: 2, DestEpoch: 20, Seq: 1}
			})
			r.mirror(1, mirror.FetchSync)
			r.upTo(0, 5)
			r.peer.awaitFetch(func(q peerFetch) bool {
				return len(q.Floors) == 1 && q.Floors[0].Floor == 5 && q.Floors[0].SourceIncarnation == core.Incarnation{1}
			})
			r.peer.change(func() {
				log := r.peer.logs[0]
				log.cut(0, log.epoch)
				log.source = core.Incarnation{2}
				for n := 5 + more; n > 0; n-- {
					log.append(1)
				}
				log.hw = log.end()
			})
			r.home.await(t, "a check against the run that answers", func() bool {
				last := l.adopts[len(l.adopts)-1]
				return last.SourceIncarnation == core.Incarnation{2} && last.SourceEpoch == 1 && last.OfLEO == 5 && last.Differs
			})
			r.home.change(func() {
				if l.adopts[0].SourceIncarnation != (core.Incarnation{1}) {
					t.Errorf("adopted %+v at first", l.adopts[0])
				}
			})
			r.peer.awaitFetch(func(q peerFetch) bool {
				return len(q.Floors) == 1 && q.Floors[0].SourceIncarnation == core.Incarnation{2} && q.Floors[0].Floor < 0
			})
		})
	}
}
