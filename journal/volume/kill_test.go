package volume

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
)

const childDir = "LOCKSTEP_TEST_VOLUME_DIR"

// TestMain is the child of TestKilledProcess when it is told so.
func TestMain(m *testing.M) {
	if order := os.Getenv(childKill); order != "" {
		scriptUntilKilled(os.Getenv(childDir), order)
	}
	if dir := os.Getenv(childDir); dir != "" {
		appendUntilKilled(dir)
	}
	os.Exit(m.Run())
}

func killOptions(root string) (os []Options) {
	for i := 1; i <= 3; i++ {
		os = append(os, Options{
			Dir: filepath.Join(root, strconv.Itoa(i)), Cluster: "here", Broker: core.ReplicaID(i), SegmentBytes: 256 << 10,
			MemTableBytes: 1 << 20, Retention: -1, Reserve: 1,
		})
	}
	return os
}

// appendUntilKilled prints "volume offset" for each acknowledged batch.
func appendUntilKilled(root string) {
	vs, err := OpenAll(killOptions(root), nil)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	acks := make(chan string, 1<<16)
	for i, v := range vs {
		go func() {
			window := make(chan struct{}, 16)
			for off := core.Offset(0); ; off++ {
				window <- struct{}{}
				v.Append(part, []core.Entry{journaltest.Batch(off, off, 3000)}, func(_ journal.Seq, err error) {
					if err == nil {
						acks <- fmt.Sprintf("%d %d\n", i, off)
					}
					<-window
				})
			}
		}()
	}
	for line := range acks {
		if _, err := os.Stdout.WriteString(line); err != nil {
			os.Exit(1)
		}
	}
}

func TestAKilledProcessLosesNothingAcknowledged(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round, after := range []int{1, 100, 2000} {
		root := t.TempDir()
		child := exec.Command(self)
		child.Env = append(os.Environ(), childDir+"="+root)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		acked := []core.Offset{-1, -1, -1}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == after {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			v, off, ok := strings.Cut(lines.Text(), " ")
			i, e1 := strconv.Atoi(v)
			o, e2 := strconv.ParseInt(off, 10, 64)
			if !ok || e1 != nil || e2 != nil {
				if n > after {
					continue // cut off by the kill
				}
				t.Fatalf("child said %q", lines.Text())
			}
			acked[i] = max(acked[i], core.Offset(o))
		}
		if err := child.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		vs, err := OpenAll(killOptions(root), nil)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i, v := range vs {
			if r := v.Report(); r.Lossy != "" || r.Rebuilt != "" {
				t.Fatalf("volume %d after a kill: LOSSY %q, rebuilt %q", i+1, r.Lossy, r.Rebuilt)
			}
			found := journaltest.Batches(t, v, part, 0, 1<<30)
			if core.Offset(len(found)) <= acked[i] {
				t.Fatalf("volume %d holds %d batches, offset %d was acknowledged", i+1, len(found), acked[i])
			}
			for off, b := range found {
				if b != fmt.Sprintf("%d-%d", off, off) {
					t.Fatalf("volume %d: batch %d is %s", i+1, off, b)
				}
			}
			v.Abandon()
		}
	}
}
