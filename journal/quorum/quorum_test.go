package quorum

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/memory"
)

// disks are the volumes of a process between its lives.
type disks struct{ of []*memory.Journal }

func newDisks(n int) *disks {
	d := &disks{}
	for range n {
		d.of = append(d.of, memory.New(memory.Options{}))
	}
	return d
}

func (d *disks) members() (ms []Member) {
	for i, j := range d.of {
		ms = append(ms, Member{ID: core.ReplicaID(i + 1), Journal: j})
	}
	return ms
}

func (d *disks) Open(t *testing.T) *Quorum {
	t.Helper()
	q, err := Open(d.members(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (d *disks) Crash(_ *testing.T, _ *Quorum) {
	for i, j := range d.of {
		d.of[i] = j.Crash()
	}
}

func TestQuorumKeepsTheContract(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(n, " volumes"), func(t *testing.T) {
			journaltest.Journal(t, func(*testing.T) journaltest.Disk[*Quorum] { return newDisks(n) })
		})
	}
}

func TestWritersAndReadersAlwaysMeet(t *testing.T) {
	for n := 1; n <= 7; n++ {
		if writers(n)+readers(n) <= n {
			t.Errorf("%d volumes: %d writers and %d readers may miss each other", n, writers(n), readers(n))
		}
	}
}

func TestCommittedEqualsCounting(t *testing.T) {
	for range 5000 {
		acked := make([]int64, 1+rand.IntN(5))
		for i := range acked {
			acked[i] = rand.Int64N(6)
		}
		need := 1 + rand.IntN(len(acked))
		want := int64(0)
		for seq := int64(1); seq <= 6; seq++ {
			have := 0
			for _, a := range acked {
				if a >= seq {
					have++
				}
			}
			if have >= need {
				want = seq
			}
		}
		if got := committed(slices.Clone(acked), need); got != want {
			t.Fatalf("%v, %d needed: %d, want %d", acked, need, got, want)
		}
	}
}

func TestAFailingMinorityIsReportedAndTheMajorityGoesOn(t *testing.T) {
	d := newDisks(3)
	failed := make(chan core.ReplicaID, 3)
	lost := make(chan error, 3)
	q, err := Open(d.members(), Options{Failed: func(id core.ReplicaID, _ error) { failed <- id }, Lost: func(err error) { lost <- err }})
	if err != nil {
		t.Fatal(err)
	}
	d.of[1].Poison(errors.New("disk gone"))
	journaltest.Append(t, q, "control/a", journaltest.Event("one"))
	if id := <-failed; id != 2 {
		t.Fatalf("broker %d is said to fail", id)
	}
	d.of[2].Poison(errors.New("disk gone too"))
	got := make(chan error, 1)
	q.Append("control/a", []core.Entry{journaltest.Event("two")}, func(_ journal.Seq, err error) { got <- err })
	if err := <-got; !errors.Is(err, ErrLost) {
		t.Fatalf("an append without a majority ended in %v", err)
	}
	if err := <-lost; !errors.Is(err, ErrLost) || !errors.Is(q.Err(), ErrLost) {
		t.Fatalf("lost: %v, Err: %v", err, q.Err())
	}
}

func TestAVolumeThatCannotBeReadIsNoMember(t *testing.T) {
	d := newDisks(3)
	q := d.Open(t)
	journaltest.Append(t, q, "control/a", journaltest.Event("one"))
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	ms := d.members()
	ms[0].Journal = nil
	q, err := Open(ms, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := journaltest.Replayed(t, q, "control/a"); !slices.Equal(got, []string{"1 one"}) {
		t.Fatalf("replayed %q", got)
	}
	ms[1].Journal = nil
	if _, err := Open(ms, Options{}); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "forget-volume") {
		t.Fatalf("opened without a majority: %v", err)
	}
}

func TestAMissingMemberMustBeForgotten(t *testing.T) {
	d := newDisks(2)
	q := d.Open(t)
	journaltest.Append(t, q, "control/a", journaltest.Event("one"))
	ms := d.members()[:1]
	if _, err := Open(ms, Options{}); err == nil || !strings.Contains(err.Error(), "forget-volume --broker 2") {
		t.Fatalf("opened without a word: %v", err)
	}
	q, err := Open(ms, Options{Forget: []core.ReplicaID{2}})
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Append(t, q, "control/a", journaltest.Event("two"))
	q, err = Open(ms, Options{})
	if err != nil {
		t.Fatalf("the forgotten volume is still asked for: %v", err)
	}
	if got := journaltest.Replayed(t, q, "control/a"); len(got) != 2 {
		t.Fatalf("replayed %q", got)
	}
}

func TestARejoinedVolumeHasEverything(t *testing.T) {
	d := newDisks(3)
	q := d.Open(t)
	for i := range 20 {
		journaltest.Append(t, q, "control/a", journaltest.Event(fmt.Sprint(i)))
	}
	d.of[2].Poison(errors.New("disk gone"))
	journaltest.Append(t, q, "control/b", journaltest.Event("meanwhile"))
	journaltest.Settle(t, func(done journal.Done) { q.Snapshot("control/a", []byte("s"), done) })
	for len(q.Failing()) == 0 {
		journaltest.Append(t, q, "control/b", journaltest.Event("more"))
	}
	back := d.of[2].Crash()
	d.of[2] = back
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				journaltest.Append(t, q, "control/c", journaltest.Event(fmt.Sprint("beside ", i)))
			}
		}
	}()
	if err := q.Rejoin(3, back); err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-stopped
	want := map[journal.Stream][]string{}
	for _, s := range []journal.Stream{"control/a", "control/b", "control/c"} {
		want[s] = journaltest.Replayed(t, q, s)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	ms := d.members()
	ms[0].Journal = nil // broker 3 must do without broker 1
	ms[1].Journal, ms[2].Journal = nil, back
	if _, err := Open(ms, Options{}); !errors.Is(err, ErrLost) {
		t.Fatalf("one of three opened: %v", err)
	}
	q, err := Open([]Member{{3, back}}, Options{Forget: []core.ReplicaID{1, 2}})
	if err == nil {
		t.Fatal("one of three was enough to read")
	}
	q, err = Open([]Member{{2, d.of[1]}, {3, back}}, Options{Forget: []core.ReplicaID{1}})
	if err != nil {
		t.Fatal(err)
	}
	for s, lines := range want {
		if got := journaltest.Replayed(t, q, s); !slices.Equal(got, lines) {
			t.Fatalf("%s: got %q\nwant %q", s, got, lines)
		}
	}
	if err := q.Rejoin(3, back); err == nil {
		t.Fatal("a healthy member rejoined")
	}
}
