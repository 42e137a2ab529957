package quarantine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var note = Note{Topic: "AAECAwQFBgcICQoLDA0ODw", Partition: 3, From: 10, To: 12, Mirror: "dr", SourceEpoch: 7, LeaderEpoch: 17,
	Reason: "source epoch 7", Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)}

func put(t *testing.T, dir, bytes string) string {
	t.Helper()
	path, err := Write(dir, note, func(w io.Writer) error { _, err := io.WriteString(w, bytes); return err })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheSameRangeCutTwiceIsKeptTwice(t *testing.T) {
	dir := t.TempDir()
	first, second := put(t, dir, "one"), put(t, dir, "other")
	for path, want := range map[string]string{first: "one", second: "other"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
		}
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, r := range list {
		want := note
		want.Bytes, want.SHA256 = r.Bytes, r.SHA256
		if r.Note != want || r.Problem != "" {
			t.Errorf("listed as %+v", r)
		}
	}
}

func TestAFailedCopyLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	full := errors.New("no space left on device")
	if _, err := Write(dir, note, func(w io.Writer) error { io.WriteString(w, "half"); return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, Directory)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheListSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if list, err := List(dir); err != nil || len(list) != 0 {
		t.Fatalf("a directory that never cut anything: %v, %v", list, err)
	}
	if _, err := List(filepath.Join(dir, "absent")); err == nil {
		t.Error("an absent data directory has no quarantine, rather than an error")
	}
	changed, unfinished := put(t, dir, "abc"), put(t, dir, "def")
	if err := os.WriteFile(changed, []byte("abd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(noteOf(unfinished)); err != nil {
		t.Fatal(err)
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, r := range list {
		want := map[string]string{changed: "changed", unfinished: "not finished"}[r.Path]
		if want == "" || !strings.Contains(r.Problem, want) {
			t.Errorf("%s: %q, want %q", r.Path, r.Problem, want)
		}
	}
}
