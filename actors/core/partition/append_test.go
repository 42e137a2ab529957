package partition

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

func TestSuccessNeedsHWPastTheLastOffset(t *testing.T) { // R1, F02
	b := leader(t).produce(-1, -1, -1, 3)
	if c, _ := told[highwater.AwaitCommit](b); c.Offset != 3 || c.Base != 0 || c.Epoch != 5 || c.Ref != b.ref {
		t.Fatalf("asked for %+v, want confirmation at 3", c)
	}
	if _, acked := effect[AckProduce](b); acked {
		t.Fatal("acknowledged before anybody confirmed")
	}
	b.do(Advanced{Epoch: 5, HW: 3, Confirmed: []core.RequestID{b.ref}})
	if a, ok := effect[AckProduce](b); !ok || a.Ref != b.ref || a.Base != 0 {
		t.Fatalf("ack %+v (%v)", a, ok)
	}
	if v, _ := effect[PublishView](b); v.View.Coming != 3 || v.View.HW != 0 {
		t.Fatalf("acknowledged, and not on disk in the ledger: %+v", v.View)
	}
	b.do(Shown{Epoch: 4, HW: 3})
	if Describe(b.s).HW != 0 {
		t.Fatal("shown by an older epoch")
	}
	b.do(Shown{Epoch: 5, HW: 3})
	if v, _ := effect[PublishView](b); v.View.HW != 3 {
		t.Fatalf("on disk, and not readable: %+v", v.View)
	}
}

func TestABatchIsStampedWithOffsetAndEpoch(t *testing.T) { // E04
	b := leader(t).produce(-1, -1, -1, 2).produce(-1, -1, -1, 1)
	last := b.entries[len(b.entries)-1]
	one, _, err := batch.Parse(last.Payload)
	if err != nil || one.BaseOffset != 2 || one.LeaderEpoch != 5 || last.Base != 2 || last.Last != 2 {
		t.Fatalf("journaled %+v as %+v (%v)", one, last, err)
	}
}

func TestWhoMayAppend(t *testing.T) {
	t.Run("a follower may not", func(t *testing.T) {
		b := newBench(t).do(Follow{Epoch: 5, Leader: 2}).produce(-1, -1, -1, 1)
		if b.refusal() != perr.NotLeaderOrFollower || b.s.leo != 0 {
			t.Fatalf("got %v", b.refusal())
		}
	})
	t.Run("a mirrored topic is read-only", func(t *testing.T) { // F37
		b := mirrored(t, 7).produce(-1, -1, -1, 1)
		if b.refusal() != perr.ReadOnlyTopic || b.s.leo != 1 {
			t.Fatalf("got %v", b.refusal())
		}
	})
	t.Run("admission refuses before append", func(t *testing.T) { // R9, F28
		b := leader(t).do(AdmissionChanged{Epoch: 5, Code: perr.NotEnoughReplicas, Text: "mirror dr is short"})
		b.produce(-1, -1, -1, 1)
		if r, _ := effect[RefuseProduce](b); r.Code != perr.NotEnoughReplicas || r.Text != "mirror dr is short" || b.s.leo != 0 {
			t.Fatalf("got %+v, LEO %d", r, b.s.leo)
		}
		if b.send(client(-1, -1, -1, 1), 1); b.s.leo != 1 {
			t.Fatal("acks=1 does not need min ISR")
		}
	})
}

// C8: a client that arrives before the topic opens is asked to wait; READ_ONLY_TOPIC would make it give records up.
func TestATopicThatIsAboutToOpenAsksToWait(t *testing.T) {
	b := mirrored(t, 7)
	lead := Lead{Epoch: b.s.epoch, Role: Mirroring, Mirror: b.s.mirror, Session: b.s.session, Replicas: []core.ReplicaID{1, 2}, Opening: true}
	if b.do(lead).produce(-1, -1, -1, 1); b.refusal() != perr.NotLeaderOrFollower || b.s.leo != 1 {
		t.Fatalf("got %v, LEO %d", b.refusal(), b.s.leo)
	}
	lead.Opening = false
	if b.do(lead).produce(-1, -1, -1, 1); b.refusal() != perr.ReadOnlyTopic {
		t.Fatalf("no longer opening: %v", b.refusal())
	}
}

// C8: nothing is appended from the fence on, not for acks=1 either; what waits is confirmed as ever, and the view says
// that LEO is final only once the fence is applied. Lifted, the topic takes batches again.
func TestAFencedLeaderTakesNoBatchAndKeepsItsWaiters(t *testing.T) {
	b := leader(t).produce(-1, -1, -1, 1)
	waiting := b.ref
	fenced := Lead{Epoch: 5, Role: Writable, Replicas: []core.ReplicaID{1, 2}, Fence: Fence{Number: 3, Code: perr.NotLeaderOrFollower, Text: "moves to dc2"}}
	if v, _ := effect[PublishView](b.do(fenced)); v.View.Fence != 3 || v.View.LEO != 1 {
		t.Fatalf("the view says %+v", v.View)
	}
	for _, acks := range []int16{-1, 1, 0} {
		b.send(client(-1, -1, -1, 1), acks)
		if r, refused := effect[RefuseProduce](b); !refused || r.Code != perr.NotLeaderOrFollower || r.Text != "moves to dc2" || b.s.leo != 1 {
			t.Fatalf("acks=%d: %+v, LEO %d", acks, r, b.s.leo)
		}
	}
	if a, ok := effect[AckProduce](b.do(Advanced{Epoch: 5, HW: 1, Confirmed: []core.RequestID{waiting}})); !ok || a.Ref != waiting {
		t.Fatal("what waited at the fence was not confirmed")
	}
	if v, _ := effect[PublishView](b.do(Lead{Epoch: 6, Role: Writable, Replicas: []core.ReplicaID{1, 2}})); v.View.Fence != 0 {
		t.Fatalf("still fenced: %+v", v.View)
	}
	if b.do(AdmissionChanged{Epoch: 6}).send(client(-1, -1, -1, 1), 1); b.s.leo != 2 {
		t.Fatal("a lifted fence still refuses")
	}
}

// A leader that has just begun has not heard from its HW actor: the topic may refuse acks=1 while it is gated, and an added
// partition takes no write at all before its mirrors have it. HW holds back acks=all; acks=1 has to wait outside.
func TestWeakAcksAreNotGrantedBeforeItIsKnownWhatGates(t *testing.T) { // C11, F36
	b := newBench(t)
	for _, epoch := range []core.LeaderEpoch{5, 6} { // elected, and raised in place
		b.do(Lead{Epoch: epoch, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
		b.do(AdmissionChanged{Epoch: epoch - 1})
		for _, acks := range []int16{1, 0} {
			end := b.s.leo
			if b.send(client(-1, -1, -1, 1), acks); b.refusal() != perr.LeaderNotAvailable || b.s.leo != end {
				t.Fatalf("epoch %d, acks=%d: %v, LEO %d", epoch, acks, b.refusal(), b.s.leo)
			}
		}
		end := b.s.leo
		if b.send(client(-1, -1, -1, 1), -1); b.s.leo != end+1 {
			t.Fatalf("epoch %d: acks=all was refused: %v", epoch, b.refusal())
		}
		if b.do(AdmissionChanged{Epoch: epoch}).send(client(-1, -1, -1, 1), 1); b.s.leo != end+2 {
			t.Fatalf("epoch %d, told: %v", epoch, b.refusal())
		}
	}
}

func TestAcks1IsAnsweredBehindTheLeadersOwnSync(t *testing.T) { // D26
	b := leader(t).send(client(-1, -1, -1, 1), 1)
	if a, ok := b.late[len(b.late)-1].(AckProduce); !ok || a.Base != 0 {
		t.Fatalf("late effects %+v", b.late)
	}
	if _, counted := told[highwater.WeakAcked](b); counted {
		t.Fatal("an ungated ack was counted as weak")
	}
}

func TestWeakAcksOnAGatedTopicAreCounted(t *testing.T) { // R13
	b := leader(t).do(AdmissionChanged{Epoch: 5, Gated: true}).send(client(-1, -1, -1, 2), 0)
	if c, ok := told[highwater.WeakAcked](b); !ok || c.From != 0 || c.To != 2 || c.Acks != 0 || c.Client != "billing" {
		t.Fatalf("counted %+v (%v)", c, ok)
	}
}

// All waits fail in the event that steps down; a confirmation of the older epoch comes to nothing.
func TestWaitersFailWithTheLeader(t *testing.T) { // R6, F54, I12
	for name, next := range map[string]Command{
		"becoming a follower": Follow{Epoch: 6, Leader: 2},
		"a raised epoch":      Lead{Epoch: 6, Role: Writable, Replicas: []core.ReplicaID{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			b := leader(t).produce(-1, -1, -1, 1)
			ref := b.ref
			if b.do(next); b.refusal() != perr.NotLeaderOrFollower {
				t.Fatalf("the waiter got %+v", b.late)
			}
			b.do(Advanced{Epoch: 5, HW: 1, Confirmed: []core.RequestID{ref}})
			if _, acked := effect[AckProduce](b); acked {
				t.Fatal("acknowledged by an older epoch")
			}
		})
	}
}

// The retry of a batch that timed out waits for its own offset, however far the log has grown (F27).
func TestADuplicateWaitsForItsOriginal(t *testing.T) { // R7
	b := leader(t).produce(9, 0, 0, 2).produce(9, 0, 2, 1)
	first := b.ref
	b.do(Refused{Epoch: 5, Refs: []core.RequestID{1}, Code: perr.MirrorSyncReplicationTimeout})
	b.produce(9, 0, 0, 2) // the retry
	if b.s.leo != 3 {
		t.Fatalf("appended again: LEO %d", b.s.leo)
	}
	if _, acked := effect[AckProduce](b); acked {
		t.Fatal("a duplicate was acknowledged early")
	}
	if c, _ := told[highwater.AwaitCommit](b); c.Offset != 2 || c.Ref != b.ref {
		t.Fatalf("waits for %+v, want the original's end 2", c)
	}
	b.do(Advanced{Epoch: 5, HW: 2, Confirmed: []core.RequestID{b.ref}})
	if a, ok := effect[AckProduce](b); !ok || a.Base != 0 || a.Ref == first {
		t.Fatalf("ack %+v, want the original offset 0", a)
	}
}

func TestSequences(t *testing.T) { // T01–T05, I30
	type sent struct {
		epoch int16
		seq   int32
		n     int
		want  perr.Code
	}
	fill := func(n int) (list []sent) {
		for i := range n {
			list = append(list, sent{0, int32(i), 1, 0})
		}
		return list
	}
	cases := []struct {
		name string
		send []sent
		leo  core.Offset
	}{
		{"in order", fill(7), 7},
		{"a gap", []sent{{0, 0, 1, 0}, {0, 2, 1, perr.OutOfOrderSequenceNumber}}, 1},
		{"an unknown id may start anywhere", []sent{{0, 41, 2, 0}, {0, 43, 1, 0}}, 3},
		{"the fifth last is a duplicate", append(fill(7), sent{0, 2, 1, 0}), 7},
		{"the sixth last is out of order, never 46", append(fill(7), sent{0, 1, 1, perr.OutOfOrderSequenceNumber}), 7},
		{"another count is no duplicate", []sent{{0, 0, 2, 0}, {0, 0, 1, perr.OutOfOrderSequenceNumber}}, 2},
		{"an older producer epoch", []sent{{1, 0, 1, 0}, {0, 1, 1, perr.InvalidProducerEpoch}}, 1},
		{"a newer producer epoch starts at 0", []sent{{0, 0, 1, 0}, {1, 5, 1, perr.OutOfOrderSequenceNumber}, {1, 0, 1, 0}}, 2},
		{"a batch of an older producer epoch is no duplicate", []sent{{0, 0, 1, 0}, {1, 0, 1, 0}, {1, 0, 1, 0}}, 2},
		{"sequences wrap to 0", []sent{{0, math.MaxInt32 - 1, 2, 0}, {0, 0, 1, 0}}, 3},
		{"and inside a batch", []sent{{0, math.MaxInt32, 2, 0}, {0, 1, 1, 0}, {0, math.MaxInt32, 2, 0}}, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := leader(t)
			for i, s := range c.send {
				if b.produce(9, s.epoch, s.seq, s.n); b.refusal() != s.want {
					t.Fatalf("batch %d: %v, want %v", i, b.refusal(), s.want)
				}
			}
			if b.s.leo != c.leo {
				t.Fatalf("LEO %d, want %d", b.s.leo, c.leo)
			}
			before := snapshot(b.s)
			if !bytes.Equal(snapshot(b.restarted().s), before) {
				t.Fatal("producer state is not rebuilt from the log")
			}
		})
	}
}

// Producer state of a prefix is the same whether the rest was never there or was cut again (C13).
func TestTruncationRollsProducersBack(t *testing.T) {
	for cut := core.Offset(0); cut <= 12; cut++ {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			full, prefix := newBench(t), newBench(t)
			for i := core.Offset(0); i < 12; i++ {
				one := client(int64(i%2), 0, int32(i/2), 1).Stamped(int64(i), 5)
				Apply(full.s, BatchAppended{Batch: one, Note: min(i, 2)})
				if i < cut {
					Apply(prefix.s, BatchAppended{Batch: one, Note: min(i, 2)})
				}
			}
			Apply(full.s, LogTruncated{From: 12, To: cut})
			for id := range int64(2) {
				next := client(id, 0, 3, 1)
				_, fullDup, fullCode := full.s.checkSequence(next)
				_, prefixDup, prefixCode := prefix.s.checkSequence(next)
				if fullDup != prefixDup || fullCode != prefixCode {
					t.Fatalf("producer %d: cut says (%v, %v), the prefix says (%v, %v)", id, fullDup, fullCode, prefixDup, prefixCode)
				}
			}
		})
	}
}

func TestReportsAndViewsComeBehindTheSync(t *testing.T) { // R5, F08, P3
	b := leader(t).produce(-1, -1, -1, 1)
	for _, f := range b.early {
		switch f.(type) {
		case ReportDurable, PublishView, WakeFetch, AckProduce:
			t.Fatalf("%T is performed before the batch is on disk", f)
		}
	}
	if r, ok := effect[ReportDurable](b); !ok || r.LEO != 1 || r.Leader != 1 || r.Epoch != 5 {
		t.Fatalf("report %+v (%v)", r, ok)
	}
}

// R13: on a gated topic acks=0 and 1 meet what the topic's setting says, elsewhere nothing but Kafka's rules.
func TestWhatWeakAcksMeetOnAGatedTopic(t *testing.T) {
	for _, gated := range []bool{true, false} {
		for _, acks := range []int16{0, 1} {
			send := func(weak WeakAcks) *bench {
				b := leader(t).do(AdmissionChanged{Epoch: 5, Gated: gated})
				b.ref++
				return b.do(AppendBatch{Ref: b.ref, Batch: client(-1, -1, -1, 1), Acks: acks, Weak: weak, Deadline: 7})
			}
			b := send(WeakRefuse)
			if refused := b.refusal() == perr.InvalidRequiredAcks; refused != gated || refused != (b.s.leo == 0) {
				t.Errorf("gated %v, acks=%d, refuse: code %d, LEO %d", gated, acks, b.refusal(), b.s.leo)
			}
			b = send(WeakUpgrade)
			_, acked := effect[AckProduce](b)
			wait, waits := told[highwater.AwaitCommit](b)
			_, counted := told[highwater.WeakAcked](b)
			if waits != gated || acked == gated || counted || gated && (wait.Offset != 1 || wait.Deadline != 7) {
				t.Errorf("gated %v, acks=%d, upgrade: waits %v (%+v), acknowledged %v, counted as weak %v", gated, acks, waits, wait, acked, counted)
			}
		}
	}
}
