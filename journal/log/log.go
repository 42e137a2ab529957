// Package log is the commit log of one volume: the only part of the journal whose bytes must survive.
//
//	Submit ─▶ queue ─▶ writer goroutine: take what queued during the last sync ─▶ one write, one
//	fdatasync into a pre-zeroed segment ─▶ Sink (the index) ─▶ dones
//
// The formats and the durability contract are told in package journal.
package log

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/vfs"
)

// Durability says what Done means.
type Durability uint8

const (
	Fsync Durability = iota // on the disk: survives a power loss
	OS                      // in the page cache: survives the process, as Kafka's default; nothing is LOSSY by witness
)

func (d Durability) String() string {
	if d == OS {
		return "os"
	}
	return "fsync"
}

// Options of a log. Zero values take defaults.
type Options struct {
	Dir          vfs.FS
	Cluster      core.ClusterID
	Broker       core.ReplicaID
	SegmentBytes int64 // 64 MiB
	GroupBytes   int   // most bytes one write takes from the queue, 4 MiB
	Durability   Durability
	Witness      *Witness // shared by the volumes of the process; own one if nil
	// Reserve is the high mark: below this many free bytes batches are not admitted. 0 takes two
	// segments; the volume adds what its index needs.
	Reserve int64
	// Spares is how many zeroed segments are made at open beyond the next one, which is always prepared.
	// Zeroing writes everything twice; segments that retention recycles do not need it.
	Spares int
	// Foreground makes the writer prepare segments itself instead of a goroutine ahead of it, so that
	// tests can count syncs.
	Foreground bool
	// Sink is told each durable group before its dones run, on the writer's goroutine. An error
	// poisons the log. Records are valid during the call; payloads of entries for ever.
	Sink func(Group) error
	// Live says whether a copied record is still needed, asked when everything before it has reached
	// Sink. A copy in the log therefore always states what was live at that point.
	Live func(*Record) bool
	// OnSwitch is told the number of each segment that begins, on the writer's goroutine.
	OnSwitch func(segment uint64)
}

// Group is what one write and one sync made durable.
type Group struct {
	First, Last uint64 // indexes, inclusive
	Hash        Hash   // the chain behind Last
	Records     []*Record
}

// Log is an open commit log. All methods are safe for concurrent use.
type Log struct {
	o    Options
	meta Meta
	dir  vfs.FS

	mu      sync.Mutex // queue, closing, poison
	work    *sync.Cond
	queue   []*Item
	closing bool
	abandon bool
	poison  error

	segMu    sync.RWMutex
	segments map[uint64]*segment

	space  space
	spares spares
	hasher hasher
	w      writer
	unlock func() error
	ended  sync.WaitGroup
	groups atomic.Uint64 // groups written, for tests and metrics
	bytes  atomic.Uint64 // bytes written
}

// Item is one call: records that become durable together.
type Item struct {
	Records []Record
	// Done runs once on the writer's goroutine.
	Done func(err error)

	retire uint64 // with no records: forget this segment
}

// segment is one file of the log.
type segment struct {
	header  SegmentHeader
	file    vfs.File
	size    int64
	bad     error          // why the header cannot be believed; only during Open
	readers sync.WaitGroup // D14: recycling waits for them
}

func segmentName(n uint64) string { return fmt.Sprintf("%016x.seg", n) }

func (o *Options) defaults() {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	o.SegmentBytes = max(o.SegmentBytes/Sector*Sector, 16*Sector)
	if o.GroupBytes == 0 {
		o.GroupBytes = 4 << 20
	}
	o.GroupBytes = int(min(int64(o.GroupBytes), o.SegmentBytes/2))
	if o.Witness == nil {
		o.Witness = NewWitness()
	}
	if o.Reserve == 0 {
		o.Reserve = 2 * o.SegmentBytes
	}
	if o.Sink == nil {
		o.Sink = func(Group) error { return nil }
	}
	if o.Live == nil {
		o.Live = func(*Record) bool { return true }
	}
	if o.OnSwitch == nil {
		o.OnSwitch = func(uint64) {}
	}
}

// Meta is the identity of the volume.
func (l *Log) Meta() Meta { return l.meta }

// Submit queues it and never blocks. A poisoned or closed log answers in Done.
func (l *Log) Submit(it *Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		// The writer may be gone: answer from a goroutine, so that Submit keeps its promise.
		go it.answer(l.closedError())
		return
	}
	l.queue = append(l.queue, it)
	l.hasher.add(it.Records)
	l.work.Signal()
}

func (l *Log) closedError() error {
	if l.poison != nil {
		return l.poison
	}
	return journal.ErrClosed
}

func (it *Item) answer(err error) {
	if it.Done != nil {
		it.Done(err)
	}
}

// Err is the error that poisoned the log, nil while it is healthy.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.poison
}

// fail poisons the log: an error of a write or a sync means that nothing is known about what was not
// yet synced, and a retry that succeeds would prove nothing (faults.md 2.2).
func (l *Log) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.poison == nil {
		l.poison = fmt.Errorf("volume of broker %d in %s is poisoned: %w; its replicas leave the ISR, restart the broker to have it checked", l.o.Broker, l.dir, err)
	}
	return l.poison
}

// Close writes what is queued, pins the tail and releases everything. After a poisoning it pins
// nothing.
func (l *Log) Close() error {
	return l.stop(false)
}

// Abandon releases everything without writing anything, as a killed process would.
func (l *Log) Abandon() { _ = l.stop(true) }

func (l *Log) stop(abandon bool) error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return nil
	}
	l.closing, l.abandon = true, abandon
	l.work.Broadcast()
	l.mu.Unlock()
	l.spares.stop()
	l.hasher.stop()
	l.ended.Wait()
	err := l.Err()
	if err == nil && !abandon {
		err = l.w.pinTail(true)
	}
	return errors.Join(err, l.release())
}

func (l *Log) release() error {
	var errs []error
	l.segMu.Lock()
	for n, s := range l.segments {
		delete(l.segments, n)
		s.readers.Wait()
		errs = append(errs, s.file.Close())
	}
	l.segMu.Unlock()
	if l.w.pin != nil {
		errs = append(errs, l.w.pin.Close())
	}
	if l.unlock != nil {
		errs = append(errs, l.unlock())
	}
	return errors.Join(errs...)
}

// Spares is how many segments are ready.
func (l *Log) Spares() int {
	l.spares.mu.Lock()
	defer l.spares.mu.Unlock()
	return len(l.spares.ready)
}

// Groups is how many groups were written since Open, and how many bytes.
func (l *Log) Groups() (groups, bytes uint64) { return l.groups.Load(), l.bytes.Load() }
