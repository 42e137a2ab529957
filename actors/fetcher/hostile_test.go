package fetcher

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Fault row 17: the connection ends after n bytes of an answer, for every n of a short one.
func TestAnAnswerCutAfterAnyByteHasNoEffect(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.config["fetch.wait.max.ms"] = "50"
	r.peer.produce(0, 2, true)
	var cut, whole atomic.Int64
	r.peer.change(func() {
		r.peer.mangle = func(key int16, frame []byte) []byte {
			if key != messages.KeyFetch || len(frame) < 100 || cut.Load() >= int64(len(frame)) {
				return frame
			}
			whole.Store(int64(len(frame)))
			n := cut.Add(7) // every byte would take as many reconnects as bytes; 7 meets every field
			r.peer.cutShort = true
			return frame[:min(n, int64(len(frame)))]
		}
	})
	r.fast()
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 2)
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	if cut.Load() < whole.Load() || whole.Load() == 0 {
		t.Errorf("only %d of %d bytes were cut at", cut.Load(), whole.Load())
	}
	if l.strangers != 0 || l.appends == 0 {
		t.Errorf("%d appends, %d of them strangers", l.appends, l.strangers)
	}
}

func TestBatchesThatDoNotFitAreDropped(t *testing.T) {
	good := func(base int64, epoch int32) []byte {
		b := testBatch(2)
		batch.Stamp(b, base, epoch)
		return b
	}
	cases := []struct {
		name    string
		records func() []byte
	}{
		{"flipped bit", func() []byte { b := good(2, 1); b[len(b)-1] ^= 1; return b }},
		{"gap", func() []byte { return good(3, 1) }},
		{"overlap", func() []byte { return good(1, 1) }},
		{"older epoch", func() []byte { return good(2, 0) }},
		{"newer epoch than the leader's", func() []byte { return good(2, 2) }},
		{"old format", func() []byte { b := good(2, 1); b[16] = 1; return b }},
		{"length shorter than a header", func() []byte { b := good(2, 1); binary.BigEndian.PutUint32(b[8:], 3); return b }},
		{"negative length", func() []byte { b := good(2, 1); binary.BigEndian.PutUint32(b[8:], 1<<31); return b }},
		{"length beyond the answer", func() []byte { b := good(2, 1); binary.BigEndian.PutUint32(b[8:], 1<<30); return b }},
		{"last offset before the first", func() []byte { b := good(2, 1); binary.BigEndian.PutUint32(b[23:], 1<<31); return b }},
		{"more records than offsets", func() []byte { b := good(2, 1); binary.BigEndian.PutUint32(b[57:], 9); return seal(b) }},
		{"good batch, then a bad one", func() []byte { b := good(4, 1); b[30] ^= 1; return append(good(2, 1), b...) }},
		{"noise", func() []byte { return []byte("fifteen bytes..") }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 2, nil)
			l := r.home.add(r.id(0), 1)
			r.home.add(r.id(1), 1)
			r.peer.produce(0, 2, true)
			r.mirror(1, mirror.FetchAsync)
			r.upTo(0, 2)
			r.peer.change(func() {
				r.peer.script = func(q peerFetch, p *messages.FetchResponsePartition) {
					if q.Partition == 0 && q.Offset == 2 && !q.Probe {
						p.Records = c.records()
					}
				}
			})
			r.home.await(t, "the corruption is reported", func() bool {
				return toldOf(r.home, func(c mirror.ReportFailure) bool {
					return c.ID == r.id(0) && c.Code == perr.CorruptMessage && c.Text != ""
				})
			})
			r.peer.produce(1, 3, true) // the other partition goes on
			r.upTo(1, 3)
			r.home.mu.Lock()
			end := l.end()
			r.home.mu.Unlock()
			if end != 2 {
				t.Fatalf("partition 0 ends at %d: bad bytes were appended", end)
			}
			r.peer.change(func() { r.peer.script = nil })
			r.peer.produce(0, 1, true)
			r.upTo(0, 3)
		})
	}
}

func TestACutOffLastBatchIsNormal(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 2, true)
	r.peer.produce(0, 2, true)
	r.peer.change(func() {
		r.peer.script = func(q peerFetch, p *messages.FetchResponsePartition) {
			if len(p.Records) > 100 {
				p.Records = p.Records[:len(p.Records)-10]
			}
		}
	})
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 4)
}

func TestAnswersNobodyAskedForAreCountedOnly(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 2, true)
	r.peer.change(func() {
		r.peer.extra = func(resp *messages.FetchResponse) {
			twin := resp.Responses[0]
			alien := twin
			alien.TopicId = core.TopicID{99}
			lost := twin
			lost.Partitions = append([]messages.FetchResponsePartition(nil), twin.Partitions...)
			lost.Partitions[0].PartitionIndex = 4711
			resp.Responses = append(resp.Responses, twin, alien, lost)
		}
	})
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 2)
	if n := r.fetchers.Counts().Foreign; n < 3 {
		t.Errorf("%d foreign answers counted, want at least 3", n)
	}
}

// attack-A09, from the other side: the length prefix is the peer's word.
func TestALyingLengthPrefixAllocatesNothing(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 2, true)
	var lies atomic.Int64
	r.peer.change(func() {
		r.peer.mangle = func(key int16, frame []byte) []byte {
			if key == messages.KeyFetch && lies.Load() < 4 {
				size := []uint32{math.MaxInt32, 100 << 20, 1 << 31, 3}[lies.Load()]
				lies.Add(1)
				binary.BigEndian.PutUint32(frame, size)
				r.peer.cutShort = true
			}
			return frame
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.fast()
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 2)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d MiB were allocated for answers that claimed to be large", grown>>20)
	}
}

func TestAnotherClusterBehindTheAddressIsRefused(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.config["source.cluster.id"] = "elsewhere"
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchAsync)
	r.home.await(t, "the refusal is reported", func() bool {
		return toldOf(r.home, func(c mirror.ReportFailure) bool { return c.Code != 0 })
	})
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	if l.appends != 0 {
		t.Error("records of another cluster were mirrored")
	}
}

// A source that answers every check with "ask again" or every fetch with a divergence must not keep a core
// busy.
func TestEndlessDivergenceIsPaced(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 2)
	r.peer.change(func() {
		r.peer.script = func(q peerFetch, p *messages.FetchResponsePartition) {
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 1, 2
			p.Records = []byte{0} // wakes the parked fetch
		}
	})
	before := r.fetchers.Counts().Alignments
	r.home.await(t, "a second of it", func() bool { return r.home.Now().Mono > int64(1e9) })
	if n := r.fetchers.Counts().Alignments - before; n > 200 {
		t.Errorf("%d divergence checks in about a second", n)
	}
}

func FuzzVerifyIsTotal(f *testing.F) {
	f.Add(testBatch(3), int64(0))
	f.Add([]byte{}, int64(5))
	f.Fuzz(func(t *testing.T, records []byte, next int64) {
		list, err := Verify(records, core.Offset(next), 0, 1, next%2 == 0)
		if err != nil {
			return
		}
		for _, b := range list {
			if b.BaseOffset != next {
				t.Fatalf("batch begins at %d, want %d", b.BaseOffset, next)
			}
			next = b.LastOffset() + 1
		}
	})
}
