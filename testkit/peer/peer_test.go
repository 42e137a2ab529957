package peer

import (
	"context"
	"testing"
	"time"

	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

func made(base int64, epoch int32, value string) batch.Batch {
	b := batch.Build(batch.Batch{BaseOffset: base, LeaderEpoch: epoch, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1},
		[]batch.Record{{Timestamp: 1, Value: []byte(value)}})
	b, _, err := batch.Parse(b.Bytes)
	if err != nil {
		panic(err)
	}
	return b
}

func TestALogAnswersWhereEpochsEndAsKafkaDoes(t *testing.T) {
	var l Log
	l.Lead(3)
	for i, epoch := range []int32{3, 3, 5} {
		if err := l.Append(made(int64(i), epoch, "v")); err != nil {
			t.Fatal(err)
		}
	}
	l.Lead(7)
	for asked, want := range map[int32][2]int64{2: {2, 0}, 3: {3, 2}, 4: {3, 2}, 5: {5, 3}, 6: {5, 3}, 7: {7, 3}, 8: {-1, -1}} {
		if epoch, end := l.EndOf(asked); int64(epoch) != want[0] || end != want[1] {
			t.Errorf("epoch %d: (%d, %d), want %v", asked, epoch, end, want)
		}
	}
	if l.Append(made(9, 7, "gap")) == nil {
		t.Error("a gap was appended")
	}
	if l.Cut(1); l.End() != 1 || l.LastEpoch() != 3 || len(l.Values(9)) != 1 {
		t.Errorf("cut to 1: end %d, last epoch %d, values %v", l.End(), l.LastEpoch(), l.Values(9))
	}
}

// The two roles against each other: the draft on both sides.
func TestBothRolesOfTheDraftFitTogether(t *testing.T) {
	s, err := StartSource("plain", "orders", 20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Drop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d := NewDestination([]string{s.Addr()}, "m", "orders", 3, 2)
	if code, _, err := d.Register(ctx, false); code != perr.None || err != nil {
		t.Fatal(code, err)
	}
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if _, err := s.Produce(short, "nobody has reported"); err == nil {
		t.Fatal("acknowledged before the first report")
	}
	d.Run()
	defer d.Stop()
	if _, err := s.Produce(ctx, "gated"); err != nil {
		t.Fatal(err)
	}
	if holds := d.Holds(); !holds["gated"] || !holds["nobody has reported"] {
		t.Fatalf("acknowledged, and the destination holds %v", holds)
	}
	s.Elect(1, 0)
	if _, err := s.Produce(ctx, "after a loss"); err != nil {
		t.Fatal(err)
	}
	if holds := d.Holds(); holds["gated"] || !holds["after a loss"] {
		t.Fatalf("an unclean election is followed, and the destination holds %v", holds)
	}
	s.Release("m")
	if _, err := s.Produce(ctx, "released"); err != nil {
		t.Fatal(err)
	}
	if code, _, err := d.Register(ctx, false); code != perr.MirrorSyncReleasedRequiresFreshPromotion || err != nil {
		t.Fatal(code, err)
	}
	if code, _, err := d.Register(ctx, true); code != perr.None || err != nil {
		t.Fatal(code, err)
	}
	if code, err := d.Unregister(ctx); code != perr.None || err != nil || s.Registered("m") {
		t.Fatal(code, err)
	}
	if n := s.State().Tagged; n != 0 {
		t.Errorf("%d requests carried fields that the draft does not have", n)
	}
}

// What is missing counts as in sync in the draft's formula as it is written, which is why nothing of ours ever
// sends a list with holes (F01).
func TestTheLiteralFormulaAcknowledgesWithoutAReport(t *testing.T) {
	s, err := StartSource("plain", "orders", 20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Drop()
	s.Literally()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d := NewDestination([]string{s.Addr()}, "m", "orders", 1, 1)
	if code, _, err := d.Register(ctx, false); code != perr.None || err != nil {
		t.Fatal(code, err)
	}
	if _, err := s.Produce(ctx, "lost with the source"); err != nil || d.Holds()["lost with the source"] {
		t.Fatalf("%v; holds %v", err, d.Holds())
	}
}
