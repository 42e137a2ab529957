package pair

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockstep/clusterd/process"
)

// smallDisk mounts a tmpfs of size, "" where the test may not: it has printed why.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a tmpfs (%v): run as root to see a real full disk; journal/volume fills a faulty one everywhere", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes every byte that is left on the disk of path, and returns how many.
func fill(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	took := int64(0)
	for step := int64(64 << 20); step >= 4096; {
		if err := unix.Fallocate(int(f.Fd()), 0, took, step); err != nil {
			step /= 2
			continue
		}
		took += step
	}
	return took
}

// Somebody else fills the disk to the last byte while a producer runs at full speed. The process lives on and
// refuses with retriable codes; what it acknowledged is there when space is back, and after a kill.
func TestAFullDiskLosesNothingAndKillsNobody(t *testing.T) {
	dc := start(t, process.Spec{Cluster: "dc1", Dir: filepath.Join(smallDisk(t, "1500m"), "dc1")})
	dc.createTopic(t, "orders", 3)
	load := dc.produceUnderLoad(t, "orders")
	load.awaitMore(t, 1000)
	filler := filepath.Join(dc.Dir, "filler")
	before := load.Acked()
	took := fill(t, filler)
	quiet(t, load)
	took += fill(t, filler+"2")
	if took == 0 {
		t.Fatal("the disk was full already")
	}
	t.Logf("%d MiB taken by somebody else, %d records acknowledged before, %d meanwhile", took>>20, before, load.Acked()-before)
	if code, text := dc.health(t); code != 200 {
		t.Fatalf("livez with a full disk: %d %s", code, text)
	}
	for _, f := range []string{filler, filler + "2"} {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	load.awaitMore(t, 1000)
	fill(t, filler)
	quiet(t, load)
	dc.Kill()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	dc.restart(t)
	load.awaitMore(t, 1000)
	if n, err := load.Failed(); n > 0 {
		t.Errorf("the client gave up %d records: %v", n, err)
	}
	load.drain(t)
	load.compare(t, dc)
}

// quiet waits until nothing has been acknowledged for two seconds.
func quiet(t *testing.T, l *load) {
	t.Helper()
	last, since := l.Acked(), time.Now()
	eventually(t, "a full disk stops acknowledgements", func() (string, bool) {
		if now := l.Acked(); now != last {
			last, since = now, time.Now()
		}
		return since.Format(time.TimeOnly), time.Since(since) > 2*time.Second
	})
}
