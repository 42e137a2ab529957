package compaction

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"lockstep/protocol/batch"
)

func TestTheNewestRecordOfAKeyStays(t *testing.T) {
	var l log
	l.add(1, nobody, false, "a=1", "b=1", "a=2")
	l.add(1, nobody, false, "b=2", "=none")
	l.add(1, nobody, false, "a=3", "c=1")
	end := l.next()
	l = l.clean(t, Pass{})
	if got := show(l.committed(t)); got != "3:b=2 4:=none 5:a=3 6:c=1" || l.next() != end {
		t.Fatal(got)
	}
	// The first batch is empty, and says so: nobody who reads from 0 takes it for a loss.
	if b := l[0]; !b.IsNothing() || b.BaseOffset != 0 || b.LastOffset() != 2 || len(l) != 3 {
		t.Fatalf("%+v", l)
	}
	if steps, _, _ := l.cleaned(t, Pass{}, 0, end, 1<<20); len(steps) != 1 {
		t.Fatal("a second pass has nothing to do")
	}
}

// TestAnAbortedRecordHidesNoCommittedOne: compat-R01.
func TestAnAbortedRecordHidesNoCommittedOne(t *testing.T) {
	var l log
	l.add(1, nobody, false, "a=good", "b=old")
	l.add(1, 7, true, "a=bad")
	l.add(1, 8, true, "b=new")
	l.end(1, 7, false)
	l.end(1, 8, true)
	l = l.clean(t, Pass{})
	if got := show(l.committed(t)); got != "0:a=good 3:b=new" {
		t.Fatal(got)
	}
	for _, b := range l {
		if b.ProducerID == 7 && !b.IsControl() && b.Records > 0 {
			t.Fatal("aborted records stay")
		}
	}
}

// TestAMarkerGoesAfterItsData: compat-R02.
func TestAMarkerGoesAfterItsData(t *testing.T) {
	var l log
	l.add(1, 7, true, "a=1", "b=1")
	l.end(1, 7, true)
	l.add(1, 7, true, "c=1")
	l.end(1, 7, false)
	l.add(1, 7, true, "a=2")
	l.end(1, 7, true)
	l.add(1, nobody, false, "a=3")
	markers := func() (n int) {
		for _, b := range l {
			if b.IsControl() {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		now     int64
		remove  bool
		markers int
	}{{1000, true, 3}, {1099, true, 3}, {1100, false, 3}, {1100, true, 2}, {1 << 40, true, 2}} {
		l = l.clean(t, Pass{Now: step.now, Retention: 100, Remove: step.remove})
		if got := show(l.committed(t)); got != "1:b=1 7:a=3" || markers() != step.markers {
			t.Fatalf("at %d: %s, %d markers", step.now, got, markers())
		}
	}
	// b's marker commits it, and the last one of the producer says which epoch it has.
	l.add(1, nobody, false, "b=2")
	l = l.clean(t, Pass{Now: 1 << 41, Retention: 100, Remove: true})
	l = l.clean(t, Pass{Now: 1 << 42, Retention: 100, Remove: true})
	if got := show(l.committed(t)); got != "7:a=3 8:b=2" || markers() != 1 {
		t.Fatalf("%s, %d markers", got, markers())
	}
}

// TestTombstonesStayForTheirTime: compat-R04.
func TestTombstonesStayForTheirTime(t *testing.T) {
	var l log
	l.add(1, nobody, false, "a=1", "b=1")
	l.add(1, nobody, false, "a", "c=1")
	l.add(1, nobody, false, "d=1")
	for _, step := range []struct {
		now    int64
		remove bool
		left   string
	}{
		{5000, true, "1:b=1 2:a 3:c=1 4:d=1"},
		{5099, true, "1:b=1 2:a 3:c=1 4:d=1"},
		{5100, false, "1:b=1 2:a 3:c=1 4:d=1"}, // somebody has yet to copy it
		{5100, true, "1:b=1 3:c=1 4:d=1"},
	} {
		steps, _, horizon := l.cleaned(t, Pass{Now: step.now, Retention: 100, Remove: step.remove}, 0, l.next(), 1<<20)
		l = steps[len(steps)-1]
		if got := show(l.committed(t)); got != step.left {
			t.Fatalf("at %d: %s", step.now, got)
		}
		if waits := step.left != "1:b=1 3:c=1 4:d=1"; waits != (horizon == 5100) {
			t.Fatalf("at %d: the next one goes at %d", step.now, horizon)
		}
	}
	l.add(1, nobody, false, "c", "c=2")
	if got := show(l.clean(t, Pass{Now: 6000, Retention: 1 << 62}).committed(t)); got != "1:b=1 4:d=1 6:c=2" {
		t.Fatal(got)
	}
}

// TestAProducersLastBatchStays: compat-T06.
func TestAProducersLastBatchStays(t *testing.T) {
	var l log
	l.add(1, 7, false, "a=1")
	l.add(1, 7, false, "a=2")
	l.add(1, 8, false, "a=3")
	l.add(1, nobody, false, "a=4")
	l = l.clean(t, Pass{})
	if got := show(l.committed(t)); got != "3:a=4" {
		t.Fatal(got)
	}
	_, newest, _ := l.facts()
	if newest[7].Data != 1 || newest[8].Data != 2 || len(l) != 4 || l[1].BaseSequence != 1 || l[1].Records != 0 {
		t.Fatalf("%+v, %d batches", newest, len(l))
	}
}

func TestEpochsKeepTheirPlace(t *testing.T) {
	var l log
	for epoch := int32(1); epoch <= 3; epoch++ {
		for range 3 {
			l.add(epoch, nobody, false, "a=1")
		}
	}
	l.add(4, nobody, false, "a=2")
	l = l.clean(t, Pass{})
	if len(l) != 4 || l[1].LeaderEpoch != 2 || l[1].BaseOffset != 3 || l[1].LastOffset() != 5 || !l[1].IsNothing() {
		t.Fatalf("%+v", l)
	}
}

func TestAPassThatDoesNotFitEndsEarlier(t *testing.T) {
	var l log
	for i := range 10 {
		l.add(1, nobody, false, fmt.Sprint("a", i, "=1"), fmt.Sprint("b", i, "=1"))
	}
	for i := range 10 {
		l.add(1, nobody, false, fmt.Sprint("a", i, "=2"), fmt.Sprint("b", i, "=2"))
	}
	want := table(l.committed(t))
	for from, passes := int64(0), 0; from < l.next(); passes++ {
		steps, end, _ := l.cleaned(t, Pass{}, from, l.next(), 5*keyBytes)
		if end <= from || passes > 20 {
			t.Fatalf("pass %d goes from %d to %d", passes, from, end)
		}
		l, from = steps[len(steps)-1], end
	}
	if got := l.committed(t); len(got) != 20 || !maps.Equal(table(got), want) {
		t.Fatal(show(got))
	}
	// One batch alone may be more than the budget.
	if steps, end, _ := l.cleaned(t, Pass{}, 0, l.next(), 1); end != 40 && end != 22 || len(steps) == 0 {
		t.Fatalf("ends at %d", end)
	}
}

func TestWhatCannotBeReadStaysAndHidesNothing(t *testing.T) {
	var l log
	l.add(1, nobody, false, "a=1")
	l.add(1, nobody, false, "b=1")
	l.add(1, nobody, false, "a=2")
	l.add(1, nobody, false, "a")
	bad := l[2]
	bad.Bytes = append([]byte(nil), bad.Bytes...)
	bad.Bytes[batch.HeaderLen] = 0x7f
	l[2] = bad
	l.add(1, nobody, false, "c=1")
	for _, now := range []int64{1000, 5000} {
		steps, _, horizon := l.cleaned(t, Pass{Now: now, Retention: 1, Remove: true}, 0, l.next(), 1<<20)
		if l = steps[len(steps)-1]; horizon >= 0 {
			t.Fatalf("at %d: a pass at %d would find the same", now, horizon)
		}
	}
	if &l[2].Bytes[0] != &bad.Bytes[0] || l[3].Records != 1 {
		t.Fatal("the tombstone may still end what cannot be read")
	}
}

// Any log, cleaned in passes of any size, by any clock, after any step of a pass: whoever copies it has the same table.
func TestAnyPrefixOfAnyPassLeavesTheSameTable(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var l log
		epoch, now := int32(1), int64(1000)
		open := map[int64]bool{}
		grow := func(n int) {
			for range n {
				if rng.IntN(12) == 0 {
					epoch++
				}
				var records []string
				for range 1 + rng.IntN(3) {
					text := fmt.Sprint("k", rng.IntN(6))
					if rng.IntN(4) > 0 {
						text += fmt.Sprint("=", rng.IntN(1000))
					}
					records = append(records, text)
				}
				switch who := int64(rng.IntN(5)); {
				case who == 0:
					l.add(epoch, nobody, false, records...)
				case who == 1:
					l.add(epoch, 100+int64(rng.IntN(3)), false, records...)
				case open[who] && rng.IntN(2) == 0:
					l.end(epoch, who, rng.IntN(2) == 0)
					delete(open, who)
				default:
					l.add(epoch, who, true, records...)
					open[who] = true
				}
			}
		}
		from := int64(0)
		for range 6 {
			grow(10)
			_, newest, stable := l.facts()
			want := table(l.committed(t))
			to := from
			for _, b := range l {
				if b.LastOffset() < int64(stable) && rng.IntN(10) > 0 && b.BaseOffset == to {
					to = b.LastOffset() + 1
				}
			}
			p := Pass{Now: now, Retention: 50, Remove: rng.IntN(3) > 0}
			steps, end, _ := l.cleaned(t, p, min(from, to), to, int64(1+rng.IntN(8))*keyBytes)
			for i, step := range steps {
				if got := table(step.committed(t)); !maps.Equal(got, want) {
					t.Fatalf("seed %d, step %d of %d: %v\nwant %v", seed, i, len(steps), got, want)
				}
				if _, now, s := step.facts(); s != stable || !maps.Equal(now, newest) || step.next() != l.next() {
					t.Fatalf("seed %d, step %d: producers %v, stable %d\nwant %v, %d", seed, i, now, s, newest, stable)
				}
			}
			l, from, now = steps[len(steps)-1], max(from, end), now+int64(rng.IntN(60))
		}
	}
}
