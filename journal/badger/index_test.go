package badger

import (
	"fmt"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/log"
)

const stream = journal.Stream("partition/a/0/1")

func openIndex(t *testing.T) *Index {
	t.Helper()
	x, err := Open(Options{Dir: t.TempDir(), MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// frame is a record at a place: segment*100 is its offset, too, so that places differ.
func frame(segment uint64, seq journal.Seq, e core.Entry) *log.Record {
	return &log.Record{
		Type: log.RecordEntry, Stream: stream, Seq: seq, Entry: e,
		Pos: log.Position{Segment: segment, Offset: int64(seq) * 100, Length: 100},
	}
}

func added(base, last core.Offset) core.Entry {
	return core.Entry{Kind: core.EntryBatch, Op: core.IndexAdd, Base: base, Last: last}
}

func replaced(base, last core.Offset) core.Entry {
	return core.Entry{Kind: core.EntryBatch, Op: core.IndexReplace, Base: base, Last: last}
}

func copied(r *log.Record) *log.Record { r.Copy = true; return r }

func snapshotAt(segment uint64, seq journal.Seq) *log.Record {
	r := frame(segment, seq, core.Entry{})
	r.Type, r.Pos.Offset = log.RecordSnapshot, 50_000
	return r
}

// What a log says in an order that cleaning changed must come to the same as what was written: copies of
// truncations come late, behind what took the place of the truncated.
func TestARebuildCountsWhatItPointsTo(t *testing.T) {
	truncate := core.Entry{Op: core.IndexTruncate, Base: 0}
	unindexed := func(r *log.Record) *log.Record { r.Copy, r.Unindexed = true, true; return r }
	for _, c := range []struct {
		name    string
		records []*log.Record
		batches string
		events  int
	}{
		{"as written", []*log.Record{frame(1, 1, added(0, 9)), frame(1, 2, truncate), frame(1, 3, added(0, 9))}, "3", 3},
		{"the truncation was copied behind the new batch", []*log.Record{frame(1, 1, added(0, 9)), frame(2, 3, added(0, 9)), copied(frame(3, 2, truncate))}, "3", 3},
		{"and the truncated one was copied when a snapshot had covered it", []*log.Record{
			snapshotAt(1, 1), copied(frame(1, 1, added(0, 9))), frame(2, 3, added(0, 9)), copied(frame(3, 2, truncate)),
		}, "3", 2},
		{"a batch was copied as history, its truncation comes later", []*log.Record{
			frame(1, 1, added(0, 9)), unindexed(frame(2, 1, added(0, 9))), copied(frame(3, 2, truncate)),
		}, "", 2},
		{"a replacement takes the place of all inside of it", []*log.Record{
			frame(1, 1, added(0, 4)), frame(1, 2, added(5, 9)), frame(2, 3, added(10, 19)), frame(2, 4, replaced(0, 9)),
		}, "43", 4},
		{"a snapshot has covered what it replaces", []*log.Record{
			frame(1, 1, added(0, 4)), frame(1, 2, added(5, 9)), snapshotAt(2, 2), frame(3, 3, replaced(0, 9)),
		}, "3", 1},
		{"it was replaced itself, and copied as history", []*log.Record{
			frame(1, 1, added(0, 4)), frame(1, 2, added(5, 9)), frame(3, 4, replaced(0, 9)), unindexed(frame(3, 3, replaced(0, 9))),
		}, "4", 4},
		{"what it replaces was copied before", []*log.Record{
			frame(1, 2, added(5, 9)), copied(frame(2, 1, added(0, 4))), frame(3, 3, replaced(0, 9)), copied(frame(3, 3, replaced(0, 9))),
		}, "3", 3},
		{"a truncation cuts it with all that it had replaced", []*log.Record{
			frame(1, 1, added(0, 4)), frame(1, 2, added(5, 9)), frame(2, 3, replaced(0, 9)), frame(3, 4, truncate), frame(3, 5, added(0, 1)),
		}, "5", 5},
		{"then a snapshot covers it", []*log.Record{
			frame(1, 1, added(0, 9)), unindexed(frame(2, 1, added(0, 9))), snapshotAt(3, 2), copied(frame(3, 2, truncate)),
		}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := openIndex(t)
			for round := range 2 { // a rerun over what is there already changes nothing
				for i, r := range c.records {
					r.Index = uint64(i + 1)
					if err := x.Reapply(log.Group{First: r.Index, Last: r.Index, Records: []*log.Record{r}}); err != nil {
						t.Fatal(err)
					}
				}
				if round == 1 {
					break
				}
				got := ""
				if err := x.Batches(stream, 0, func(b Batch) bool { got += fmt.Sprint(b.Seq); return true }); err != nil {
					t.Fatal(err)
				}
				_, _, events, err := x.History(stream, 1, 100)
				if err != nil || got != c.batches || len(events) != c.events {
					t.Fatalf("batches %q, %d events, %v; want %q and %d", got, len(events), err, c.batches, c.events)
				}
				sizes, err := x.Resize()
				if err != nil {
					t.Fatal(err)
				}
				if got := x.Size(stream); got != sizes[stream] {
					t.Errorf("%d bytes of batches counted, %d there", got, sizes[stream])
				}
				want, err := x.Recount()
				if err != nil {
					t.Fatal(err)
				}
				for n := uint64(1); n <= 3; n++ {
					if got := x.Usage(n).Live; got != want[n] {
						t.Errorf("segment %d: %d live bytes counted, %d there", n, got, want[n])
					}
				}
			}
		})
	}
}

func TestDanglingReferencesAreFoundAndLookedUpInAnotherIndex(t *testing.T) {
	old, whole, poor := openIndex(t), openIndex(t), openIndex(t)
	records := []*log.Record{frame(1, 1, added(0, 9)), frame(2, 2, added(10, 19))}
	for _, x := range []*Index{old, whole} {
		if err := x.Apply(log.Group{First: 1, Last: 2, Records: records}); err != nil {
			t.Fatal(err)
		}
	}
	if got := old.Missing([]uint64{2}); fmt.Sprint(got) != "[1]" {
		t.Fatalf("missing %v", got)
	}
	refs, err := old.Dangling([]uint64{2}, 10)
	if err != nil || len(refs) != 2 { // an event and a batch
		t.Fatalf("%d references, %v", len(refs), err)
	}
	for _, r := range refs {
		if r.Seq != 1 || r.Segment != 1 || r.Stream != stream {
			t.Fatalf("reference %+v", r)
		}
		if held, err := whole.Holds(r); err != nil || !held {
			t.Errorf("the whole index does not hold %+v: %v", r, err)
		}
		if held, err := poor.Holds(r); err != nil || held {
			t.Errorf("the empty index holds %+v: %v", r, err)
		}
	}
}

// A guard that a drop outlived is not copied: behind the drop, a rebuild would raise it as an entry.
func TestADropNeedsNoGuardOfWhatItKilled(t *testing.T) {
	x := openIndex(t)
	truncation := frame(1, 2, core.Entry{Op: core.IndexTruncate})
	first, second := frame(2, 3, core.Entry{}), frame(2, 5, core.Entry{})
	first.Type, second.Type = log.RecordDrop, log.RecordDrop
	live := func(r *log.Record) bool {
		t.Helper()
		ok, err := x.Live(r, false)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	apply := func(r *log.Record) {
		t.Helper()
		if err := x.Apply(log.Group{Records: []*log.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	apply(frame(1, 1, added(0, 9)))
	apply(truncation)
	if !live(truncation) {
		t.Fatal("a truncation is not kept while an older segment stays")
	}
	apply(first)
	if live(truncation) || !live(first) {
		t.Fatalf("behind the drop: truncation %v, drop %v", live(truncation), live(first))
	}
	apply(second)
	if live(first) || !live(second) {
		t.Fatalf("behind the second drop: the first %v, the second %v", live(first), live(second))
	}
}
