package fetcher

import (
	"math"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func TestAsyncReadsCommittedRecordsOnly(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 3, true)
	r.peer.produce(0, 4, false)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 3)
	r.peer.produce(0, 2, true)
	r.upTo(0, 9)
}

func TestSyncReadsToTheSourcesLEO(t *testing.T) {
	r := newRig(t, 2, nil)
	r.home.add(r.id(0), 1)
	r.home.add(r.id(1), 1)
	r.peer.produce(0, 3, false)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 3)
	r.peer.produce(1, 5, false)
	r.upTo(1, 5)
	r.peer.produce(0, 1, false)
	r.upTo(0, 4)
}

// A consumer-style fetch that is parked at the source's HW would hold up the first sync fetch for as long
// as it parks; the gate waits for floors of records above that HW (model G7).
func TestTheModeChangesAtOnce(t *testing.T) {
	r := newRig(t, 1, nil)
	r.config["fetch.wait.max.ms"], r.config["request.timeout.ms"] = "20000", "30000"
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 1, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 1)
	r.peer.produce(0, 1, false)
	r.peer.awaitFetch(func(q peerFetch) bool { return q.Offset == 1 && q.MaxWait > shortWait })
	begin := time.Now()
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 2)
	if d := time.Since(begin); d > asyncWait/2 {
		t.Errorf("took %v, as long as the consumer-style fetch was parked", d)
	}
}

func TestAFailureAtHomeIsReportedAndPassesBy(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.home.change(func() { l.broken = shell.Failed{Code: perr.KafkaStorageError, Text: "volume full"} })
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchAsync)
	r.home.await(t, "the failure", func() bool {
		return toldOf(r.home, func(c mirror.ReportFailure) bool { return c.Code == perr.KafkaStorageError && c.Text != "" })
	})
	r.home.change(func() { l.broken = nil })
	r.upTo(0, 2)
}

// F04: sync mode reads past the source's HW, so even a clean election makes the logs part.
func TestEverySourceEpochBeginsWithADivergenceCheck(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 3, true)
	r.peer.produce(0, 2, false)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 5)
	r.peer.change(func() {
		r.peer.logs[0].cut(3, 2)
		r.peer.logs[0].append(4)
	})
	r.upTo(0, 7)
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	last := l.adopts[len(l.adopts)-1]
	if last.SourceEpoch != 2 || last.EndEpoch != 1 || last.EndOffset != 3 || !last.Stated {
		t.Errorf("adopted %+v; want source epoch 2, epoch 1 ending at 3, lastUncleanEpoch stated", last)
	}
}

// R2, F52: the source deleted further than we had read. Data goes on behind the gap, and the mirror hears that
// what was promised of the old data is void.
func TestBehindTheSourcesLogStartTheMirrorHearsOfAReset(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 3, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 3)
	r.peer.change(func() {
		l := r.peer.logs[0]
		l.batches, l.start, l.hw = nil, 10, 10
	})
	r.peer.produce(0, 2, true)
	r.upTo(0, 12)
	r.home.await(t, "a reset", func() bool {
		return toldOf(r.home, func(c mirror.ReportReset) bool { return c.ID == r.id(0) && c.Session == 1 && c.Text == "a gap" })
	})
}

// An election that loses nothing must be noticed as well: floors of the old epoch count for nothing there.
func TestACleanElectionWithoutDivergenceIsAdopted(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 3, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 3)
	r.peer.change(func() { r.peer.logs[0].epoch = 2 })
	r.home.await(t, "adoption of epoch 2", func() bool { return l.adopted == 2 })
}

func TestALateAnswerOfAnOldSessionIsNotHandedOn(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 1, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 1)
	// The source answers, and while the answer is on its way a new session begins.
	r.peer.change(func() {
		fired := false
		r.peer.script = func(q peerFetch, p *messages.FetchResponsePartition) {
			if len(p.Records) > 0 && !q.Probe && !fired {
				fired = true
				r.home.change(func() { l.session = 2 })
				r.home.mu.Lock()
				seen := l.views
				r.home.mu.Unlock()
				r.mirror(2, mirror.FetchAsync)
				// The new session has begun once its divergence check looks at our log.
				r.home.await(t, "the new session", func() bool { return l.views > seen })
			}
		}
	})
	r.peer.produce(0, 1, true)
	r.upTo(0, 2)
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	if l.strangers != 0 {
		t.Errorf("%d answers of another session were handed to the partition", l.strangers)
	}
}

// C5, F21.
func TestARefusedSyncFetchKeepsDataFlowing(t *testing.T) {
	for _, code := range []perr.Code{perr.InvalidSyncRegistration, perr.MirrorRegistrationPropagating} {
		t.Run(code.Name(), func(t *testing.T) {
			r := newRig(t, 1, nil)
			r.home.add(r.id(0), 1)
			r.peer.change(func() { r.peer.logs[0].refuse, r.peer.logs[0].release = code, 4 })
			r.peer.produce(0, 2, true)
			r.mirror(1, mirror.FetchSync)
			r.upTo(0, 2)
			r.home.await(t, "the refusal is reported", func() bool {
				return toldOf(r.home, func(c mirror.ReportFailure) bool {
					return c.Code == code && c.Session == 1 && c.Asked > 0 && c.Text == "the source says: "+code.Message()
				})
			})
			if code == perr.InvalidSyncRegistration {
				r.home.await(t, "the release number is reported", func() bool {
					return toldOf(r.home, func(c mirror.ReportReleased) bool { return c.Number == 4 && c.Topics[0] == r.peer.topic })
				})
			}
			r.peer.produce(0, 2, true)
			r.upTo(0, 4)
			r.home.mu.Lock()
			if toldOf(r.home, func(c mirror.ReportProgress) bool { return c.Sync }) {
				t.Error("an async read counts as an answered sync fetch: the clock of a demotion would start again")
			}
			r.home.mu.Unlock()
			r.peer.change(func() { r.peer.logs[0].refuse = 0 })
			r.peer.produce(0, 2, false) // above HW: only a sync fetch sees it
			r.upTo(0, 6)
			r.home.await(t, "an answered sync fetch ends the refusal", func() bool {
				return toldOf(r.home, func(c mirror.ReportProgress) bool { return c.Sync && c.LEO == 6 })
			})
		})
	}
}

func TestAFloorTravelsOnlyUnderItsSourceEpoch(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 3, false)
	stale := highwater.PublishFloor{Mirror: "dr", Epoch: 9, SourceEpoch: 0, Floor: 77, ISRSize: 2, MinISR: 2, DestEpoch: 20, Seq: 1,
		Replicas: []highwater.ReplicaLEO{{Replica: 1, LEO: 77}}, ISR: []core.ReplicaID{1}}
	r.home.change(func() { l.floor = &stale })
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 3)
	fresh := stale
	fresh.SourceEpoch, fresh.Floor, fresh.Seq = 1, 3, 2
	r.peer.awaitFetch(func(q peerFetch) bool { return q.Sync && q.Offset == 3 })
	r.home.change(func() { l.floor = &fresh })
	r.peer.awaitFetch(func(q peerFetch) bool {
		if len(q.Floors) != 1 || q.Floors[0].Floor < 0 {
			return false
		}
		f := q.Floors[0]
		return f.Floor == 3 && f.RegistrationEpoch == 9 && f.SourceEpoch == 1 && f.Seq == 2 && f.IsrSize == 2 && len(q.ISR) == 1
	})
	r.peer.mu.Lock()
	defer r.peer.mu.Unlock()
	for _, q := range r.peer.fetches {
		for _, f := range q.Floors {
			if f.SourceEpoch != 1 || f.Floor == 77 || f.RegistrationEpoch != 9 {
				t.Errorf("floor %+v travelled under adopted epoch %d", f, q.Epoch)
			}
		}
	}
}

func TestOurLeaderEpochIsRaisedAboveTheSources(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.change(func() { r.peer.logs[0].epoch = 40 })
	r.peer.produce(0, 1, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 1)
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	if l.epoch != 50 {
		t.Errorf("our leader epoch is %d, want 50 = source's 40 + 10 (D23)", l.epoch)
	}
}

func TestADivergedPartitionWaitsForANewSession(t *testing.T) {
	r := newRig(t, 2, nil)
	l := r.home.add(r.id(0), 1)
	r.home.add(r.id(1), 1)
	r.peer.produce(0, 5, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 5)
	r.home.change(func() { l.diverge = true })
	r.peer.change(func() { r.peer.logs[0].cut(0, 2) })
	r.home.await(t, "DIVERGED is reported", func() bool {
		return toldOf(r.home, func(c mirror.ReportDiverged) bool { return c.ID == r.id(0) && c.Text != "" })
	})
	r.peer.produce(1, 1, false)
	r.upTo(1, 1)
	r.home.change(func() { l.diverge, l.session = false, 2 })
	r.home.change(func() { r.home.logs[r.id(1)].session = 2 })
	r.peer.produce(0, 2, false)
	r.mirror(2, mirror.FetchSync)
	r.upTo(0, 2)
}

func TestANewLeaderAtHomeIsAlignedWithoutData(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 2)
	r.home.change(func() { l.epoch, l.adopted = l.epoch+1, core.NoEpoch })
	r.home.await(t, "the new leader adopts", func() bool { return l.adopted == 1 })
}

func TestProgressCountsFreshnessFromSending(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.mirror(1, mirror.FetchAsync)
	r.peer.awaitFetch(func(q peerFetch) bool { return !q.Probe && q.MaxWait > shortWait })
	before := r.home.Now().Mono
	parked := 60 * time.Millisecond
	time.AfterFunc(parked, func() { r.peer.produce(0, 2, true) })
	r.upTo(0, 2)
	r.home.await(t, "progress", func() bool {
		return toldOf(r.home, func(c mirror.ReportProgress) bool {
			return c.LEO == 2 && c.SourceHW == 2 && c.Adopted == 1 && c.SourceEpoch == 1 && c.MinISR == 2 && c.ISRSize == 2 && c.Asked <= before
		})
	})
}

// attack-A26.
func TestStatedOffsetsCountOnlyAsFarAsTheyWereShown(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.change(func() {
		r.peer.script = func(_ peerFetch, p *messages.FetchResponsePartition) {
			p.HighWatermark, p.LogStartOffset = math.MaxInt64, math.MaxInt64
		}
	})
	r.peer.produce(0, 3, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 3)
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	if l.statedHW > 3 || l.statedStart > 0 {
		t.Errorf("the partition was told HW %d and log start %d; only 3 and 0 were shown", l.statedHW, l.statedStart)
	}
}

func TestConnectionsMayEndAtAnyTime(t *testing.T) {
	r := newRig(t, 2, nil)
	r.home.add(r.id(0), 1)
	r.home.add(r.id(1), 1)
	r.mirror(1, mirror.FetchSync)
	for i := range 5 {
		r.peer.produce(i%2, 2, false)
		r.peer.dropConnections()
		r.upTo(i%2, core.Offset(2*(i/2+1)))
	}
}

// A peer that speaks only the KIP states nothing: R11 needs to know.
func TestAPlainPeerStatesNothing(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.change(func() { r.peer.logs[0].plain = true })
	r.peer.produce(0, 2, false)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 2)
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	if a := l.adopts[0]; a.Stated || a.LastUnclean != core.NoEpoch {
		t.Errorf("adopted as %+v, but the source stated nothing of unclean elections", a)
	}
}

// An older Kafka is mirrored asynchronously: the fetcher never sends it what it does not know.
func TestAnOlderSourceIsReadLikeAConsumer(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.change(func() { r.peer.newest = 13 })
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 2)
}

func TestCloseEndsEveryConnection(t *testing.T) {
	r := newRig(t, 2, nil)
	r.home.add(r.id(0), 1)
	r.home.add(r.id(1), 1)
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 2)
	r.fetchers.Close()
	r.peer.ln.Close()
	r.peer.serving.Wait() // ends only when every connection has ended
}
