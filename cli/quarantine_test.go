package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"lockstep/journal/quarantine"
)

func TestQuarantineIsListedAndAChangedFileIsNoticed(t *testing.T) {
	dir := t.TempDir()
	var none bytes.Buffer
	if got := run([]string{"clusterctl", "journal", "quarantine", "--data-dir", dir}, &none, io.Discard); got != 0 || !strings.Contains(none.String(), "No truncation") {
		t.Errorf("of nothing: exit code %d, %q", got, none.String())
	}
	path, err := quarantine.Write(dir, quarantine.Note{Topic: "AAECAwQFBgcICQoLDA0ODw", Partition: 2, From: 40, To: 44, Mirror: "dr",
		SourceEpoch: 7, LeaderEpoch: 1024, Reason: "source epoch 7", Time: time.Unix(1e9, 0).UTC()},
		func(w io.Writer) error { _, err := io.WriteString(w, "batches"); return err })
	if err != nil {
		t.Fatal(err)
	}
	list := func(want int, flags ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(append([]string{"clusterctl", "journal", "quarantine", "--data-dir", dir}, flags...), &out, &errs); got != want {
			t.Fatalf("exit code %d, want %d: %s", got, want, errs.String())
		}
		return out.String()
	}
	text := list(0)
	for _, cell := range []string{"AAECAwQFBgcICQoLDA0ODw 2", " 40   44 dr ", "intact", "source epoch 7", path} {
		if !strings.Contains(text, cell) {
			t.Errorf("the table lacks %q:\n%s", cell, text)
		}
	}
	var rows []quarantine.Range
	if err := json.Unmarshal([]byte(list(0, "--json")), &rows); err != nil || len(rows) != 1 || rows[0].From != 40 || rows[0].LeaderEpoch != 1024 || rows[0].Path != path {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := list(exitUnwanted); !strings.Contains(text, "changed since") {
		t.Error(text)
	}
}
