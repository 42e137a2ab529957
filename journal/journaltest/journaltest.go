// Package journaltest is the one suite every journal passes: memory, the volume, the quorum.
package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
)

// Disk is where a journal under test lives.
type Disk[J journal.Journal] interface {
	// Open opens what is there. The previous journal was closed or crashed.
	Open(t *testing.T) J
	// Crash lets go of j as a dying process with a failing power supply would.
	Crash(t *testing.T, j J)
}

// Event is a small entry.
func Event(text string) core.Entry {
	return core.Entry{Kind: core.EntryEvent, Payload: []byte(text)}
}

// Batch is an indexed entry [base, last] whose payload names it and has at least size bytes.
func Batch(base, last core.Offset, size int) core.Entry {
	text := fmt.Sprintf("batch %d-%d ", base, last)
	payload := make([]byte, max(size, len(text)))
	copy(payload, text)
	for i := len(text); i < len(payload); i++ {
		payload[i] = byte(i*31 + int(base))
	}
	return core.Entry{
		Kind: core.EntryBatch, Op: core.IndexAdd, Base: base, Last: last, Epoch: 3, MaxTimestamp: 1000 + int64(last),
		Note: base, Payload: payload,
	}
}

// Truncate and Trim are the entries that shrink an index.
func Truncate(at core.Offset) core.Entry {
	return core.Entry{Kind: core.EntryEvent, Op: core.IndexTruncate, Base: at, Payload: []byte("truncate")}
}

// Trim removes what ends below at.
func Trim(at core.Offset) core.Entry {
	return core.Entry{Kind: core.EntryEvent, Op: core.IndexTrim, Base: at, Payload: []byte("trim")}
}

// Replace is a batch in the place of all that end in [base, last].
func Replace(base, last core.Offset, size int) core.Entry {
	e := Batch(base, last, size)
	e.Op = core.IndexReplace
	return e
}

// Append appends and waits for the done.
func Append(t testing.TB, j journal.Journal, s journal.Stream, entries ...core.Entry) journal.Seq {
	t.Helper()
	type told struct {
		seq journal.Seq
		err error
	}
	done := make(chan told, 1)
	seq := j.Append(s, entries, func(d journal.Seq, err error) { done <- told{d, err} })
	got := <-done
	if got.err != nil {
		t.Fatalf("append to %s: %v", s, got.err)
	}
	if got.seq < seq {
		t.Fatalf("done says %d is durable, %d was appended", got.seq, seq)
	}
	return seq
}

// Settle waits for one call of a journal.
func Settle(t testing.TB, call func(journal.Done)) {
	t.Helper()
	done := make(chan error, 1)
	call(func(_ journal.Seq, err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Replayed renders what a replay hands out, one string a call.
func Replayed(t testing.TB, j journal.Journal, s journal.Stream) []string {
	t.Helper()
	var out []string
	err := j.Replay(s,
		func(b []byte) error { out = append(out, "snapshot "+string(b)); return nil },
		func(seq journal.Seq, e core.Entry) error {
			text := string(e.Payload)
			if e.Kind == core.EntryBatch {
				text = fmt.Sprintf("batch %d-%d", e.Base, e.Last)
			}
			out = append(out, fmt.Sprintf("%d %s", seq, text))
			return nil
		})
	if err != nil {
		t.Fatalf("replay of %s: %v", s, err)
	}
	return out
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

// Journal runs what every journal promises.
func Journal[J journal.Journal](t *testing.T, fresh func(t *testing.T) Disk[J]) {
	run := func(name string, f func(t *testing.T, d Disk[J], j J)) {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			f(t, d, d.Open(t))
		})
	}
	run("replay hands out what was appended, per stream and in order", func(t *testing.T, d Disk[J], j J) {
		Append(t, j, "control/a", Event("one"), Event("two"))
		Append(t, j, "control/ab", Event("other"))
		if seq := Append(t, j, "control/a", Event("three")); seq != 3 {
			t.Fatalf("third entry has sequence %d", seq)
		}
		same(t, Replayed(t, j, "control/a"), "1 one", "2 two", "3 three")
		same(t, Replayed(t, j, "control/ab"), "1 other")
		same(t, Replayed(t, j, "control/none"))
		closed(t, j)
		j = d.Open(t)
		same(t, Replayed(t, j, "control/a"), "1 one", "2 two", "3 three")
		if seq := Append(t, j, "control/a", Event("four")); seq != 4 {
			t.Fatalf("the sequence continues at %d", seq)
		}
		closed(t, j)
	})
	run("every field of an entry survives", func(t *testing.T, d Disk[J], j J) {
		want := core.Entry{
			Kind: core.EntryEvent, Note: 41, Payload: []byte{0, 1, 2, 255},
		}
		Append(t, j, "control/a", want)
		closed(t, j)
		j = d.Open(t)
		if err := j.Replay("control/a", nil, func(_ journal.Seq, e core.Entry) error {
			if e.Kind != want.Kind || e.Note != want.Note || string(e.Payload) != string(want.Payload) {
				t.Fatalf("got %+v", e)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		closed(t, j)
	})
	run("a replay starts at the newest snapshot", func(t *testing.T, d Disk[J], j J) {
		Append(t, j, "control/a", Event("one"), Event("two"))
		Settle(t, func(done journal.Done) { j.Snapshot("control/a", []byte("1+2"), done) })
		Append(t, j, "control/a", Event("three"))
		same(t, Replayed(t, j, "control/a"), "snapshot 1+2", "3 three")
		Settle(t, func(done journal.Done) { j.Snapshot("control/a", []byte("all"), done) })
		closed(t, j)
		j = d.Open(t)
		same(t, Replayed(t, j, "control/a"), "snapshot all")
		if seq := Append(t, j, "control/a", Event("four")); seq != 4 {
			t.Fatalf("the sequence continues at %d", seq)
		}
		same(t, Replayed(t, j, "control/a"), "snapshot all", "4 four")
		closed(t, j)
	})
	run("an empty snapshot of an empty stream is a snapshot", func(t *testing.T, d Disk[J], j J) {
		Settle(t, func(done journal.Done) { j.Snapshot("control/a", []byte{}, done) })
		same(t, Replayed(t, j, "control/a"), "snapshot ")
		closed(t, j)
	})
	run("a dropped stream is forgotten and its name can be used again", func(t *testing.T, d Disk[J], j J) {
		Append(t, j, "control/a", Event("one"))
		Append(t, j, "control/b", Event("stays"))
		Settle(t, func(done journal.Done) { j.Drop("control/a", done) })
		same(t, Replayed(t, j, "control/a"))
		names, err := j.Streams("control/")
		if err != nil || len(names) != 1 || names[0] != "control/b" {
			t.Fatalf("streams %v, %v", names, err)
		}
		seq := Append(t, j, "control/a", Event("again"))
		closed(t, j)
		j = d.Open(t)
		same(t, Replayed(t, j, "control/a"), fmt.Sprintf("%d again", seq))
		closed(t, j)
	})
	run("streams are listed by prefix, sorted", func(t *testing.T, d Disk[J], j J) {
		for _, s := range []journal.Stream{"control/x-2", "control/x-1", "control/y"} {
			Append(t, j, s, Event("x"))
		}
		names, err := j.Streams("control/x")
		if err != nil || !slices.Equal(names, []journal.Stream{"control/x-1", "control/x-2"}) {
			t.Fatalf("streams %v, %v", names, err)
		}
		closed(t, j)
	})
	run("dones come in order and an error of a callback ends the replay", func(t *testing.T, d Disk[J], j J) {
		var mu sync.Mutex
		var told []journal.Seq
		var all sync.WaitGroup
		for range 200 {
			all.Add(1)
			j.Append("control/a", []core.Entry{Event("x")}, func(seq journal.Seq, err error) {
				mu.Lock()
				told = append(told, seq)
				mu.Unlock()
				all.Done()
			})
		}
		all.Wait()
		if !slices.IsSorted(told) || told[len(told)-1] != 200 {
			t.Fatalf("dones in the order %v", told)
		}
		stop := errors.New("stop")
		n := 0
		err := j.Replay("control/a", nil, func(journal.Seq, core.Entry) error { n++; return stop })
		if !errors.Is(err, stop) || n != 1 {
			t.Fatalf("replay ended with %v after %d entries", err, n)
		}
		closed(t, j)
	})
	run("what was acknowledged survives a crash, in order and without holes", func(t *testing.T, d Disk[J], j J) {
		var mu sync.Mutex
		acked := journal.Seq(0)
		half := make(chan struct{})
		for i := range 400 {
			j.Append("control/a", []core.Entry{Event(fmt.Sprint("entry ", i+1))}, func(seq journal.Seq, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					acked = max(acked, seq)
				}
				if i == 200 {
					close(half)
				}
			})
		}
		<-half
		d.Crash(t, j)
		mu.Lock()
		must := acked
		mu.Unlock()
		j = d.Open(t)
		got := Replayed(t, j, "control/a")
		if journal.Seq(len(got)) < must {
			t.Fatalf("%d entries replayed, %d were acknowledged", len(got), must)
		}
		for i, line := range got {
			if want := fmt.Sprintf("%d entry %d", i+1, i+1); line != want {
				t.Fatalf("entry %d is %q", i+1, line)
			}
		}
		closed(t, j)
	})
	run("an append after Close fails in done", func(t *testing.T, d Disk[J], j J) {
		closed(t, j)
		got := make(chan error, 1)
		j.Append("control/a", []core.Entry{Event("late")}, func(_ journal.Seq, err error) { got <- err })
		if err := <-got; !errors.Is(err, journal.ErrClosed) {
			t.Fatalf("got %v", err)
		}
	})
}

func closed(t testing.TB, j journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
