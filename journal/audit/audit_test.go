package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
	"lockstep/journal/volume"
)

const part = journal.Stream("partition/AAAAAAAAAAAAAAAAAAAAAA/0/1")

func options(dir string, broker core.ReplicaID) volume.Options {
	return volume.Options{
		Dir: dir, Cluster: "here", Broker: broker, SegmentBytes: 16 << 10, MemTableBytes: 4 << 20, Retention: -1, Reserve: 1,
	}
}

// written makes two volumes with several segments and closes them.
func written(t *testing.T) (paths []string) {
	t.Helper()
	root := t.TempDir()
	paths = []string{filepath.Join(root, "1"), filepath.Join(root, "2")}
	vs, err := volume.OpenAll([]volume.Options{options(paths[0], 1), options(paths[1], 2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		for _, v := range vs {
			journaltest.Append(t, v, part, journaltest.Batch(core.Offset(i), core.Offset(i), 700))
			journaltest.Append(t, v, "ledger/x/0", journaltest.Event(fmt.Sprint("evidence ", i)))
		}
		if i == 20 {
			journaltest.Settle(t, func(done journal.Done) { vs[0].Snapshot("ledger/x/0", []byte("half"), done) })
			journaltest.Settle(t, func(done journal.Done) { vs[0].Snapshot(part, []byte("half"), done) })
		}
	}
	for _, v := range vs {
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// loaded copies the log of a volume into memory, where bytes can be flipped.
func loaded(t *testing.T, path string) *vfs.Barrier {
	t.Helper()
	b := vfs.NewBarrier(path, &vfs.Power{})
	names, err := filepath.Glob(filepath.Join(path, "log", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := b.Create(filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.WriteAt([][]byte{data}, 0), f.Sync()); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestHealthyVolumesVerify(t *testing.T) {
	paths := written(t)
	report, err := Verify(paths...)
	if err != nil || !report.OK() {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, v := range report.Volumes {
		if v.Segments < 3 || v.Frames < 80 || v.Torn != "" {
			t.Fatalf("%d segments, %d frames, torn %q", v.Segments, v.Frames, v.Torn)
		}
	}
}

// Every class of bytes that was ever written: a flip anywhere is found, in the middle of the log, in its
// newest group, and in the files beside it.
func TestEveryFlippedByteIsDetected(t *testing.T) {
	b := loaded(t, written(t)[0])
	meta, err := log.ReadMeta(b)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := log.ListSegments(b)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(numbers); prepared(b, numbers[n-1]) {
		numbers = numbers[:n-1]
	}
	flip := func(class, file string, off int64) {
		t.Helper()
		mask := byte(1 << (off % 8))
		b.Flip(file, off, mask)
		v, err := look(b)
		if err == nil && len(v.Problems) == 0 {
			t.Errorf("%s: flipping %#x at %s offset %d goes unnoticed", class, mask, file, off)
		}
		b.Flip(file, off, mask)
	}
	for off := int64(0); off < int64(len(b.Bytes("pin"))); off += 3 {
		flip("pin", "pin", off)
	}
	for off := range int64(len(b.Bytes("meta"))) {
		flip("meta", "meta", off)
	}
	newest := numbers[len(numbers)-1]
	for _, n := range []uint64{numbers[1], newest} {
		name := log.SegmentName(n)
		for off := int64(0); off < log.Sector; off += 7 {
			flip("segment header", name, off)
		}
		f, err := b.OpenRead(name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := log.ReadSegmentHeader(b, n, f)
		if err != nil {
			t.Fatal(err)
		}
		type group struct {
			header log.GroupHeader
			frames []log.Position
			stream int
		}
		var groups []group
		sc := log.Scanner{Dir: b, Volume: meta.Volume}
		if _, err := sc.Scan(f, h, func(g *log.GroupHeader, records []log.Record) error {
			gr := group{header: *g}
			for _, r := range records {
				gr.frames = append(gr.frames, r.Pos)
				gr.stream = len(r.Stream)
			}
			groups = append(groups, gr)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, g := range []group{groups[0], groups[len(groups)/2], groups[len(groups)-1]} {
			first, last := g.frames[0], g.frames[len(g.frames)-1]
			for off := g.header.Offset; off < first.Offset; off += 3 {
				flip("group header", name, off)
			}
			for off := last.Offset; off < last.Offset+64; off += 3 {
				flip("frame header", name, off)
			}
			for off := last.Offset + 64; off < last.Offset+64+int64(g.stream); off += 3 {
				flip("stream name", name, off)
			}
			end := last.Offset + int64(last.Length)
			for off := last.Offset + 64 + int64(g.stream); off < end-4; off += 101 {
				flip("payload", name, off)
			}
			for off := end - 4; off < end; off++ {
				flip("crc", name, off)
			}
			for off := end; off < g.header.Offset+int64(g.header.Length); off += 67 {
				flip("padding", name, off)
			}
		}
	}
}

func TestALostSegmentAndAReplacedVolumeAreDetected(t *testing.T) {
	paths := written(t)
	numbers, err := log.ListSegments(loaded(t, paths[0]))
	if err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(paths[0], "log", log.SegmentName(numbers[1]))
	if err := os.Rename(hidden, hidden+".away"); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(paths...)
	if err != nil || report.OK() || !strings.Contains(report.Volumes[0].Problems[0].String(), "missing") {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := os.RemoveAll(paths[0]); err != nil {
		t.Fatal(err)
	}
	v, err := volume.Open(options(paths[0], 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	report, err = Verify(paths...)
	if err != nil || report.OK() || !strings.Contains(report.Volumes[0].Problems[0].String(), "stood in its place") {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestDumpAndHistoryShowWhatWasAppended(t *testing.T) {
	path := written(t)[0]
	var seqs []journal.Seq
	err := Dump(path, "ledger/", func(e Entry) error {
		if e.Type == log.RecordEntry {
			if want := fmt.Sprint("evidence ", e.Seq-1); string(e.Entry.Payload) != want || e.Broker != 1 {
				t.Fatalf("entry %d is %q of broker %d", e.Seq, e.Entry.Payload, e.Broker)
			}
			seqs = append(seqs, e.Seq)
		}
		return nil
	})
	if err != nil || len(seqs) != 40 || !slices.IsSorted(seqs) {
		t.Fatalf("%v, sequences %v", err, seqs)
	}
	lines := func(s journal.Stream) (out []string) {
		if err := History(path, s, func(b []byte) error { out = append(out, string(b)); return nil },
			func(seq journal.Seq, e core.Entry) error { out = append(out, fmt.Sprint(seq)); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := lines("ledger/x/0"); len(got) != 41 || got[0] != "half" || got[1] != "1" {
		t.Fatalf("a ledger's history is %q", got)
	}
	if got := lines(part); len(got) != 20 || got[0] != "half" || got[1] != "22" {
		t.Fatalf("a partition's history is %q", got)
	}
}

func TestVerifyAndDumpAreSafeBesideARunningProcess(t *testing.T) {
	root := t.TempDir()
	paths := []string{filepath.Join(root, "1"), filepath.Join(root, "2")}
	vs, err := volume.OpenAll([]volume.Options{options(paths[0], 1), options(paths[1], 2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := core.Offset(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			for _, v := range vs {
				journaltest.Append(t, v, part, journaltest.Batch(i, i, 900))
				if i%50 == 49 {
					journaltest.Append(t, v, part, journaltest.Trim(i-20))
					journaltest.Settle(t, func(done journal.Done) { v.Snapshot(part, []byte("s"), done) })
					if err := v.Clean(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}
	}()
	for range 15 {
		report, err := Verify(paths...)
		if err != nil || !report.OK() {
			t.Errorf("%+v, %v", report, err)
			break
		}
		if err := Dump(paths[0], "partition/", func(Entry) error { return nil }); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-stopped
	for _, v := range vs {
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRebuildMakesTheIndexAgainAndRefusesARunningVolume(t *testing.T) {
	path := written(t)[0]
	if err := os.RemoveAll(filepath.Join(path, "index")); err != nil {
		t.Fatal(err)
	}
	report, err := Rebuild(path)
	if err != nil || report.Rebuilt == "" {
		t.Fatalf("%+v, %v", report, err)
	}
	v, err := volume.Open(options(path, 1))
	if err != nil {
		t.Fatal(err)
	}
	if v.Report().Rebuilt != "" {
		t.Fatalf("rebuilt once more: %s", v.Report().Rebuilt)
	}
	if got := journaltest.Batches(t, v, part, 0, 1<<20); len(got) != 40 {
		t.Fatalf("%d batches after the rebuild", len(got))
	}
	if _, err := Rebuild(path); !errors.Is(err, vfs.ErrLocked) {
		t.Fatalf("a running volume was rebuilt: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// Both sides of a mirror are looked at in one command, and each has a broker 1, which is none of the other's business.
func TestVolumesOfTwoClustersAreVerifiedTogether(t *testing.T) {
	paths := written(t)
	there := options(filepath.Join(t.TempDir(), "there"), 1)
	there.Cluster = "there"
	v, err := volume.Open(there)
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Append(t, v, "ledger/x/0", journaltest.Event("evidence"))
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(append(paths, there.Dir)...)
	if err != nil || !report.OK() {
		t.Fatalf("%+v, %v", report, err)
	}
}
