package journaltest

import (
	"fmt"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
)

const part = journal.Stream("partition/AAAAAAAAAAAAAAAAAAAAAA/0/1")

// Batches renders what ReadBatches returns.
func Batches(t testing.TB, v journal.Volume, s journal.Stream, from core.Offset, max int) []string {
	t.Helper()
	found, err := v.ReadBatches(s, from, max)
	if err != nil {
		t.Fatalf("read %s from %d: %v", s, from, err)
	}
	var out []string
	for _, b := range found {
		want := Batch(b.Base, b.Last, len(b.Bytes))
		if string(b.Bytes) != string(want.Payload) || b.Epoch != 3 || b.MaxTimestamp != 1000+int64(b.Last) {
			t.Fatalf("batch %d-%d came back as %q, epoch %d, timestamp %d", b.Base, b.Last, b.Bytes, b.Epoch, b.MaxTimestamp)
		}
		out = append(out, fmt.Sprintf("%d-%d", b.Base, b.Last))
	}
	return out
}

// Volume runs what every volume promises beyond a journal.
func Volume[V journal.Volume](t *testing.T, fresh func(t *testing.T) Disk[V]) {
	Journal(t, fresh)
	run := func(name string, f func(t *testing.T, d Disk[V], v V)) {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			f(t, d, d.Open(t))
		})
	}
	run("batches are read from the one that contains the offset, up to max bytes", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 5000), Batch(10, 19, 100), Batch(20, 20, 100))
		for range 2 {
			same(t, Batches(t, v, part, 0, 1<<20), "0-9", "10-19", "20-20")
			same(t, Batches(t, v, part, 9, 1<<20), "0-9", "10-19", "20-20")
			same(t, Batches(t, v, part, 10, 1<<20), "10-19", "20-20")
			same(t, Batches(t, v, part, 0, 1), "0-9")
			same(t, Batches(t, v, part, 21, 1<<20))
			same(t, Batches(t, v, part+"0", 0, 1<<20))
			closed(t, v)
			v = d.Open(t)
		}
		closed(t, v)
	})
	run("a batch is readable when its done runs", func(t *testing.T, d Disk[V], v V) {
		for i := range 50 {
			off := core.Offset(i)
			got := make(chan string, 1)
			v.Append(part, []core.Entry{Batch(off, off, 100)}, func(journal.Seq, error) {
				found, err := v.ReadBatches(part, off, 1)
				got <- fmt.Sprint(len(found), err)
			})
			if s := <-got; s != "1 <nil>" {
				t.Fatalf("batch %d at its done: %s", i, s)
			}
		}
		closed(t, v)
	})
	run("truncation removes what reaches the offset, and the log goes on there", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 100), Batch(10, 19, 100), Batch(20, 29, 100))
		Append(t, v, part, Truncate(15), Batch(10, 12, 300))
		for range 2 {
			same(t, Batches(t, v, part, 0, 1<<20), "0-9", "10-12")
			same(t, Replayed(t, v, part), "1 batch 0-9", "2 batch 10-19", "3 batch 20-29", "4 truncate", "5 batch 10-12")
			closed(t, v)
			v = d.Open(t)
		}
		closed(t, v)
	})
	run("trimming removes what ends below the offset", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 100), Batch(10, 19, 100), Batch(20, 29, 100), Trim(15))
		same(t, Batches(t, v, part, 0, 1<<20), "10-19", "20-29")
		closed(t, v)
		v = d.Open(t)
		same(t, Batches(t, v, part, 0, 1<<20), "10-19", "20-29")
		closed(t, v)
	})
	run("a batch takes the place of those inside of it", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 5000), Batch(10, 19, 5000), Batch(20, 29, 5000), Batch(30, 39, 5000))
		Append(t, v, part, Replace(0, 9, 100), Replace(10, 29, 100))
		size := func() int64 {
			sizes, err := v.Sizes([]journal.Stream{part})
			if err != nil {
				t.Fatal(err)
			}
			return sizes[0]
		}
		for range 2 {
			same(t, Batches(t, v, part, 0, 1<<20), "0-9", "10-29", "30-39")
			same(t, Batches(t, v, part, 15, 1), "10-29")
			same(t, Replayed(t, v, part), "1 batch 0-9", "2 batch 10-19", "3 batch 20-29", "4 batch 30-39", "5 batch 0-9", "6 batch 10-29")
			if n := size(); n < 5200 || n > 5200+3*300 {
				t.Fatalf("%d bytes", n)
			}
			closed(t, v)
			v = d.Open(t)
		}
		Append(t, v, part, Batch(40, 49, 100), Replace(0, 29, 100))
		Settle(t, func(done journal.Done) { v.Snapshot(part, []byte("s"), done) })
		Append(t, v, part, Replace(30, 49, 200))
		for range 2 {
			same(t, Batches(t, v, part, 0, 1<<20), "0-29", "30-49")
			same(t, Replayed(t, v, part), "snapshot s", "9 batch 30-49")
			if n := size(); n < 300 || n > 300+2*300 {
				t.Fatalf("%d bytes", n)
			}
			closed(t, v)
			v = d.Open(t)
		}
		Append(t, v, part, Truncate(30), Batch(30, 30, 100))
		same(t, Batches(t, v, part, 0, 1<<20), "0-29", "30-30")
		closed(t, v)
	})
	run("the size of a stream is that of the batches that can be read", func(t *testing.T, d Disk[V], v V) {
		size := func() int64 {
			sizes, err := v.Sizes([]journal.Stream{part, part + "0"})
			if err != nil || sizes[1] != 0 {
				t.Fatalf("sizes %d, %v; the second stream has no batch", sizes, err)
			}
			return sizes[0]
		}
		want := func(what string, got, least, most int64) {
			if got < least || got > most {
				t.Fatalf("%s: %d bytes, want %d to %d", what, got, least, most)
			}
		}
		const frames = 300 // what a disk may add to each batch
		Append(t, v, part, Batch(0, 9, 5000), Batch(10, 19, 5000), Batch(20, 29, 5000), Batch(30, 39, 5000))
		want("four batches", size(), 20_000, 20_000+4*frames)
		Append(t, v, part, Truncate(35), Batch(30, 31, 1000))
		want("one replaced", size(), 16_000, 16_000+4*frames)
		Append(t, v, part, Trim(10))
		for range 2 {
			want("one trimmed", size(), 11_000, 11_000+3*frames)
			Settle(t, func(done journal.Done) { v.Snapshot(part, []byte("s"), done) })
			want("a snapshot later", size(), 11_000, 11_000+3*frames)
			closed(t, v)
			v = d.Open(t)
		}
		Settle(t, func(done journal.Done) { v.Drop(part, done) })
		want("dropped", size(), 0, 0)
		closed(t, v)
	})
	run("extents are the batches that can be read, and add up to the size", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 5000), Batch(10, 19, 100), Batch(20, 29, 100), Batch(30, 39, 100), Truncate(35), Trim(10))
		for range 2 {
			var bytes int64
			var seen []string
			visit := func(e journal.Extent) bool {
				if e.MaxTimestamp != 1000+int64(e.Last) {
					t.Errorf("batch %d has timestamp %d", e.Base, e.MaxTimestamp)
				}
				bytes += e.Bytes
				seen = append(seen, fmt.Sprintf("%d-%d", e.Base, e.Last))
				return e.Last < 29
			}
			if err := v.Extents(part, 0, visit); err != nil {
				t.Fatal(err)
			}
			same(t, seen, "10-19", "20-29")
			if sizes, err := v.Sizes([]journal.Stream{part}); err != nil || sizes[0] != bytes {
				t.Fatalf("the extents have %d bytes, the stream %d (%v)", bytes, sizes, err)
			}
			if seen = nil; v.Extents(part, 25, visit) != nil || len(seen) != 1 || v.Extents(part+"0", 0, visit) != nil || len(seen) != 1 {
				t.Fatalf("from inside of a batch: %v", seen)
			}
			closed(t, v)
			v = d.Open(t)
		}
		closed(t, v)
	})
	run("a snapshot ends the replay of batches but not their reading", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 100), Batch(10, 19, 100))
		Settle(t, func(done journal.Done) { v.Snapshot(part, []byte("s"), done) })
		Append(t, v, part, Batch(20, 29, 100))
		for range 2 {
			same(t, Batches(t, v, part, 0, 1<<20), "0-9", "10-19", "20-29")
			same(t, Replayed(t, v, part), "snapshot s", "3 batch 20-29")
			closed(t, v)
			v = d.Open(t)
		}
		closed(t, v)
	})
	run("a dropped partition has no batches", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 100))
		Settle(t, func(done journal.Done) { v.Drop(part, done) })
		same(t, Batches(t, v, part, 0, 1<<20))
		closed(t, v)
	})
	run("a batch is found by its timestamp", func(t *testing.T, d Disk[V], v V) {
		Append(t, v, part, Batch(0, 9, 100), Batch(10, 19, 100), Batch(20, 29, 100))
		for _, c := range []struct {
			from core.Offset
			ts   int64
			want string
		}{{0, 0, "0 true"}, {0, 1010, "10 true"}, {0, 1019, "10 true"}, {20, 1010, "20 true"}, {0, 1030, "0 false"}} {
			b, ok, err := v.FindTimestamp(part, c.from, c.ts)
			if got := fmt.Sprint(b.Base, " ", ok); err != nil || got != c.want {
				t.Fatalf("from %d at %d: %s, %v; want %s", c.from, c.ts, got, err, c.want)
			}
		}
		closed(t, v)
	})
	run("readers run beside the writer", func(t *testing.T, d Disk[V], v V) {
		const n = 300
		var readers sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			readers.Add(1)
			go func() {
				defer readers.Done()
				for {
					select {
					case <-stop:
						return
					default:
						found, err := v.ReadBatches(part, 0, 1<<20)
						if err != nil {
							t.Error(err)
							return
						}
						for i, b := range found {
							if b.Base != core.Offset(i) {
								t.Errorf("batch %d has base %d", i, b.Base)
								return
							}
						}
					}
				}
			}()
		}
		for i := range n {
			Append(t, v, part, Batch(core.Offset(i), core.Offset(i), 500))
		}
		close(stop)
		readers.Wait()
		closed(t, v)
	})
}
