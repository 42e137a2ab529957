package volume

import (
	"encoding/binary"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
)

// The entries of a stream count 1, 2, 3 and so on, and a snapshot is the count so far.
const countStream = journal.Stream("partition/t/0/1")

func count(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// replayed is where the count ends; between is called before each entry. Holes end the test.
func replayed(t *testing.T, v *Volume, between func(n uint64)) (n uint64) {
	t.Helper()
	if err := v.Replay(countStream, func(b []byte) error { n = binary.BigEndian.Uint64(b); return nil }, func(_ journal.Seq, e core.Entry) error {
		between(n)
		if got := binary.BigEndian.Uint64(e.Payload); got != n+1 {
			t.Fatalf("entry %d follows %d", got, n)
		}
		n++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func appendCount(t *testing.T, v *Volume, from, to uint64) {
	t.Helper()
	var entries []core.Entry
	for n := from; n <= to; n++ {
		entries = append(entries, core.Entry{Kind: core.EntryEvent, Payload: count(n)})
	}
	journaltest.Append(t, v, countStream, entries...)
}

// A broker that is stopped leaves snapshots in the queue of its volume, and may be started before they are written. A
// replica that replayed the snapshot before, without what the newer one had taken out of the index, had forgotten records
// that it had vouched for.
func TestASnapshotThatComesDuringAReplayLeavesNothingOut(t *testing.T) {
	v := (&dir{t.TempDir(), 1 << 20}).Open(t)
	const all = 2500 // a replay looks at a thousand at a time
	appendCount(t, v, 1, 10)
	journaltest.Settle(t, func(done journal.Done) { v.Snapshot(countStream, count(10), done) })
	appendCount(t, v, 11, all)
	snapshots := 0
	if n := replayed(t, v, func(n uint64) {
		if n == 300 {
			snapshots++
			journaltest.Settle(t, func(done journal.Done) { v.Snapshot(countStream, count(all), done) })
		}
	}); n != all || snapshots != 1 {
		t.Errorf("%d of %d entries are replayed beside %d snapshots", n, all, snapshots)
	}
}

func TestReplaysBesideSnapshotsAreWhole(t *testing.T) {
	v := (&dir{t.TempDir(), 1 << 20}).Open(t)
	all := uint64(0)
	for range 150 {
		appendCount(t, v, all+1, all+40)
		all += 40
		written := make(chan error, 1)
		v.Snapshot(countStream, count(all), func(_ journal.Seq, err error) { written <- err })
		for waiting := true; waiting; {
			if n := replayed(t, v, func(uint64) {}); n != all {
				t.Fatalf("%d of %d entries are replayed", n, all)
			}
			select {
			case err := <-written:
				if waiting = false; err != nil {
					t.Fatal(err)
				}
			default:
			}
		}
	}
}
