package memory

import (
	"errors"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
)

func event(s string) []core.Entry {
	return []core.Entry{{Kind: core.EntryEvent, Payload: []byte(s)}}
}

func replayed(t *testing.T, j *Journal, s journal.Stream) (out []string) {
	t.Helper()
	err := j.Replay(s, func(b []byte) error { out = append(out, "snapshot "+string(b)); return nil },
		func(_ journal.Seq, e core.Entry) error { out = append(out, string(e.Payload)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCrashKeepsExactlyWhatWasSynced(t *testing.T) {
	j := New(Options{Manual: true})
	told := 0
	done := func(journal.Seq, error) { told++ }
	j.Append("control/a", event("one"), done)
	j.Sync()
	j.Append("control/a", event("two"), done)
	after := j.Crash()
	j.Sync()
	if got := replayed(t, after, "control/a"); len(got) != 1 || got[0] != "one" || told != 1 {
		t.Fatalf("replayed %q, %d dones", got, told)
	}
	if seq := after.Append("control/a", event("again"), nil); seq != 2 {
		t.Fatalf("the sequence after a crash continues at %d, want 2", seq)
	}
}

func TestAZombieIsNeverAnswered(t *testing.T) {
	j := New(Options{Manual: true})
	j.Crash()
	j.Append("control/a", event("late"), func(journal.Seq, error) { t.Fatal("a dead process was answered") })
	j.Sync()
}

func TestPoisonFailsWhatIsQueued(t *testing.T) {
	j := New(Options{Manual: true})
	bad := errors.New("disk gone")
	var got error
	j.Append("control/a", event("one"), func(_ journal.Seq, err error) { got = err })
	j.Poison(bad)
	j.Sync()
	if !errors.Is(got, bad) || !errors.Is(j.Err(), bad) || !errors.Is(j.Admit(), bad) {
		t.Fatalf("done got %v, Err %v", got, j.Err())
	}
	if len(replayed(t, j, "control/a")) != 0 {
		t.Fatal("a failed append is replayed")
	}
}

func TestFullRefusesToAdmitAndNothingElse(t *testing.T) {
	j := New(Options{Manual: true})
	j.SetFull(true)
	if err := j.Admit(); !errors.Is(err, journal.ErrFull) {
		t.Fatal(err)
	}
	var got error
	batch := []core.Entry{{Kind: core.EntryBatch, Op: core.IndexAdd, Payload: []byte("x")}}
	seq := j.Append("partition/a/0/1", batch, func(_ journal.Seq, err error) { got = err })
	if j.Sync(); got != nil || seq != 1 {
		t.Fatalf("a batch that was decided: sequence %d, %v", seq, got)
	}
	j.SetFull(false)
	if err := j.Admit(); err != nil {
		t.Fatal(err)
	}
}
