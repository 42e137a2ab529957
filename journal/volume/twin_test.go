package volume

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/memory"
)

// TestAVolumeEqualsItsDumbTwin runs random programs on a volume and on memory: whatever was appended,
// truncated, trimmed, snapshotted, dropped, cleaned, reopened and rebuilt, both hand out the same.
func TestAVolumeEqualsItsDumbTwin(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { twins(t, rand.New(rand.NewPCG(seed, 11))) })
	}
}

func twins(t *testing.T, r *rand.Rand) {
	o := Options{Dir: t.TempDir(), Cluster: "here", Broker: 1, SegmentBytes: 16 << 10, MemTableBytes: 1 << 20, Retention: -1, Reserve: 1}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	twin := memory.New(memory.Options{})
	streams := []journal.Stream{"partition/a/0/1", "partition/b/0/1", "partition/bb/0/1"}
	next := map[journal.Stream]core.Offset{}
	compare := func(step int) {
		t.Helper()
		for _, s := range streams {
			if got, want := journaltest.Batches(t, v, s, 0, 1<<30), journaltest.Batches(t, twin, s, 0, 1<<30); !slices.Equal(got, want) {
				t.Fatalf("step %d, %s: batches\ngot  %v\nwant %v", step, s, got, want)
			}
			if got, want := journaltest.Replayed(t, v, s), journaltest.Replayed(t, twin, s); !slices.Equal(got, want) {
				t.Fatalf("step %d, %s: replay\ngot  %v\nwant %v", step, s, got, want)
			}
		}
		got, _ := v.Streams("")
		want, _ := twin.Streams("")
		if !slices.Equal(got, want) {
			t.Fatalf("step %d: streams %v, want %v", step, got, want)
		}
	}
	both := func(call func(j journal.Volume)) {
		call(v)
		call(twin)
	}
	for step := range 250 {
		s := streams[r.IntN(len(streams))]
		switch k := r.IntN(20); {
		case k < 10:
			base := next[s]
			last := base + core.Offset(r.IntN(5))
			next[s] = last + 1
			e := journaltest.Batch(base, last, 200+r.IntN(1500))
			both(func(j journal.Volume) { journaltest.Append(t, j, s, e) })
		case k < 12:
			both(func(j journal.Volume) {
				journaltest.Append(t, j, s, journaltest.Event("one"), journaltest.Event("two"))
			})
		case k < 14:
			at := core.Offset(r.Int64N(int64(next[s]) + 1))
			found := journaltest.Batches(t, twin, s, at, 1)
			if len(found) > 0 { // a leader truncates to a boundary, and the log goes on there
				if _, err := fmt.Sscanf(found[0], "%d-", &at); err != nil {
					t.Fatal(err)
				}
			}
			both(func(j journal.Volume) { journaltest.Append(t, j, s, journaltest.Truncate(at)) })
			next[s] = at
		case k < 15:
			at := core.Offset(r.Int64N(int64(next[s]) + 1))
			both(func(j journal.Volume) { journaltest.Append(t, j, s, journaltest.Trim(at)) })
		case k < 17:
			both(func(j journal.Volume) {
				journaltest.Settle(t, func(done journal.Done) { j.Snapshot(s, fmt.Append(nil, step), done) })
			})
		case k < 18:
			if r.IntN(3) == 0 {
				both(func(j journal.Volume) { journaltest.Settle(t, func(done journal.Done) { j.Drop(s, done) }) })
				next[s] = 0
			}
		default:
			if err := v.Clean(); err != nil {
				t.Fatal(err)
			}
		}
		if step%50 == 49 {
			compare(step)
			if r.IntN(2) == 0 {
				v.Abandon()
			} else if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			o.Rebuild = r.IntN(2) == 0
			if v, err = Open(o); err != nil {
				t.Fatal(err)
			}
			compare(step)
			numbers, _ := v.log.Segments()
			for _, n := range numbers {
				if u := v.index.Usage(n); u.Live < 0 || u.Live > v.log.SegmentBytes(n) {
					t.Fatalf("step %d: segment %d has %d live bytes", step, n, u.Live)
				}
			}
		}
	}
	v.Abandon()
}
