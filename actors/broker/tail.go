package broker

import (
	"sort"
	"sync"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/protocol/batch"
)

const (
	tailBytesPerPartition = 4 << 20
	tailBytesPerProcess   = 256 << 20
)

// tails bounds all tail caches of the process together.
type tails struct {
	perPartition, perProcess int

	mu    sync.Mutex
	bytes int
	list  []*tail
	hand  int // whose oldest batch goes next: idle partitions pay for busy ones in turn
}

func newTails() *tails {
	return &tails{perPartition: tailBytesPerPartition, perProcess: tailBytesPerProcess}
}

func (s *tails) newTail() *tail {
	t := &tail{shared: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, t)
	return t
}

// account adds bytes, which may be negative, and says from whom to evict while there are too many.
func (s *tails) account(bytes int) *tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes
	if s.bytes <= s.perProcess || len(s.list) == 0 {
		return nil
	}
	s.hand = (s.hand + 1) % len(s.list)
	return s.list[s.hand]
}

func (s *tails) remove(t *tail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		if s.list[i] == t {
			s.list = append(s.list[:i], s.list[i+1:]...)
			return
		}
	}
}

// tail is the end of one replica's log in memory: consecutive batches, shared by fetches, mirrors and
// followers. It may hold what is not durable yet; readers are bounded by the view.
type tail struct {
	shared *tails

	mu      sync.RWMutex
	batches []journal.StoredBatch
	bytes   int
}

func (t *tail) add(b batch.Batch) {
	stored := journal.StoredBatch{Base: core.Offset(b.BaseOffset), Last: core.Offset(b.LastOffset()), Epoch: core.LeaderEpoch(b.LeaderEpoch), MaxTimestamp: b.MaxTimestamp, Bytes: b.Bytes}
	freed := 0
	t.mu.Lock()
	if n := len(t.batches); n > 0 && t.batches[n-1].Last+1 != stored.Base {
		freed += t.bytes // not the next one: a truncation passed us by
		t.batches, t.bytes = nil, 0
	}
	t.batches = append(t.batches, stored)
	t.bytes += len(stored.Bytes)
	for t.bytes > t.shared.perPartition && len(t.batches) > 1 {
		freed += t.evict()
	}
	t.mu.Unlock()
	for victim := t.shared.account(len(stored.Bytes) - freed); victim != nil; {
		victim.mu.Lock()
		freed = victim.evict()
		victim.mu.Unlock()
		victim = t.shared.account(-freed)
	}
}

// evict drops the oldest batch; the caller holds mu.
func (t *tail) evict() int {
	if len(t.batches) == 0 {
		return 0
	}
	n := len(t.batches[0].Bytes)
	t.batches[0] = journal.StoredBatch{}
	t.batches = t.batches[1:]
	t.bytes -= n
	return n
}

func (t *tail) dropFrom(from core.Offset) {
	t.mu.Lock()
	keep := sort.Search(len(t.batches), func(i int) bool { return t.batches[i].Last >= from })
	freed := 0
	for _, b := range t.batches[keep:] {
		freed += len(b.Bytes)
	}
	t.batches = append([]journal.StoredBatch(nil), t.batches[:keep]...)
	t.bytes -= freed
	t.mu.Unlock()
	t.shared.account(-freed)
}

// dropBelow forgets batches that end below an offset: the disk has them in another form now.
func (t *tail) dropBelow(below core.Offset) {
	t.mu.Lock()
	freed := 0
	for len(t.batches) > 0 && t.batches[0].Last < below {
		freed += t.evict()
	}
	t.mu.Unlock()
	t.shared.account(-freed)
}

func (t *tail) close() {
	t.dropFrom(0)
	t.shared.remove(t)
}

// read returns cached batches from the one that holds from, up to max bytes but always the first, that
// end below below. ok is false when from lies before the cache or behind it.
func (t *tail) read(from, below core.Offset, max int) (list []journal.StoredBatch, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.batches) == 0 || from < t.batches[0].Base {
		return nil, false
	}
	first := sort.Search(len(t.batches), func(i int) bool { return t.batches[i].Last >= from })
	size := 0
	for _, b := range t.batches[first:] {
		if b.Last >= below || len(list) > 0 && size+len(b.Bytes) > max {
			break
		}
		list, size = append(list, b), size+len(b.Bytes)
	}
	return list, len(list) > 0
}

func (r *Replica) read(from, below core.Offset, max int) ([]journal.StoredBatch, error) {
	if from >= below {
		return nil, nil
	}
	if list, ok := r.tail.read(from, below, max); ok {
		return list, nil
	}
	list, err := r.store.ReadBatches(r.stream, from, max)
	if err != nil {
		return nil, err
	}
	for i, b := range list {
		if b.Last >= below {
			return list[:i], nil
		}
	}
	return list, nil
}
