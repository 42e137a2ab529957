package fetcher

import (
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// home is a destination cluster without brokers: each partition is a log that keeps the rules the fetcher
// relies on (session and epoch fences, contiguity, adoption by truncation), and answers on a goroutine of
// its own, as actors do.
type home struct {
	start time.Time
	queue chan func()
	ended chan struct{}

	mu                  sync.Mutex
	logs                map[core.PartitionID]*homeLog
	told                []mirror.Command
	cursor              int // of await
	news                *sync.Cond
	hold                chan struct{} // when set, answers wait for it
	follows, followsSet bool          // mirror.support.unclean.leader.election of the topic here
	compacts            bool
}

type homeLog struct {
	epoch                 core.LeaderEpoch
	session               core.MirrorSession
	adopted               core.LeaderEpoch
	batches               []batch.Batch
	first                 core.Offset // where an empty log begins
	hw                    core.Offset
	diverge               bool // refuse every cut
	unsaved               int  // so many cuts find the disk full
	floor                 *highwater.PublishFloor
	appends               int
	adopts                []partition.AdoptSource
	waiters               bool
	leads                 bool
	views                 int // how often somebody looked
	broken                any // what the actor answers instead of working
	strangers             int // appends of another session or epoch
	statedHW, statedStart core.Offset
}

func newHome(t *testing.T) *home {
	h := &home{start: time.Now(), queue: make(chan func(), 1024), ended: make(chan struct{}), logs: map[core.PartitionID]*homeLog{}}
	h.news = sync.NewCond(&h.mu)
	go func() {
		defer close(h.ended)
		for f := range h.queue {
			f()
		}
	}()
	t.Cleanup(func() { close(h.queue); <-h.ended })
	return h
}

func (h *home) add(id core.PartitionID, session core.MirrorSession) *homeLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &homeLog{epoch: 20, session: session, adopted: core.NoEpoch, leads: true}
	h.logs[id] = l
	return l
}

func (l *homeLog) end() core.Offset {
	if len(l.batches) == 0 {
		return l.first
	}
	return core.Offset(l.batches[len(l.batches)-1].LastOffset()) + 1
}

func (l *homeLog) last() core.LeaderEpoch {
	if len(l.batches) == 0 {
		return core.NoEpoch
	}
	return core.LeaderEpoch(l.batches[len(l.batches)-1].LeaderEpoch)
}

func (h *home) ID() core.ClusterID { return "destination" }
func (h *home) Now() core.Now {
	return core.Now{Mono: int64(time.Since(h.start)) + 1, Wall: time.Now().UnixMilli()}
}

func (h *home) Partition(id core.PartitionID) (image.Partition, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.logs[id]
	if !ok {
		return image.Partition{}, false
	}
	return image.Partition{Leader: 1, LeaderEpoch: l.epoch, ISR: []core.ReplicaID{1, 2}, MinISR: 2}, true
}

func (h *home) View(id core.PartitionID) (partition.View, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.logs[id]
	if !ok || !l.leads {
		return partition.View{}, false
	}
	l.views++
	h.news.Broadcast()
	v := partition.View{IsLeader: true, Epoch: l.epoch, LEO: l.end(), HW: l.hw, Adopted: l.adopted, Mirroring: l.adopted != core.NoEpoch}
	for _, b := range l.batches {
		if n := len(v.Epochs); n == 0 || v.Epochs[n-1].Epoch != core.LeaderEpoch(b.LeaderEpoch) {
			v.Epochs = append(v.Epochs, partition.EpochStart{Epoch: core.LeaderEpoch(b.LeaderEpoch), Start: core.Offset(b.BaseOffset)})
		}
	}
	return v, true
}

func (h *home) Tail(id core.PartitionID, at core.Offset) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.logs[id]; l != nil {
		return tail(l.batches, at), nil
	}
	return -1, nil
}

// tail is what Tail says of a log in memory.
func tail(log []batch.Batch, at core.Offset) int64 {
	for _, b := range log {
		switch {
		case core.Offset(b.LastOffset()) == at:
			return int64(b.Checksum())
		case core.Offset(b.BaseOffset) <= at && at < core.Offset(b.LastOffset()):
			return -2
		}
	}
	return -1
}

func (h *home) Floor(id core.PartitionID) (highwater.PublishFloor, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.logs[id]; l != nil && l.floor != nil {
		return *l.floor, true
	}
	return highwater.PublishFloor{}, false
}

func (h *home) Ask(id core.PartitionID, build func(core.RequestID) partition.Command, reply func(any)) bool {
	h.mu.Lock()
	l, ok := h.logs[id]
	leads := ok && l.leads
	hold := h.hold
	h.mu.Unlock()
	if !leads {
		return false
	}
	cmd := build(1)
	h.queue <- func() {
		if hold != nil {
			<-hold
		}
		h.mu.Lock()
		a := l.broken
		if a == nil {
			a = l.take(cmd)
		}
		h.news.Broadcast()
		h.mu.Unlock()
		reply(a)
	}
	return true
}

func (l *homeLog) take(cmd partition.Command) partition.MirrorAnswered {
	answer := func(o partition.MirrorOutcome, text string) partition.MirrorAnswered {
		return partition.MirrorAnswered{Ref: 1, Outcome: o, LEO: l.end(), LastEpoch: l.last(), Epoch: l.epoch, Adopted: l.adopted, Text: text}
	}
	switch c := cmd.(type) {
	case partition.AdoptSource:
		l.adopts = append(l.adopts, c)
		if c.Session != l.session {
			return answer(partition.MirrorStale, "")
		}
		if c.SourceEpoch > l.epoch-3 {
			return answer(partition.MirrorEpochTooLow, "")
		}
		if end := l.end(); c.SourceStart > end {
			l.batches, l.first, l.adopted = nil, c.SourceStart, c.SourceEpoch
			a := answer(partition.MirrorOK, "a gap")
			a.Reset = end > 0
			return a
		}
		if c.EndOffset < l.end() && len(l.batches) > 0 {
			if l.unsaved > 0 {
				l.unsaved--
				return answer(partition.MirrorUnsaved, "no space left on device")
			}
			if l.diverge {
				return answer(partition.MirrorDiverged, "cut below floor")
			}
			for len(l.batches) > 0 && core.Offset(l.batches[len(l.batches)-1].LastOffset()) >= c.EndOffset {
				l.batches = l.batches[:len(l.batches)-1]
			}
		}
		l.adopted = c.SourceEpoch
		return answer(partition.MirrorOK, "")
	case partition.AppendMirrored:
		if c.Session != l.session || c.SourceEpoch != l.adopted {
			l.strangers++
			return answer(partition.MirrorStale, "")
		}
		for _, b := range c.Batches {
			if core.Offset(b.BaseOffset) != l.end() {
				return answer(partition.MirrorRejected, "not contiguous")
			}
			l.batches = append(l.batches, b)
		}
		l.appends++
		l.waiters = c.HasWaiters
		l.statedHW, l.statedStart = c.SourceHW, c.SourceLogStart
		if c.SourceHW > l.hw {
			l.hw = min(c.SourceHW, l.end())
		}
		return answer(partition.MirrorOK, "")
	default:
		panic("home: unknown command")
	}
}

func (h *home) RaiseEpoch(id core.PartitionID, min core.LeaderEpoch, reply func(bool)) {
	h.queue <- func() {
		h.change(func() { h.logs[id].epoch = max(h.logs[id].epoch, min) })
		reply(true)
	}
}

func (h *home) Tell(_ core.MirrorName, cmd mirror.Command) {
	h.mu.Lock()
	h.told = append(h.told, cmd)
	h.news.Broadcast()
	h.mu.Unlock()
}

func (h *home) FollowsUnclean(core.TopicID) (value, set bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.follows, h.followsSet
}

func (h *home) Compacts(core.TopicID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.compacts
}

func (h *home) Topic(core.TopicID, string) mirror.LocalTopic { return mirror.LocalTopic{} }

func (h *home) change(f func()) {
	h.mu.Lock()
	f()
	h.news.Broadcast()
	h.mu.Unlock()
}

// await waits until ok holds, looking again whenever something happens.
func (h *home) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	timer := time.AfterFunc(5*time.Second, func() { h.change(func() {}) })
	defer timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for !ok() {
		if !time.Now().Before(deadline) {
			t.Fatalf("timed out: %s; told %d commands, last %+v", what, len(h.told), lastOf(h.told))
		}
		h.news.Wait()
	}
}

func lastOf(list []mirror.Command) any {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// told reports whether a command of type C for which ok holds has come; call with h.mu held.
func toldOf[C mirror.Command](h *home, ok func(C) bool) bool {
	for _, m := range h.told {
		if c, is := m.(C); is && ok(c) {
			return true
		}
	}
	return false
}

// rig is a peer, a home and the fetchers between them.
type rig struct {
	*testing.T
	peer     *peer
	home     *home
	fetchers *Fetchers
	config   map[string]string
}

func newRig(t *testing.T, partitions int, links Links) *rig {
	p := startPeer(t, partitions)
	h := newHome(t)
	f := New(Options{Destination: h, Links: links, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(f.Close)
	return &rig{T: t, peer: p, home: h, fetchers: f, config: map[string]string{
		"bootstrap.servers": p.addr(), "fetch.wait.max.ms": "300", "fetch.backoff.ms": "20", "request.timeout.ms": "2000",
		"metadata.refresh.interval.ms": "1000",
	}}
}

func (r *rig) id(i int) core.PartitionID {
	return core.PartitionID{Topic: r.peer.topic, Index: int32(i)}
}

// fast makes reconnects cheap for tests that need many.
func (r *rig) fast() {
	r.fetchers.connect = pace{time.Millisecond, time.Millisecond}
}

// mirror starts fetching every partition of the peer in a session.
func (r *rig) mirror(session core.MirrorSession, mode mirror.FetchMode) {
	r.fetchers.Fetch(mirror.FetchTopic{Mirror: "dr", Config: r.config, Topic: r.peer.topic, Name: r.peer.name,
		Partitions: int32(len(r.peer.logs)), Session: session, Mode: mode, Epoch: 9})
}

// upTo waits until partition i holds exactly the peer's log up to offset, byte for byte.
func (r *rig) upTo(i int, offset core.Offset) {
	r.Helper()
	l := r.home.logs[r.id(i)]
	r.home.await(r.T, "mirrored up to offset", func() bool { return l.end() == offset })
	r.peer.mu.Lock()
	defer r.peer.mu.Unlock()
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	for k, b := range l.batches {
		if string(b.Bytes) != string(r.peer.logs[i].batches[k].Bytes) {
			r.Fatalf("batch %d differs from the source's", k)
		}
	}
}
