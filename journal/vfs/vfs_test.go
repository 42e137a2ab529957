package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func write(t *testing.T, f File, off int64, bufs ...string) {
	t.Helper()
	var bs [][]byte
	for _, b := range bufs {
		bs = append(bs, []byte(b))
	}
	if err := f.WriteAt(bs, off); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, d FS, name string) string {
	t.Helper()
	f, err := d.OpenRead(name)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		t.Fatal(err)
	}
	return string(b)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Real and barrier directories behave alike as long as nothing crashes.
func TestDirectoriesBehaveAlike(t *testing.T) {
	real, err := NewReal(filepath.Join(t.TempDir(), "a", "b"))
	must(t, err)
	for name, d := range map[string]FS{"real": real, "barrier": NewBarrier("x", &Power{}), "faulty": NewFaulty(NewBarrier("x", &Power{}))} {
		t.Run(name, func(t *testing.T) {
			f, err := d.Create("one")
			must(t, err)
			write(t, f, 0, "hello", "", " ", "world")
			write(t, f, 6, "there")
			must(t, f.Sync())
			if got := content(t, d, "one"); got != "hello there" {
				t.Fatalf("read %q", got)
			}
			if _, err := d.Create("one"); !errors.Is(err, fs.ErrExist) {
				t.Fatalf("created twice: %v", err)
			}
			if _, err := d.Open("two"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("opened what is not there: %v", err)
			}
			must(t, d.Rename("one", "two"))
			must(t, d.SyncDir())
			unlock, err := d.Lock()
			must(t, err)
			if _, err := d.Lock(); !errors.Is(err, ErrLocked) {
				t.Fatalf("locked twice: %v", err)
			}
			must(t, unlock())
			must(t, d.Remove("two"))
			names, err := d.List()
			must(t, err)
			for _, n := range names {
				if n != "LOCK" {
					t.Fatalf("left over: %v", names)
				}
			}
			if free, err := d.Free(); err != nil || free <= 0 {
				t.Fatalf("free: %d, %v", free, err)
			}
		})
	}
}

func TestManyBuffersAreOneWrite(t *testing.T) {
	d, err := NewReal(t.TempDir())
	must(t, err)
	f, err := d.Create("many")
	must(t, err)
	var bufs [][]byte
	var want []byte
	for i := range 3000 { // more than one pwritev takes
		b := bytes.Repeat([]byte{byte(i)}, i%7)
		bufs = append(bufs, b)
		want = append(want, b...)
	}
	must(t, f.WriteAt(bufs, 3))
	if got := content(t, d, "many"); got != "\x00\x00\x00"+string(want) {
		t.Fatalf("%d bytes, want %d", len(got), len(want)+3)
	}
}

func TestFilesArePrivateAndLinksAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	d, err := NewReal(dir)
	must(t, err)
	f, err := d.Create("f")
	must(t, err)
	must(t, f.Close())
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "f"): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
	}
	must(t, os.Symlink(filepath.Join(dir, "f"), filepath.Join(dir, "link")))
	if _, err := d.Open("link"); !errors.Is(err, unix.ELOOP) {
		t.Fatalf("a planted link was opened: %v", err)
	}
}

func TestAPowerLossKeepsWhatWasSyncedAndNothingElse(t *testing.T) {
	power := &Power{}
	d := NewBarrier("x", power)
	f, err := d.Create("named")
	must(t, err)
	write(t, f, 0, "synced")
	must(t, f.Sync())
	must(t, d.SyncDir())
	write(t, f, 0, "SYNCED")
	g, err := d.Create("unnamed") // its data is synced, its name is not
	must(t, err)
	write(t, g, 0, "data")
	must(t, g.Sync())
	must(t, d.Rename("named", "renamed"))

	after := d.Crash(&Power{}, nil)
	if names, _ := after.List(); len(names) != 1 || content(t, after, "named") != "synced" {
		t.Fatalf("after the loss: %v", names)
	}
	all := d.Crash(&Power{}, func() bool { return true })
	if content(t, all, "renamed") != "SYNCED" || content(t, all, "unnamed") != "data" {
		t.Fatal("a kind disk lost something")
	}
	if err := f.Sync(); !errors.Is(err, ErrPowerLost) {
		t.Fatalf("a dead disk synced: %v", err)
	}
}

func TestATornWriteKeepsSomeSectors(t *testing.T) {
	d := NewBarrier("x", &Power{})
	f, err := d.Create("f")
	must(t, err)
	must(t, f.WriteAt([][]byte{make([]byte, 3*sector)}, 0))
	must(t, f.Sync())
	must(t, d.SyncDir())
	must(t, f.WriteAt([][]byte{bytes.Repeat([]byte("x"), 3*sector)}, 0))
	n := 0
	after := d.Crash(&Power{}, func() bool { n++; return n == 3 }) // the names, then sector 0, 1, 2
	got := after.Bytes("f")
	if got[0] != 0 || got[sector] != 'x' || got[2*sector] != 0 {
		t.Fatalf("sectors hold %q %q %q", got[0], got[sector], got[2*sector])
	}
}

func TestPowerIsCutAtTheSyncThatWasAskedFor(t *testing.T) {
	power := &Power{}
	a, b := NewBarrier("a", power), NewBarrier("b", power)
	power.CutAtSync(2)
	must(t, a.SyncDir())
	if err := b.SyncDir(); !errors.Is(err, ErrPowerLost) {
		t.Fatalf("second sync: %v", err)
	}
	if _, err := a.List(); !errors.Is(err, ErrPowerLost) {
		t.Fatalf("the other directory lives on: %v", err)
	}
}

func TestFaultsComeWhenTheyAreDue(t *testing.T) {
	d := NewFaulty(NewBarrier("x", &Power{}))
	f, err := d.Create("f")
	must(t, err)
	d.Set(Faults{WriteAt: 2, ShortKeep: 3, SyncAt: 1, FullAt: 100})
	write(t, f, 0, "0123456789")
	if err := f.WriteAt([][]byte{[]byte("ab"), []byte("cdef")}, 0); !errors.Is(err, unix.EIO) {
		t.Fatalf("second write: %v", err)
	}
	if got := content(t, d, "f"); got != "abc3456789" {
		t.Fatalf("a torn write left %q", got)
	}
	if err := f.Sync(); !errors.Is(err, unix.EIO) {
		t.Fatalf("first sync: %v", err)
	}
	must(t, f.Sync())
	if err := f.WriteAt([][]byte{make([]byte, 101)}, 0); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("a write beyond the end of the disk: %v", err)
	}
}
