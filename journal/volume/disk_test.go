package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/badger"
	"lockstep/journal/journaltest"
)

// smallDisk mounts a tmpfs. It needs the right to; without it the test above covers the marks, and says nothing about
// the kernel.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	mnt := t.TempDir()
	if err := unix.Mount("tmpfs", mnt, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a tmpfs (%v): the faulty disk stands in for it", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mnt, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return mnt
}

func TestASmallFileSystemFillsUpAndEmpties(t *testing.T) {
	mnt := smallDisk(t, "24m")
	o := Options{
		Dir: filepath.Join(mnt, "1"), Cluster: "here", Broker: 1, SegmentBytes: 1 << 20, MemTableBytes: 1 << 20, Retention: -1,
		Reserve: 6 << 20,
	}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	off := core.Offset(0)
	for ; v.Admit() == nil; off++ {
		if err := appended(v, journaltest.Batch(off, off, 64<<10)); err != nil {
			t.Fatalf("admitted batch %d: %v", off, err)
		}
		v.log.CheckSpace()
		if off > 1000 {
			t.Fatal("24 MiB hold more than 64 MB")
		}
	}
	if err := v.Err(); err != nil {
		t.Fatalf("a full disk poisoned the volume: %v", err)
	}
	journaltest.Append(t, v, part, journaltest.Trim(off-1))
	journaltest.Settle(t, func(done journal.Done) { v.Snapshot(part, []byte("s"), done) })
	if err := v.Clean(); err != nil {
		t.Fatal(err)
	}
	v.log.CheckSpace()
	if err := v.Admit(); err != nil {
		t.Fatalf("after deleting everything Admit says %v, %d bytes free", err, v.Free())
	}
	journaltest.Append(t, v, part, journaltest.Batch(off, off, 64<<10))
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// Somebody else takes the last byte. The writer waits for the room of its next segment; what was appended is neither
// refused nor lost, and the index does not kill the process by a store to a page without a block.
func TestADiskFilledBySomebodyElseIsWaitedFor(t *testing.T) {
	mnt := smallDisk(t, "40m")
	o := Options{Dir: filepath.Join(mnt, "1"), Cluster: "here", Broker: 1, SegmentBytes: 1 << 20, MemTableBytes: 1 << 20, Retention: -1, Reserve: 6 << 20}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(name string) string {
		path := filepath.Join(mnt, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		at := int64(0)
		for step := int64(8 << 20); step >= 4096; {
			if unix.Fallocate(int(f.Fd()), 0, at, step) != nil {
				step /= 2
				continue
			}
			at += step
		}
		return path
	}
	const batches = 200 // of 64 KiB: a dozen segments
	done := make(chan error, 2*batches)
	off := core.Offset(0)
	push := func() {
		for range batches {
			v.Append(part, []core.Entry{journaltest.Batch(off, off, 64<<10)}, func(_ journal.Seq, err error) { done <- err })
			off++
		}
	}
	filler := []string{fill("a"), fill("b")}
	push()
	waiting := func() bool {
		filler = append(filler, fill(fmt.Sprint("more", len(filler)))) // what the ballast gave back
		return v.log.Waiting() > 0
	}
	for deadline := time.Now().Add(30 * time.Second); !waiting(); {
		if time.Now().After(deadline) {
			t.Fatalf("%d batches were written to a disk without room", len(done))
		}
		<-time.After(5 * time.Millisecond)
	}
	if err := v.Admit(); !errors.Is(err, journal.ErrFull) || !strings.Contains(err.Error(), o.Dir) {
		t.Errorf("Admit without room: %v", err)
	}
	before := len(done)
	for _, path := range filler {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for range batches {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d batches before the disk was full, the others when there was room", before, batches)
	// A close does not wait for room: what is queued was promised to nobody.
	filler = []string{fill("c")}
	push()
	for deadline := time.Now().Add(30 * time.Second); !waiting(); {
		if time.Now().After(deadline) {
			t.Fatal("the second filler did not stop the writer")
		}
		<-time.After(5 * time.Millisecond)
	}
	if err := v.Close(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("closed without room: %v", err)
	}
	kept := batches
	for range batches {
		if err := <-done; err == nil {
			kept++
		}
	}
	if _, err := Open(o); !errors.Is(err, badger.ErrNoRoom) && !errors.Is(err, unix.ENOSPC) {
		t.Errorf("opened without room: %v", err)
	}
	for _, path := range filler {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if v, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if got := len(journaltest.Replayed(t, v, part)); got < kept {
		t.Errorf("%d of %d acknowledged batches are there", got, kept)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}
