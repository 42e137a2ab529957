// Package memory is the journal contract without a disk, for tests of cores and shells.
//
// What was appended is queued; a sync makes the queue durable and runs the dones. With Manual the
// test decides when that happens, otherwise a writer goroutine syncs whatever queued since its last
// sync, as a volume does. Crash is a first-class operation: it hands back what a disk would hold.
package memory

import (
	"fmt"
	"sync"
	"time"

	"lockstep/actors/core"
	"lockstep/journal"
)

// Options of a memory journal.
type Options struct {
	// Manual leaves syncing to Sync; dones then run on the goroutine that calls it.
	Manual bool
}

// Journal implements journal.Volume. All methods are safe for concurrent use, with the exceptions
// journal.Journal names.
type Journal struct {
	manual bool

	syncing sync.Mutex // held while a group becomes durable and its dones run, so that dones keep order
	mu      sync.Mutex
	work    *sync.Cond // signals the writer: queue grew or the journal ended
	queue   []item
	streams map[journal.Stream]*stream
	next    map[journal.Stream]journal.Seq // last sequence handed out, ahead of what is durable
	poison  error
	full    bool
	latency time.Duration // of each group
	closed  bool
	crashed bool
	writer  sync.WaitGroup
}

// item is one queued call.
type item struct {
	stream   journal.Stream
	last     journal.Seq
	entries  []core.Entry
	snapshot []byte
	kind     itemKind
	refused  error
	done     journal.Done
}

type itemKind uint8

const (
	itemAppend itemKind = iota
	itemSnapshot
	itemDrop
)

// New opens an empty journal.
func New(o Options) *Journal {
	return open(o.Manual, map[journal.Stream]*stream{})
}

func open(manual bool, streams map[journal.Stream]*stream) *Journal {
	j := &Journal{manual: manual, streams: streams, next: map[journal.Stream]journal.Seq{}}
	j.work = sync.NewCond(&j.mu)
	for name, s := range streams {
		j.next[name] = s.last
	}
	if !manual {
		j.writer.Add(1)
		go j.write()
	}
	return j
}

// Append implements journal.Journal.
func (j *Journal) Append(s journal.Stream, entries []core.Entry, done journal.Done) journal.Seq {
	if !s.Valid() {
		panic(fmt.Sprintf("journal: invalid stream name %q", s))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	it := item{stream: s, entries: entries, done: done}
	it.last = j.next[s] + journal.Seq(len(entries))
	j.next[s] = it.last
	j.enqueue(it)
	return it.last
}

// Snapshot implements journal.Journal.
func (j *Journal) Snapshot(s journal.Stream, state []byte, done journal.Done) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.enqueue(item{stream: s, last: j.next[s], snapshot: state, kind: itemSnapshot, done: done})
}

// Drop implements journal.Journal.
func (j *Journal) Drop(s journal.Stream, done journal.Done) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next[s]++
	j.enqueue(item{stream: s, last: j.next[s], kind: itemDrop, done: done})
}

func (j *Journal) enqueue(it item) {
	if j.crashed {
		return // the process that called is gone: nobody hears of it
	}
	if j.closed {
		it.refused = journal.ErrClosed
	}
	j.queue = append(j.queue, it)
	if j.closed && !j.manual {
		go j.Sync()
		return
	}
	j.work.Signal()
}

func (j *Journal) write() {
	defer j.writer.Done()
	for {
		j.mu.Lock()
		for len(j.queue) == 0 && !j.closed && !j.crashed {
			j.work.Wait()
		}
		ended, latency := j.crashed || (j.closed && len(j.queue) == 0), j.latency
		j.mu.Unlock()
		if ended {
			return
		}
		if latency > 0 {
			time.Sleep(latency)
		}
		j.Sync()
	}
}

// Sync makes everything queued durable and runs its dones, in order. It returns how many calls that
// were. Dones may append: what they queue belongs to the next sync.
func (j *Journal) Sync() int {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	group := j.queue
	j.queue = nil
	type told struct {
		done journal.Done
		seq  journal.Seq
		err  error
	}
	dones := make([]told, 0, len(group))
	for i := range group {
		it := &group[i]
		err := it.refused
		if err == nil {
			err = j.poison
		}
		if err == nil {
			j.apply(it)
		}
		var durable journal.Seq
		if st := j.streams[it.stream]; st != nil {
			durable = st.last
		}
		dones = append(dones, told{it.done, durable, err})
	}
	j.mu.Unlock()
	for _, d := range dones {
		if d.done != nil {
			d.done(d.seq, d.err)
		}
	}
	return len(group)
}

// Pending is the number of calls that wait for a sync.
func (j *Journal) Pending() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue)
}

func (j *Journal) apply(it *item) {
	st := j.streams[it.stream]
	if st == nil {
		st = &stream{}
		j.streams[it.stream] = st
	}
	switch it.kind {
	case itemAppend:
		st.append(it.last, it.entries)
	case itemSnapshot:
		st.take(it.last, it.snapshot)
	case itemDrop:
		st.drop(it.last)
	default:
		panic(fmt.Sprintf("journal: unknown item kind %d", it.kind))
	}
}

// Close implements journal.Journal: everything queued becomes durable first.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.work.Broadcast()
	j.mu.Unlock()
	j.writer.Wait()
	j.Sync()
	return nil
}

// Crash is a power loss. It returns a journal with what was durable; the old one belongs to a dead
// process from now on: its calls are accepted and never answered.
func (j *Journal) Crash() *Journal {
	j.mu.Lock()
	j.crashed = true
	j.queue = nil
	streams := make(map[journal.Stream]*stream, len(j.streams))
	for name, s := range j.streams {
		streams[name] = s.clone()
	}
	j.work.Broadcast()
	j.mu.Unlock()
	return open(j.manual, streams)
}

// Poison fails everything from now on, queued calls included, as a write error does on a volume.
func (j *Journal) Poison(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.poison == nil {
		j.poison = err
	}
}

// SetLatency makes a slow disk of it: every group takes that long from now on, unless it was made Manual.
func (j *Journal) SetLatency(d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.latency = d
}

// SetFull puts the journal above or below its high mark.
func (j *Journal) SetFull(full bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.full = full
}

// Admit implements journal.Volume.
func (j *Journal) Admit() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.poison == nil && j.full {
		return journal.ErrFull
	}
	return j.poison
}

// Err implements journal.Volume.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.poison
}
