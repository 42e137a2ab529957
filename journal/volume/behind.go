package volume

import (
	"slices"
	"sync"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/badger"
	"lockstep/journal/log"
)

// behind lets the index follow the log instead of holding up acknowledgements: Badger writes through
// memory maps, and a page of one may have to wait for the file system's journal. What the index has
// not taken yet is kept here, so that a batch is readable before its done runs all the same.
//
// Only groups that merely add go this way. A truncation, trim, snapshot, drop or copy is applied on the
// writer's goroutine with nothing behind, under the lock that look-ups share: they never see half of it.
type behind struct {
	index *badger.Index

	looking sync.RWMutex // held by look-ups, exclusively by changes that do more than add

	mu      sync.Mutex
	changed *sync.Cond
	queue   []log.Group
	records int    // in queue and under way
	taken   uint64 // groups ever queued, and how many of them the index has
	applied uint64
	recent  map[journal.Stream][]badger.Batch
	err     error
	closing bool
	ended   sync.WaitGroup
}

const (
	behindMax   = 16 << 10 // records the index may be behind before the writer waits
	behindMerge = 4 << 10  // records that go into one transaction
)

func newBehind(index *badger.Index) *behind {
	b := &behind{index: index, recent: map[journal.Stream][]badger.Batch{}}
	b.changed = sync.NewCond(&b.mu)
	b.ended.Add(1)
	go b.run()
	return b
}

// take is the log's Sink.
func (b *behind) take(g log.Group) error {
	if !merelyAdds(g) {
		if err := b.drain(); err != nil {
			return err
		}
		b.looking.Lock()
		defer b.looking.Unlock()
		return b.index.Apply(g)
	}
	// The payloads stay with their owners: the index does not need them.
	copies := make([]log.Record, len(g.Records))
	records := make([]*log.Record, len(g.Records))
	for i, r := range g.Records {
		copies[i] = *r
		copies[i].Entry.Payload = nil
		records[i] = &copies[i]
	}
	g.Records = records
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.records > behindMax && b.err == nil {
		b.changed.Wait()
	}
	for _, r := range records {
		if r.Entry.Op == core.IndexAdd {
			b.recent[r.Stream] = append(b.recent[r.Stream], badger.Batch{
				Base: r.Entry.Base, Last: r.Entry.Last, Seq: r.Seq, Pos: r.Pos, CRC: r.CRC, Epoch: r.Entry.Epoch, MaxTimestamp: r.Entry.MaxTimestamp,
			})
		}
	}
	b.queue = append(b.queue, g)
	b.records += len(records)
	b.taken++
	b.changed.Broadcast()
	return b.err
}

func merelyAdds(g log.Group) bool {
	return !slices.ContainsFunc(g.Records, func(r *log.Record) bool {
		switch r.Type {
		case log.RecordEntry:
			return r.Copy || (r.Entry.Op != core.IndexNone && r.Entry.Op != core.IndexAdd)
		case log.RecordSegments:
			return false
		default:
			return true
		}
	})
}

func (b *behind) run() {
	defer b.ended.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for len(b.queue) == 0 && !b.closing {
			b.changed.Wait()
		}
		if len(b.queue) == 0 || b.err != nil {
			return
		}
		group, n := b.queue[0], 1
		group.Records = slices.Clone(group.Records)
		for n < len(b.queue) && len(group.Records)+len(b.queue[n].Records) <= behindMerge {
			next := b.queue[n]
			group.Records = append(group.Records, next.Records...)
			group.Last, group.Hash = next.Last, next.Hash
			n++
		}
		b.queue = slices.Delete(b.queue, 0, n)
		b.mu.Unlock()
		err := b.index.Apply(group)
		b.mu.Lock()
		if err != nil {
			b.err = err
		} else {
			b.settle(group.Records)
		}
		b.records -= len(group.Records)
		b.applied += uint64(n)
		b.changed.Broadcast()
	}
}

// settle forgets what the index has now.
func (b *behind) settle(records []*log.Record) {
	upTo := map[journal.Stream]journal.Seq{}
	for _, r := range records {
		if r.Entry.Op == core.IndexAdd {
			upTo[r.Stream] = r.Seq
		}
	}
	for s, seq := range upTo {
		left := b.recent[s]
		for len(left) > 0 && left[0].Seq <= seq {
			left = left[1:]
		}
		if len(left) == 0 {
			delete(b.recent, s)
		} else {
			b.recent[s] = left
		}
	}
}

// drain waits until the index has everything that was taken before the call.
func (b *behind) drain() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for target := b.taken; b.applied < target && b.err == nil && !b.closing; {
		b.changed.Wait()
	}
	return b.err
}

// stop ends the goroutine; drained first says whether what is behind is applied.
func (b *behind) stop(drained bool) error {
	b.mu.Lock()
	if !drained {
		b.queue = nil
	}
	b.closing = true
	b.changed.Broadcast()
	b.mu.Unlock()
	b.ended.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// history is Index.History; what is behind must be drained.
func (b *behind) history(s journal.Stream, from journal.Seq, most int) (*log.Position, journal.Seq, []log.Position, error) {
	b.looking.RLock()
	defer b.looking.RUnlock()
	return b.index.History(s, from, most)
}

// batches is Index.Batches over the index and what it has not taken yet.
func (b *behind) batches(s journal.Stream, from core.Offset, visit func(badger.Batch) bool) error {
	b.looking.RLock()
	defer b.looking.RUnlock()
	// In this order: what moves into the index meanwhile is met twice, not missed.
	b.mu.Lock()
	recent := b.recent[s]
	b.mu.Unlock()
	last, more := core.Offset(-1), true
	if err := b.index.Batches(s, from, func(found badger.Batch) bool {
		last = found.Last
		more = visit(found)
		return more
	}); err != nil {
		return err
	}
	for _, r := range recent {
		if more && r.Last >= from && r.Last > last {
			more = visit(r)
		}
	}
	return nil
}
