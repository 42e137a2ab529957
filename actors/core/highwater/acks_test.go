package highwater

import (
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func refusal(b *bench) Refuse {
	r, _ := in[Refuse](b)
	return r
}

func TestATimeOutNamesWhoIsBehind(t *testing.T) { // R10
	cases := []struct {
		name string
		make func(*bench)
		code perr.Code
		text string
	}{
		{"our own ISR", func(b *bench) { b.report(1, 20).await(1, 20).floor(mirrorA, 10) },
			perr.RequestTimedOut, "appended at offset 19, not yet durable on the in-sync replicas [1 2 3]"},
		{"a mirror", func(b *bench) { b.await(1, 10).floor(mirrorA, 9).floor(mirrorB, 10) },
			perr.MirrorSyncReplicationTimeout, "appended at offset 9, not yet durable on a"},
		{"the slowest of two", func(b *bench) { b.await(1, 10).floor(mirrorA, 9).floor(mirrorB, 8) },
			perr.MirrorSyncReplicationTimeout, "appended at offset 9, not yet durable on b"},
		{"one that never reported", func(b *bench) { b.await(1, 10).floor(mirrorA, 10) },
			perr.MirrorSyncReplicationTimeout, "appended at offset 9, not yet durable on b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := source(t, 10, gateOf(mirrorA), gateOf(mirrorB))
			c.make(b)
			if b.after(26 * time.Second); refusal(b).Code != 0 {
				t.Fatalf("refused early: %+v", refusal(b))
			}
			if r := refusal(b.after(time.Second)); r.Code != c.code || r.Text != c.text || len(r.Refs) != 1 {
				t.Fatalf("got %+v, want %v %q", r, c.code, c.text)
			}
			if got := Describe(b.s).Waiters; got != 0 {
				t.Fatalf("%d still wait", got)
			}
		})
	}
}

// A process that stood still finds batches in its queues whose time is over and that HW has reached: they are confirmed. The
// next one must be answered in time all the same.
func TestALateBatchDoesNotHideTheDeadlineOfTheNext(t *testing.T) { // R10
	b := source(t, 10, gateOf(mirrorA)).floor(mirrorA, 10).wantHW(10)
	b.await(1, 20)
	b.do(AwaitCommit{Ref: 2, Epoch: b.s.epoch, Offset: 10, Base: 9, Bytes: 100, Deadline: b.now.Mono - int64(time.Second)})
	if !b.confirmed()[2] {
		t.Fatal("a late batch that HW has reached is not confirmed")
	}
	due := b.now.Mono + int64(2*time.Second)
	b.do(AwaitCommit{Ref: 3, Epoch: b.s.epoch, Offset: 21, Base: 20, Bytes: 100, Deadline: due})
	if timer, ok := newest[ArmTimer](b); !ok || timer.At > due {
		t.Fatalf("the timer is armed for %+v (%v), a batch is due at %d", timer, ok, due)
	}
	if r := refusal(b.after(2 * time.Second)); len(r.Refs) != 1 || r.Refs[0] != 3 {
		t.Fatalf("refused %+v", r)
	}
}

func TestReachedHWIsSuccessThoughAMirrorHasShrunkSince(t *testing.T) { // R10
	b := source(t, 10, gateOf(mirrorA)).floor(mirrorA, 10).wantHW(10)
	b.do(under(2)).await(1, 10)
	if !b.confirmed()[1] {
		t.Fatal("a record that is everywhere was not confirmed")
	}
}

func under(seq int64) ReportFloor {
	r := healthy(mirrorA, core.Unknown)
	r.ISRSize, r.Seq = 1, seq
	return r
}

func TestAMirrorUnderMinISR(t *testing.T) { // R9, F28
	b := source(t, 10, gateOf(mirrorA)).floor(mirrorA, 10).wantHW(10)
	b.report(1, 20).report(2, 20).report(3, 20).await(1, 15)
	b.do(under(2))
	if b.after(900 * time.Millisecond); refusal(b).Code != 0 {
		t.Fatal("a flap failed a waiter")
	}
	b.after(200 * time.Millisecond)
	r := refusal(b)
	if r.Code != perr.NotEnoughRemoteReplicasAfterAppend || !strings.Contains(r.Text, "mirror a of cluster dc2 has 1 in-sync replicas and needs 2") {
		t.Fatalf("waiters got %+v", r)
	}
	c, _ := in[ChangeAdmission](b)
	if c.Code != perr.NotEnoughReplicas || !strings.Contains(c.Text, "mirror a") {
		t.Fatalf("new batches get %+v", c)
	}
	if r := refusal(b.await(2, 20)); r.Code != perr.NotEnoughRemoteReplicasAfterAppend {
		t.Fatalf("a batch that slipped past admission got %+v", r)
	}
	late := healthy(mirrorA, 20) // an older report, delivered now
	late.Seq = 1
	if b.do(late); Describe(b.s).HW != 10 {
		t.Fatalf("HW %d moved while a side is under its min ISR", Describe(b.s).HW)
	}
	fresh := healthy(mirrorA, 20)
	fresh.Seq = 3
	b.do(fresh).wantHW(20)
	if c, ok := in[ChangeAdmission](b); !ok || c.Code != 0 {
		t.Fatalf("still refused after a healthy report: %+v", c)
	}
	// A doubled report from before does not switch the refusal on again.
	b.do(under(2)).after(2 * time.Second)
	if c, _ := newest[ChangeAdmission](b); c.Code != 0 {
		t.Fatalf("an old report refuses: %+v", c)
	}
}

func TestOurOwnISRUnderMinIsRefusedAtOnce(t *testing.T) {
	b := source(t, 10)
	b.image(func(img *AppliedImage) { img.ISR, img.PartitionEpoch = []core.ReplicaID{1}, 2 })
	if c, _ := in[ChangeAdmission](b); c.Code != perr.NotEnoughReplicas {
		t.Fatalf("admission %+v", c)
	}
	b.report(1, 20).wantHW(10)
}

func TestWaitersEndWithTheirEpoch(t *testing.T) { // R6, F54
	b := source(t, 10, gateOf(mirrorA)).await(1, 10)
	b.do(LeaderStarted{Epoch: epoch + 1, EpochStart: 10, LEO: 10, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	b.image(func(img *AppliedImage) {})
	b.report(1, 10).report(2, 10).report(3, 10).wantHW(10)
	if b.confirmed()[1] {
		t.Fatal("a waiter of an older epoch was confirmed")
	}
	if b.do(AwaitCommit{Ref: 2, Epoch: epoch, Offset: 5}); refusal(b).Code != perr.NotLeaderOrFollower {
		t.Fatalf("a late waiter of the older epoch got %+v", b.effects)
	}
	b.await(3, 99).do(StepDown{Epoch: epoch + 1})
	if got := Describe(b.s); got.Waiters != 0 || got.Leading {
		t.Fatalf("after step-down: %+v", got)
	}
}

func TestPurgatoryIsBounded(t *testing.T) { // F57
	b := source(t, 10, gateOf(mirrorA))
	for ref := core.RequestID(1); ref <= 64; ref++ {
		b.do(AwaitCommit{Ref: ref, Epoch: epoch, Offset: core.Offset(ref), Bytes: 1 << 20, Deadline: b.now.Mono + int64(time.Minute)})
	}
	c, ok := in[ChangeAdmission](b)
	if !ok || c.Code != perr.NotEnoughReplicas || !strings.Contains(c.Text, "slowest mirror a") {
		t.Fatalf("64 MiB wait and new batches get %+v", c)
	}
	b.report(1, 70).report(2, 70).report(3, 70)
	if b.floor(mirrorA, 20); Describe(b.s).WaitBytes != 44<<20 {
		t.Fatalf("%d bytes wait", Describe(b.s).WaitBytes)
	}
	if c, _ := newest[ChangeAdmission](b); c.Code == 0 {
		t.Fatal("admitted again just under the brim")
	}
	b.floor(mirrorA, 40)
	if c, _ := newest[ChangeAdmission](b); c.Code != 0 {
		t.Fatalf("still refused with %d bytes waiting", Describe(b.s).WaitBytes)
	}
}

// TestAnEpochRaisedInPlaceKeepsTheHWOnItsWay: HW moved while the epoch was raised, and the partition dropped it as one of the
// old epoch. Nothing told it again until the next record came: what had been acknowledged could not be read (testkit sim,
// I65 of seed 0xabee6d03b7fa2b43).
func TestAnEpochRaisedInPlaceKeepsTheHWOnItsWay(t *testing.T) {
	b := source(t, 20).wantHW(20)
	b.do(LeaderStarted{Epoch: epoch + 1, EpochStart: 20, LEO: 20, HW: 10, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	if a, ok := newest[Advance](b); !ok || a.Epoch != epoch+1 || a.HW != 20 || !a.Shown {
		t.Errorf("the partition, which knows 10, is told %+v", a)
	}
	for _, f := range b.early {
		if a, ok := f.(Advance); ok {
			t.Errorf("told before the entries of the old epoch are on disk: %+v", a)
		}
	}
}
