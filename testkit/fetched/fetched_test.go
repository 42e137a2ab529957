package fetched

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatIsKeptIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	fill := func(result error) error {
		return Once(dir, func(half string) error {
			if err := os.WriteFile(filepath.Join(half, "file"), nil, 0o600); err != nil {
				return err
			}
			return result
		})
	}
	broken := errors.New("the registry hung up")
	if err := fill(broken); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("half of it was kept")
	}
	for range 2 {
		if err := fill(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
			t.Fatal(err)
		}
	}
	if err := fill(broken); err != nil {
		t.Fatalf("what is there was made again: %v", err)
	}
}

func TestAComplaintIsInTheError(t *testing.T) {
	err := Run(t.Context(), "", "", "sh", "-c", "echo no such thing >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Fatalf("got %v", err)
	}
}

func TestTheEndOfARunnerEndsWhatItStarted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", file).Run(); err != nil {
		t.Skip("no mkfifo here")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "sh", "-c", "sh -c 'exec 3>"+file+"; while :; do sleep 1; done' & wait")
	Group(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(file) // returns when the grandchild holds the other end
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	cancel()
	_ = cmd.Wait()
	ended := make(chan error, 1)
	go func() { _, err := held.Read(make([]byte, 1)); ended <- err }()
	select {
	case <-ended: // end of file: nobody holds it any more
	case <-time.After(20 * time.Second):
		t.Fatal("the grandchild lives on")
	}
}
