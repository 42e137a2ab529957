// Package volume is the journal of one logical broker: the commit log, which must survive, and the
// index, which is derived from it, behind one journal.Volume.
package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/badger"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
)

// Options of a volume. Zero values take the defaults of journal.md.
type Options struct {
	Dir          string // holds log/ and index/
	Cluster      core.ClusterID
	Broker       core.ReplicaID
	SegmentBytes int64
	Durability   log.Durability
	// Reserve is the space below which batches are not admitted: the default is two segments and what
	// the index may need.
	Reserve       int64
	MemTableBytes int64 // of the index: half a segment, between 8 and 32 MiB
	// OnSwitch is told each time a segment begins (on the writer's goroutine): the moment to take
	// snapshots (D12).
	OnSwitch func(segment uint64)
	// Retention is how often segments are cleaned; 0 takes 30 s, negative leaves it to Clean.
	Retention time.Duration
	Logger    *slog.Logger

	Spares int // see log.Options

	// Rebuild makes the index again although the one on disk may be believed.
	Rebuild bool

	// LogDir replaces Dir/log, BootID the one of the kernel: what tests inject.
	LogDir     vfs.FS
	BootID     string
	Foreground bool // see log.Options
}

// Report is what opening found.
type Report struct {
	log.Report
	// Rebuilt says why the index was made again from the whole log; empty if it was not.
	Rebuilt string
	// Lossy says why this volume is below what its siblings witnessed; empty if it is not. Its
	// replicas stay outside the ISR until they are refilled (R12, D13).
	Lossy string
	// Volume is the identity drawn at format: another one in a broker's place is LOSSY too.
	Volume     core.Incarnation
	Durability log.Durability
}

// Volume implements journal.Volume. All methods are safe for concurrent use, with the exceptions
// journal.Journal names.
type Volume struct {
	o       Options
	log     *log.Log
	index   *badger.Index
	behind  *behind // the index, as far as it has not followed the log yet
	report  Report
	witness *log.Witness

	mu       sync.Mutex
	last     map[journal.Stream]*journal.Seq // handed out
	cleaning sync.Mutex
	marking  sync.Mutex // index.boot
	wrong    bool       // the index was found wrong; the next open makes it again
	cancel   context.CancelFunc
	ended    sync.WaitGroup
	closed   bool
}

const (
	indexName = "index"
	bootName  = "index.boot"
)

// Append implements journal.Journal.
func (v *Volume) Append(s journal.Stream, entries []core.Entry, done journal.Done) journal.Seq {
	if !s.Valid() {
		panic(fmt.Sprintf("journal: invalid stream name %q", s))
	}
	records := make([]log.Record, len(entries))
	v.mu.Lock()
	seq := v.seqOf(s)
	for i := range entries {
		*seq++
		records[i] = log.Record{Type: log.RecordEntry, Stream: s, Seq: *seq, Entry: entries[i]}
	}
	last := *seq
	v.submit(records, last, done)
	v.mu.Unlock()
	return last
}

// seqOf is the last sequence handed out for s; v.mu is held.
func (v *Volume) seqOf(s journal.Stream) *journal.Seq {
	seq := v.last[s]
	if seq == nil {
		seq = new(journal.Seq)
		v.last[s] = seq
	}
	return seq
}

// submit queues records under v.mu, so that the order of the log is the order of sequences.
func (v *Volume) submit(records []log.Record, last journal.Seq, done journal.Done) {
	it := &log.Item{Records: records}
	if done != nil {
		it.Done = func(err error) {
			if err != nil {
				last = 0
			}
			done(last, err)
		}
	}
	v.log.Submit(it)
}

// Snapshot implements journal.Journal.
func (v *Volume) Snapshot(s journal.Stream, state []byte, done journal.Done) {
	v.mu.Lock()
	defer v.mu.Unlock()
	seq := *v.seqOf(s)
	v.submit([]log.Record{{
		Type: log.RecordSnapshot, Stream: s, Seq: seq, Entry: core.Entry{Payload: state},
	}}, seq, done)
}

// Drop implements journal.Journal.
func (v *Volume) Drop(s journal.Stream, done journal.Done) {
	v.mu.Lock()
	defer v.mu.Unlock()
	seq := v.seqOf(s)
	*seq++
	v.submit([]log.Record{{Type: log.RecordDrop, Stream: s, Seq: *seq}}, *seq, done)
}

// Streams implements journal.Journal.
func (v *Volume) Streams(prefix string) ([]journal.Stream, error) {
	if err := v.behind.drain(); err != nil {
		return nil, err
	}
	return v.index.Streams(prefix), nil
}

// Admit implements journal.Volume.
func (v *Volume) Admit() error { return v.log.Admit() }

// Err implements journal.Volume.
func (v *Volume) Err() error { return v.log.Err() }

// Report is what opening found.
func (v *Volume) Report() Report { return v.report }

// Free is the room left on the volume as last measured, in bytes.
func (v *Volume) Free() int64 { return v.log.Free() }

// ForgetSibling stops this process from carrying the mark of a broker whose volume is given up.
func (v *Volume) ForgetSibling(broker core.ReplicaID) { v.witness.Forget(broker) }

// Close implements journal.Journal. What is queued is written first; a healthy volume is then pinned
// as cleanly closed; a poisoned one is released all the same, and Close returns the poison.
func (v *Volume) Close() error {
	if !v.stop() {
		return nil
	}
	err := errors.Join(v.log.Close(), v.behind.stop(true), v.index.Close())
	if err == nil && v.log.Err() == nil {
		err = v.markIndex(indexClean)
	}
	return err
}

// Abandon lets go of everything without writing, as a killed process would: for tests of crashes.
func (v *Volume) Abandon() {
	if v.stop() {
		v.log.Abandon()
		_ = v.behind.stop(false)
		_ = v.index.Close()
	}
}

func (v *Volume) stop() bool {
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return false
	}
	v.closed = true
	v.mu.Unlock()
	v.cancel()
	v.ended.Wait()
	return true
}

// What index.boot says of the index; of an open one, followed by the boot id.
const (
	indexClean  = "clean"
	indexOpen   = "open "
	indexWrong  = "wrong"  // it pointed to something that is not there
	indexMaking = "making" // the one before it is being removed
)

// markIndex says whether the index may be believed at the next open: after a clean close, or on the
// same boot, whose page cache kept what Badger wrote without a sync. After any other crash its files
// may have lost writes in the middle, which nothing in them would show.
func (v *Volume) markIndex(word string) error {
	v.marking.Lock()
	defer v.marking.Unlock()
	if v.wrong && word == indexClean {
		return nil
	}
	if word == indexOpen {
		word += v.o.BootID
	}
	path := filepath.Join(v.o.Dir, bootName)
	draft := path + ".tmp"
	if err := os.WriteFile(draft, []byte(word), 0o600); err != nil {
		return err
	}
	if word == indexClean {
		for _, p := range []string{filepath.Join(v.o.Dir, indexName), v.o.Dir} {
			d, err := os.Open(p)
			if err != nil {
				return err
			}
			if err := errors.Join(d.Sync(), d.Close()); err != nil {
				return err
			}
		}
	}
	return os.Rename(draft, path)
}

const whyWrong = "it pointed to something that is not in the log"

// distrusted says why the index on disk may not be believed, empty if it may.
func distrusted(dir, boot string) string {
	b, err := os.ReadFile(filepath.Join(dir, bootName))
	switch word := string(b); {
	case err == nil && (word == indexClean || (boot != "" && word == indexOpen+boot)):
		return ""
	case word == indexWrong:
		return whyWrong
	case word == indexMaking:
		return "the process ended while it was being made"
	default:
		return "the machine stopped without a clean close"
	}
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return "" // then only a clean close is believed
	}
	return string(b[:min(36, len(b))])
}
