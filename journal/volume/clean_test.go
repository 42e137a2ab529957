package volume

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
)

// used is what du says: the blocks of all files below dir.
func used(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestDeletingGivesSpaceBack(t *testing.T) {
	const (
		segment = 256 << 10
		ledger  = journal.Stream("ledger/AAAAAAAAAAAAAAAAAAAAAA/0")
		control = journal.Stream("control/registrations")
		keep    = journal.Stream("partition/BBBBBBBBBBBBBBBBBBBBBB/0/1")
	)
	o := Options{Dir: t.TempDir(), Cluster: "here", Broker: 1, SegmentBytes: segment, MemTableBytes: 1 << 20, Retention: -1, Reserve: 1}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(o.Dir, "log")
	kept := 0
	for i := range 400 {
		off := core.Offset(i)
		v.Append(part, []core.Entry{journaltest.Batch(off, off, 16<<10)}, nil)
		v.Append(ledger, []core.Entry{journaltest.Event("evidence")}, nil)
		journaltest.Append(t, v, control, journaltest.Event(fmt.Sprint("fact ", i)))
		if i%50 == 0 { // a few batches of another partition stay, spread over the segments
			journaltest.Append(t, v, keep, journaltest.Batch(core.Offset(kept), core.Offset(kept), 2000))
			kept++
		}
	}
	full := used(t, dir)
	if full < 400*16<<10 {
		t.Fatalf("only %d bytes used", full)
	}
	settle := func(s journal.Stream, state string) {
		journaltest.Settle(t, func(done journal.Done) { v.Snapshot(s, []byte(state), done) })
	}
	// A trim alone frees nothing while a replay still needs the batches; the snapshot ends that.
	journaltest.Append(t, v, part, journaltest.Trim(390), journaltest.Batch(400, 400, 100), journaltest.Truncate(395))
	settle(part, "partition")
	settle(control, "facts")
	settle(keep, "keep")
	journaltest.Settle(t, func(done journal.Done) { v.Drop(ledger, done) })
	if err := v.Clean(); err != nil {
		t.Fatal(err)
	}
	after := used(t, dir)
	if limit := int64(8 * segment); after > limit {
		t.Fatalf("%d bytes before, %d after deleting nearly everything, limit %d", full, after, limit)
	}
	verify := func(v *Volume) {
		t.Helper()
		if got := journaltest.Batches(t, v, part, 0, 1<<30); len(got) != 5 || got[0] != "390-390" || got[4] != "394-394" {
			t.Fatalf("batches %v", got)
		}
		if got := journaltest.Batches(t, v, keep, 0, 1<<30); len(got) != kept {
			t.Fatalf("%d of %d kept batches are left", len(got), kept)
		}
		if got := journaltest.Replayed(t, v, control); len(got) != 1 || got[0] != "snapshot facts" {
			t.Fatalf("control replays %q", got)
		}
		if got := journaltest.Replayed(t, v, ledger); len(got) != 0 {
			t.Fatalf("a dropped ledger replays %d entries", len(got))
		}
		if got := journaltest.Replayed(t, v, part); len(got) != 1 {
			t.Fatalf("partition replays %q", got)
		}
	}
	verify(v)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	// A rebuild sees copies, guards and what is left of dead entries, and must come to the same.
	o.Rebuild = true
	if v, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if v.Report().Rebuilt == "" {
		t.Fatal("not rebuilt")
	}
	verify(v)
	usage := map[uint64]int64{}
	numbers, _ := v.log.Segments()
	for _, n := range numbers {
		usage[n] = v.index.Usage(n).Live
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	o.Rebuild = false
	if v, err = Open(o); err != nil {
		t.Fatal(err)
	}
	for n, live := range usage {
		if got := v.index.Usage(n).Live; got != live || live < 0 {
			t.Errorf("segment %d: %d live bytes after a reopen, %d after the rebuild", n, got, live)
		}
	}
	verify(v)
	v.Abandon()
}

// A truncation and a drop must outlive the entries they killed: those may lie in an older segment that
// stays because of others, and a rebuild would bring them back.
func TestARebuildDoesNotRaiseTheDead(t *testing.T) {
	o := Options{Dir: t.TempDir(), Cluster: "here", Broker: 1, SegmentBytes: 16 << 10, MemTableBytes: 1 << 20, Retention: -1, Reserve: 1}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	const other = journal.Stream("partition/BBBBBBBBBBBBBBBBBBBBBB/0/1")
	const gone = journal.Stream("partition/CCCCCCCCCCCCCCCCCCCCCC/0/1")
	// The oldest segment keeps living because of other.
	journaltest.Append(t, v, other, journaltest.Batch(0, 0, 7000))
	journaltest.Append(t, v, part, journaltest.Batch(0, 9, 100), journaltest.Batch(10, 19, 100))
	journaltest.Append(t, v, gone, journaltest.Batch(0, 0, 100), journaltest.Event("ghost"))
	fill := func(from, to core.Offset) {
		for off := from; off < to; off++ {
			journaltest.Append(t, v, "partition/DDDDDDDDDDDDDDDDDDDDDD/0/1", journaltest.Batch(off, off, 3000))
		}
	}
	fill(0, 10)
	journaltest.Append(t, v, part, journaltest.Truncate(5))
	journaltest.Settle(t, func(done journal.Done) { v.Drop(gone, done) })
	fill(10, 20)
	journaltest.Append(t, v, part, journaltest.Batch(5, 5, 50))
	journaltest.Settle(t, func(done journal.Done) { v.Snapshot(part, []byte("s"), done) })
	journaltest.Settle(t, func(done journal.Done) { v.Drop("partition/DDDDDDDDDDDDDDDDDDDDDD/0/1", done) })
	fill(20, 30)
	for range 3 {
		if err := v.Clean(); err != nil {
			t.Fatal(err)
		}
	}
	numbers, active := v.log.Segments()
	if numbers[0] != 1 || numbers[1] == 2 {
		t.Fatalf("segments %v, active %d: the test needs the oldest kept and the next ones recycled", numbers, active)
	}
	for range 2 {
		if got := journaltest.Batches(t, v, part, 0, 1<<20); len(got) != 1 || got[0] != "5-5" {
			t.Fatalf("batches %v", got)
		}
		if got := journaltest.Batches(t, v, gone, 0, 1<<20); len(got) != 0 {
			t.Fatalf("a dropped partition holds %v", got)
		}
		if got := journaltest.Replayed(t, v, gone); len(got) != 0 {
			t.Fatalf("a dropped stream replays %q", got)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		o.Rebuild = true
		if v, err = Open(o); err != nil {
			t.Fatal(err)
		}
	}
	v.Abandon()
}
