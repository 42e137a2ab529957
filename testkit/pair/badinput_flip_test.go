package pair

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/clusterd/process"
)

// One byte of an acknowledged batch changes on the disk of a stopped broker. The volume refuses to open and says where
// and what to do; the others serve; moved away, it comes back LOSSY and is filled by its peers.
func TestOneFlippedByteIsNoticedAndRefilled(t *testing.T) {
	dc := start(t, process.Spec{Cluster: "dc1"})
	dc.createTopic(t, "orders", 1)
	for range 20 {
		dc.mustProduce(t, "orders", 0, "a record that somebody was promised")
	}
	mustStop(t, dc)
	dir := filepath.Join(dc.Dir, "broker-2")
	flipByte(t, dir, []byte("a record that somebody was promised"))
	verified, err := exec.Command(products(t).Clusterctl, "journal", "verify", "--data-dir", dir).CombinedOutput()
	if code := exitCode(err); code != 2 || !strings.Contains(string(verified), ".seg") {
		t.Errorf("verify: exit code %d\n%s", code, verified)
	}

	dc.restart(t)
	for _, part := range []string{"volume not opened", "broker=2", ".seg at offset", "refill this volume from its peers"} {
		if !strings.Contains(dc.Log(), part) {
			t.Errorf("the log does not say %q: %s", part, dc.Log())
		}
	}
	last := dc.mustProduce(t, "orders", 0, "with two of three volumes")
	if last != 20 {
		t.Errorf("the record has offset %d, 20 were acknowledged before", last)
	}

	mustStop(t, dc)
	if err := os.Rename(dir, dir+".damaged"); err != nil {
		t.Fatal(err)
	}
	dc.restart(t)
	dc.mustProduce(t, "orders", 0, "with a new volume")
	eventually(t, "broker 2 is filled and in sync again", func() (string, bool) {
		list, err := exec.Command(products(t).Clusterctl, "brokers", "list", "--http", dc.HTTP).CombinedOutput()
		return string(list), err == nil && strings.Count(string(list), " live") == 3
	})
	for _, id := range []string{"1", "3"} {
		dc.clusterctl(t, "brokers", "stop", "--http", dc.HTTP, id)
	}
	eventually(t, "broker 2 alone has everything", func() (string, bool) {
		return "", dc.partition(t, "orders", 0).address == dc.Kafka[1].Address
	})
	if n := bytes.Count(dc.consume(t, "orders", 0).bytes, []byte("a record that somebody was promised")); n != 20 {
		t.Errorf("%d of 20 acknowledged records are on the refilled volume", n)
	}
}

// flipByte changes a byte of the first place in dir's segments that holds text.
func flipByte(t *testing.T, dir string, text []byte) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "log", "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range segments {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(raw, text); i >= 0 {
			raw[i+3] ^= 4
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%q is in no segment of %s", text, dir)
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
