package volume

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
)

// store is what the benchmark drives: a volume, the commit log alone, or a bare segment file.
type store interface {
	append(e core.Entry, done func(error))
	// retain gives up everything below base, as retention does; it runs beside appends.
	retain(base core.Offset) error
	close()
}

type volumeStore struct{ *Volume }

func (s volumeStore) append(e core.Entry, done func(error)) {
	s.Append(part, []core.Entry{e}, func(_ journal.Seq, err error) { done(err) })
}
func (s volumeStore) retain(base core.Offset) error {
	durable := make(chan error, 1)
	s.Append(part, []core.Entry{journaltest.Trim(base)}, nil)
	s.Snapshot(part, nil, func(_ journal.Seq, err error) { durable <- err })
	return errors.Join(<-durable, s.Clean())
}
func (s volumeStore) close() { _ = s.Close() }

type logStore struct{ *log.Log }

func (s logStore) append(e core.Entry, done func(error)) {
	s.Submit(&log.Item{Records: []log.Record{{Type: log.RecordEntry, Stream: part, Seq: 1, Entry: e}}, Done: done})
}
func (s logStore) retain(core.Offset) error {
	all, active := s.Segments()
	for _, n := range all {
		if n < active {
			if err := s.Retire(n); err != nil {
				return err
			}
		}
	}
	return nil
}
func (s logStore) close() { _ = s.Close() }

// bare is the yardstick of the design's table: pre-zeroed recycled files, a reused group buffer, length
// and CRC32C per entry, one write and one fdatasync per group. No chain, no index. raw leaves out buffer
// and CRC, too: what the kernel and the disk can do.
type bare struct {
	raw   bool
	buf   []byte
	sync  bool
	mu    sync.Mutex
	wake  *sync.Cond
	queue []bareItem
	done  bool
	files [2]vfs.File
	ended sync.WaitGroup
}

type bareItem struct {
	b    []byte
	done func(error)
}

var benchTable = crc32.MakeTable(crc32.Castagnoli)

const benchSegment = 64 << 20

// benchSpares is ready before the clock starts: in the long run segments come from retention, zeroed
// once and recycled ever after, as the two files of the yardstick are.
const benchSpares = 4

func warm(spares func() int) {
	for spares() < benchSpares {
		runtime.Gosched()
	}
}

func newBare(b *testing.B, dir string, durable, raw bool) *bare {
	d, err := vfs.NewReal(dir)
	if err != nil {
		b.Fatal(err)
	}
	s := &bare{sync: durable, raw: raw}
	s.wake = sync.NewCond(&s.mu)
	zero := make([]byte, 1<<20)
	for i := range s.files {
		f, err := d.Create(fmt.Sprint(i))
		if err != nil {
			b.Fatal(err)
		}
		for off := int64(0); off < benchSegment; off += 1 << 20 {
			if err := f.WriteAt([][]byte{zero}, off); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		s.files[i] = f
	}
	s.ended.Add(1)
	go s.run()
	return s
}

func (s *bare) append(e core.Entry, done func(error)) {
	s.mu.Lock()
	s.queue = append(s.queue, bareItem{e.Payload, done})
	s.mu.Unlock()
	s.wake.Signal()
}

func (s *bare) retain(core.Offset) error { return nil }

func (s *bare) run() {
	defer s.ended.Done()
	off, file := int64(0), 0
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.done {
			s.wake.Wait()
		}
		group := s.queue
		s.queue = nil
		s.mu.Unlock()
		if len(group) == 0 {
			return
		}
		var bufs [][]byte
		n := int64(0)
		s.buf = s.buf[:0]
		for _, it := range group {
			if s.raw {
				bufs = append(bufs, it.b)
				n += int64(len(it.b))
				continue
			}
			s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(len(it.b)))
			s.buf = append(s.buf, it.b...)
			s.buf = binary.LittleEndian.AppendUint32(s.buf, crc32.Checksum(it.b, benchTable))
		}
		if !s.raw {
			bufs, n = [][]byte{s.buf}, int64(len(s.buf))
		}
		if off+n > benchSegment {
			off, file = 0, 1-file
		}
		err := s.files[file].WriteAt(bufs, off)
		if err == nil && s.sync {
			err = s.files[file].Sync()
		}
		off += n
		for _, it := range group {
			it.done(err)
		}
	}
}

func (s *bare) close() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.wake.Signal()
	s.ended.Wait()
	for _, f := range s.files {
		_ = f.Close()
	}
}

func benchOptions(dir string, i int, d log.Durability) Options {
	return Options{Dir: filepath.Join(dir, fmt.Sprint(i)), Cluster: "bench", Broker: core.ReplicaID(i + 1), Durability: d, Retention: -1, Reserve: 1, Spares: benchSpares}
}

func open(b *testing.B, kind string, n int, d log.Durability) (out []store) {
	root, err := os.MkdirTemp(os.Getenv("LOCKSTEP_BENCH_DIR"), "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(root) })
	switch kind {
	case "volume":
		var os []Options
		for i := range n {
			os = append(os, benchOptions(root, i, d))
		}
		vs, err := OpenAll(os, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, v := range vs {
			warm(v.log.Spares)
			out = append(out, volumeStore{v})
		}
	case "log":
		w := log.NewWitness()
		for i := range n {
			dir, err := vfs.NewReal(filepath.Join(root, fmt.Sprint(i)))
			if err != nil {
				b.Fatal(err)
			}
			l, _, err := log.Open(log.Options{Dir: dir, Cluster: "bench", Broker: core.ReplicaID(i + 1), Durability: d, Witness: w, Spares: benchSpares})
			if err != nil {
				b.Fatal(err)
			}
			warm(l.Spares)
			out = append(out, logStore{l})
		}
	case "bare", "raw":
		for i := range n {
			out = append(out, newBare(b, filepath.Join(root, fmt.Sprint(i)), d == log.Fsync, kind == "raw"))
		}
	default:
		panic(kind)
	}
	return out
}

// drive appends b.N batches of 64 KiB with 16 in flight; a batch counts when every store has it.
func drive(b *testing.B, stores []store) {
	const size, inFlight = 64 << 10, 16
	window := make(chan struct{}, inFlight)
	latency := make([]time.Duration, b.N)
	var retaining sync.WaitGroup
	template := journaltest.Batch(0, 63, size)
	b.SetBytes(size)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		window <- struct{}{}
		if i%512 == 511 { // 32 MiB
			retaining.Wait()
			for _, s := range stores {
				retaining.Go(func() {
					if err := s.retain(core.Offset((i - 600) * 64)); err != nil {
						b.Error(err)
					}
				})
			}
		}
		e := template
		e.Base, e.Last = core.Offset(i*64), core.Offset(i*64+63)
		e.Payload = append([]byte(nil), template.Payload...) // a batch arrives in a buffer of its own
		var left sync.WaitGroup
		left.Add(len(stores))
		begin := time.Now()
		for _, s := range stores {
			s.append(e, func(err error) {
				if err != nil {
					b.Error(err)
				}
				left.Done()
			})
		}
		go func() {
			left.Wait()
			latency[i] = time.Since(begin)
			<-window
		}()
	}
	for range inFlight {
		window <- struct{}{}
	}
	retaining.Wait()
	b.StopTimer()
	slices.Sort(latency)
	b.ReportMetric(float64(latency[len(latency)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(latency[len(latency)*99/100].Microseconds())/1000, "p99-ms")
	for _, s := range stores {
		s.close()
	}
}

// BenchmarkAppend compares the volume with the bare segment log in the same run. Run it with
// -benchtime 4000x: that is 250 MB a store. The design's target is 0.7 of bare with three stores.
func BenchmarkAppend(b *testing.B) {
	for _, d := range []log.Durability{log.Fsync, log.OS} {
		for _, n := range []int{1, 3} {
			for _, kind := range []string{"raw", "bare", "log", "volume"} {
				b.Run(fmt.Sprintf("durability=%s/stores=%d/%s", d, n, kind), func(b *testing.B) {
					drive(b, open(b, kind, n, d))
				})
			}
		}
	}
}
