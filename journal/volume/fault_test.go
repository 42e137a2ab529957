package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/vfs"
)

// faulty opens a volume whose log lies on a disk that fails on demand.
func faulty(t *testing.T) (*Volume, *vfs.Faulty, Options) {
	t.Helper()
	o := Options{
		Dir: t.TempDir(), Cluster: "here", Broker: 1, SegmentBytes: 16 << 10, MemTableBytes: 1 << 20, Retention: -1, Reserve: 1,
		Foreground: true,
	}
	real, err := vfs.NewReal(filepath.Join(o.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	f := vfs.NewFaulty(real)
	o.LogDir = f
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Abandon)
	return v, f, o
}

func appended(v journal.Journal, e core.Entry) error {
	done := make(chan error, 1)
	v.Append(part, []core.Entry{e}, func(_ journal.Seq, err error) { done <- err })
	return <-done
}

func TestAnyWriteOrSyncErrorPoisonsForGood(t *testing.T) {
	for name, faults := range map[string]vfs.Faults{
		"write fails":            {WriteAt: 2},
		"write is torn":          {WriteAt: 2, ShortKeep: 700},
		"sync fails once":        {SyncAt: 2},
		"disk is full":           {WriteAt: 2, Err: unix.ENOSPC},
		"a new segment fails":    {CreateAt: 1},
		"its header is not kept": {SyncAt: 5},
	} {
		t.Run(name, func(t *testing.T) {
			v, disk, o := faulty(t)
			disk.Set(faults)
			acked := 0
			var bad error
			for i := range 40 {
				if bad = appended(v, journaltest.Event(fmt.Sprint(i, strings.Repeat("x", 900)))); bad != nil {
					break
				}
				acked++
			}
			if bad == nil || !strings.Contains(bad.Error(), "poisoned") {
				t.Fatalf("%d appends, then %v", acked, bad)
			}
			for range 3 {
				if err := appended(v, journaltest.Event("later")); !errors.Is(err, v.Err()) || err == nil {
					t.Fatalf("after the poisoning an append ended in %v", err)
				}
			}
			if v.Admit() == nil || v.Err() == nil {
				t.Fatal("a poisoned volume admits")
			}
			if got := journaltest.Replayed(t, v, part); len(got) != acked {
				t.Fatalf("%d entries are readable, %d were acknowledged", len(got), acked)
			}
			if err := v.Close(); !errors.Is(err, v.Err()) {
				t.Fatalf("closing a poisoned volume says %v", err)
			}
			disk.Set(vfs.Faults{})
			again, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			// What was not acknowledged may be there or not; nothing else may be.
			if got := len(journaltest.Replayed(t, again, part)); got < acked || got > acked+1 {
				t.Fatalf("%d entries after the restart, %d were acknowledged", got, acked)
			}
			again.Abandon()
		})
	}
}

func TestAFullDiskRefusesBatchesAndRecoversByItself(t *testing.T) {
	v, disk, _ := faulty(t)
	free := func(n int64) {
		disk.Set(vfs.Faults{Free: n})
		v.log.CheckSpace()
	}
	v.Abandon()
	o := v.o
	o.Reserve = 1 << 20
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	v.log.CheckSpace()
	if _, err := os.Stat(filepath.Join(o.Dir, "log", "ballast")); err != nil {
		t.Fatalf("no ballast while there is room: %v", err)
	}
	free(1<<20 - 1<<16) // less than the mark even with the prepared segment
	if err := v.Admit(); !errors.Is(err, journal.ErrFull) {
		t.Fatalf("above the high mark Admit says %v", err)
	}
	if err := appended(v, journaltest.Batch(0, 0, 100)); err != nil {
		t.Fatalf("what was admitted before is refused: %v", err)
	}
	free(1<<19 - 1<<16)
	if err := appended(v, journaltest.Batch(1, 1, 100)); err != nil {
		t.Fatalf("a batch that an actor had decided already ended in %v", err)
	}
	if err := appended(v, journaltest.Event("control goes on")); err != nil {
		t.Fatal(err)
	}
	free(1<<18 - 1<<16)
	if _, err := os.Stat(filepath.Join(o.Dir, "log", "ballast")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the ballast is still there: %v", err)
	}
	free(1 << 30)
	if err := v.Admit(); err != nil {
		t.Fatal(err)
	}
	if err := appended(v, journaltest.Batch(2, 2, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "log", "ballast")); err != nil {
		t.Fatalf("the ballast did not come back: %v", err)
	}
	if got := journaltest.Replayed(t, v, part); len(got) != 4 {
		t.Fatalf("replayed %q", got)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryOfSomebodyElseIsRefused(t *testing.T) {
	o := Options{Dir: t.TempDir(), Cluster: "here", Broker: 1, SegmentBytes: 16 << 10, MemTableBytes: 1 << 20, Retention: -1, Reserve: 1}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); !errors.Is(err, vfs.ErrLocked) {
		t.Fatalf("opened twice: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Cluster = "there"
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), `belongs to cluster "here", this is cluster "there"`) {
		t.Fatalf("another cluster: %v", err)
	}
	other = o
	other.Broker = 2
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), "belongs to broker 1, it was given to broker 2") {
		t.Fatalf("another broker: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(o.Dir, "log"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := vfs.OpenReal(link); err == nil {
		t.Fatal("a symbolic link was followed")
	}
}

func TestDamageToAcknowledgedDataRefusesToOpen(t *testing.T) {
	for _, c := range []struct {
		name  string
		clean bool
		flip  int64 // offset in the newest segment
		want  []string
	}{
		{"clean close, a byte of the newest group", true, 0, []string{"pin swears to index", "refill this volume"}},
		{"crash, a byte in the middle", false, 600, []string{".seg at offset 512", "was written after it was synced", "clusterctl journal verify"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, 1)
			o := g.options()[0]
			v, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				journaltest.Append(t, v, part, journaltest.Event(fmt.Sprint(i)))
			}
			if c.clean {
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				v.Abandon()
				g.crash(func() bool { return true }, false)
			}
			off := c.flip
			if off == 0 {
				off = 512 + 4*512 + 150
			}
			g.dirs[0].Flip("0000000000000001.seg", off, 1)
			_, err = Open(g.options()[0])
			if err == nil {
				t.Fatal("opened")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error does not say %q: %v", w, err)
				}
			}
		})
	}
}

func TestATornTailIsCutAndReported(t *testing.T) {
	v, disk, o := faulty(t)
	journaltest.Append(t, v, part, journaltest.Event("kept"))
	disk.Set(vfs.Faults{WriteAt: 1, ShortKeep: 400})
	if err := appended(v, journaltest.Event(strings.Repeat("torn", 200))); err == nil {
		t.Fatal("a torn write was acknowledged")
	}
	v.Abandon()
	disk.Set(vfs.Faults{})
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if cut := v.Report().Cut; cut == nil || cut.Offset != 1024 {
		t.Fatalf("cut: %v", cut)
	}
	if got := journaltest.Replayed(t, v, part); len(got) != 1 {
		t.Fatalf("replayed %q", got)
	}
	journaltest.Append(t, v, part, journaltest.Event("goes on"))
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err = Open(o); err != nil || v.Report().Cut != nil {
		t.Fatalf("%v, cut: %v", err, v.Report().Cut)
	}
	v.Abandon()
}
