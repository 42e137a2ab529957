package volume

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/log"
)

// A volume whose index points to a segment that is gone: a bug, or a hand in the directory. A read names what is
// missing instead of looking for ever; the next open makes the index again and says what the log lost.
func TestAnIndexThatPointsNowhereIsMadeAgain(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("the log lost something: ", lost), func(t *testing.T) {
			g := newRig(t, 1)
			o := g.options()[0]
			m := newTold()
			v, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			journaltest.Append(t, v, part, journaltest.Batch(0, 0, 100))
			m.run(v, rand.New(rand.NewPCG(1, 1)), 80, func(int) {})
			if lost {
				if err := v.log.Retire(1); err != nil { // nobody copied what it holds
					t.Fatal(err)
				}
				replay := v.Replay(part, func([]byte) error { return nil }, func(journal.Seq, core.Entry) error { return nil })
				_, read := v.ReadBatches(part, 0, 1<<30)
				for _, err := range []error{replay, read} {
					if !errors.Is(err, log.ErrMoved) || !strings.Contains(err.Error(), "segment 1") || !strings.Contains(err.Error(), "restart this broker") {
						t.Fatalf("the running volume answers %v", err)
					}
				}
			} else if err := v.distrust(log.ErrMoved); err == nil {
				t.Fatal("no error")
			}
			if err := v.Close(); err != nil { // a clean close does not make it believable
				t.Fatal(err)
			}
			if v, err = Open(o); err != nil {
				t.Fatal(err)
			}
			if r := v.Report(); r.Rebuilt == "" || (r.Lossy != "") != lost {
				t.Fatalf("rebuilt %q, LOSSY %q", r.Rebuilt, r.Lossy)
			}
			if !lost {
				m.settle(t, v)
			}
			counted(t, v)
			v.Abandon()
		})
	}
}

// A process that ends while it removes an index leaves any part of it. The next open takes nothing of that, and does
// not say that the index pointed to something that is gone: that is what an operator looks into. Found by a kill
// of three volumes that were made at the same time.
func TestAnIndexHalfRemovedIsMadeAgain(t *testing.T) {
	g := newRig(t, 1)
	o := g.options()[0]
	m := newTold()
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	m.run(v, rand.New(rand.NewPCG(1, 1)), 80, func(int) {})
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, bootName), []byte(indexMaking), 0o600); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(o.Dir, indexName, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("the index has no table to remove (%v)", err)
	}
	for _, gone := range append(tables, filepath.Join(o.Dir, indexName, "MANIFEST")) {
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
	}
	if v, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer v.Abandon()
	if r := v.Report(); !strings.Contains(r.Rebuilt, "being made") || r.Lossy != "" {
		t.Fatalf("rebuilt %q, LOSSY %q", r.Rebuilt, r.Lossy)
	}
	m.settle(t, v)
	counted(t, v)
}

// An index that cannot be removed is not declared believable: half of it may be gone.
func TestAnIndexThatCannotBeRemovedIsNotBelieved(t *testing.T) {
	g := newRig(t, 1)
	o := g.options()[0]
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	v.Abandon()
	g.boot++
	o = g.options()[0]
	held := filepath.Join(o.Dir, indexName, "held")
	if err := os.Mkdir(held, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", held, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a mount point, which cannot be removed, needs rights this process has not: %v", err)
	}
	mounted := true
	defer func() {
		if mounted {
			_ = syscall.Unmount(held, 0)
		}
	}()
	if _, err := Open(o); !errors.Is(err, syscall.EBUSY) {
		t.Fatalf("opened with %v", err)
	}
	if why := distrusted(o.Dir, o.BootID); why == "" {
		t.Fatal("what is left of the index is believed at the next open")
	}
	if err := syscall.Unmount(held, 0); err != nil {
		t.Fatal(err)
	}
	mounted = false
	if v, err = Open(o); err != nil || v.Report().Rebuilt == "" {
		t.Fatalf("opened with %v", err)
	}
	v.Abandon()
}
