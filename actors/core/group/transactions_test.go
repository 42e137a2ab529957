package group

import (
	"fmt"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
	"lockstep/testkit/decoding"
)

type txnWorld struct{ *world }

func (w txnWorld) store(pid int64, partition int32, offset core.Offset) perr.Code {
	w.t.Helper()
	late := w.do(TxnOffsetCommit{Ref: 1, Group: "g", ProducerID: pid, Generation: -1,
		Offsets: []OffsetToCommit{{Topic: "t", Partition: partition, Offset: offset, LeaderEpoch: core.NoEpoch}}})
	return late[0].(OffsetsCommitted).Codes[0]
}

func (w txnWorld) end(pid int64, commit bool) {
	w.t.Helper()
	if late := w.do(EndTxnOffsets{Ref: 1, Group: "g", ProducerID: pid, Commit: commit}); len(late) != 1 || late[0].(TxnOffsetsEnded).Ref != 1 {
		w.t.Fatalf("answered %+v", late)
	}
}

func (w txnWorld) fetch(partition int32, stable bool) string {
	w.t.Helper()
	late := w.do(OffsetFetch{Ref: 1, Group: "g", RequireStable: stable, Topics: []TopicPartitions{{Topic: "t", Partitions: []int32{partition}}}})
	o := late[0].(OffsetsFetched).Offsets[0]
	return fmt.Sprint(o.Offset, " ", o.Code)
}

func (w txnWorld) want(partition int32, stable bool, offset core.Offset, code perr.Code) {
	w.t.Helper()
	if got, want := w.fetch(partition, stable), fmt.Sprint(offset, " ", code); got != want {
		w.t.Fatalf("partition %d, stable %v: %s, want %s", partition, stable, got, want)
	}
}

// T13: the offsets of a transaction are read when its records are, and not before.
func TestOffsetsOfATransactionWaitForItsEnd(t *testing.T) {
	for _, commit := range []bool{true, false} {
		w := txnWorld{newWorld(t)}
		w.do(OffsetCommit{Ref: 1, Group: "g", Generation: -1, Offsets: []OffsetToCommit{{Topic: "t", Offset: 3, LeaderEpoch: core.NoEpoch}}})
		w.store(7, 0, 10)
		w.want(0, false, 3, perr.None)
		w.want(0, true, core.Unknown, perr.UnstableOffsetCommit)
		w.want(1, true, core.Unknown, perr.None)
		w.restart()
		w.want(0, true, core.Unknown, perr.UnstableOffsetCommit)
		w.end(8, true) // another producer
		w.want(0, true, core.Unknown, perr.UnstableOffsetCommit)
		w.end(7, commit)
		w.end(7, commit) // told again
		w.restart()
		want := core.Offset(3)
		if commit {
			want = 10
		}
		w.want(0, true, want, perr.None)
		if len(w.s.pending) != 0 {
			t.Fatalf("left over: %v", w.s.pending)
		}
	}
}

func TestTheNewestCommitOfAPositionCounts(t *testing.T) {
	t.Run("plain after transactional", func(t *testing.T) {
		w := txnWorld{newWorld(t)}
		w.store(7, 0, 10)
		w.do(OffsetCommit{Ref: 1, Group: "g", Generation: -1, Offsets: []OffsetToCommit{{Topic: "t", Offset: 20, LeaderEpoch: core.NoEpoch}}})
		w.want(0, true, 20, perr.None)
		w.end(7, true)
		w.want(0, true, 20, perr.None)
	})
	t.Run("of two transactions", func(t *testing.T) {
		w := txnWorld{newWorld(t)}
		w.store(7, 0, 10)
		w.store(8, 0, 20)
		w.store(7, 1, 11)
		w.end(8, true)
		w.want(0, true, 20, perr.None)
		w.end(7, true)
		w.want(0, true, 20, perr.None)
		w.want(1, true, 11, perr.None)
	})
	t.Run("of an aborted one nothing stays", func(t *testing.T) {
		w := txnWorld{newWorld(t)}
		w.store(7, 0, 10)
		w.store(8, 0, 20)
		w.end(8, false)
		w.want(0, true, core.Unknown, perr.UnstableOffsetCommit)
		w.end(7, true)
		w.want(0, true, 10, perr.None)
	})
	t.Run("twice in one", func(t *testing.T) {
		w := txnWorld{newWorld(t)}
		w.store(7, 0, 10)
		w.store(7, 0, 12)
		w.end(7, true)
		w.want(0, true, 12, perr.None)
	})
}

// KIP-447: a member that the group has replaced must not commit what it processed.
func TestAReplacedMemberCommitsNothingInATransaction(t *testing.T) {
	w := newWorld(t)
	w.settings.InitialDelayMs = 0
	w.do(Resume{Settings: w.settings})
	w.join("g", "a", 1)
	commit := func(generation int32, member string) perr.Code {
		late := w.do(TxnOffsetCommit{Ref: 1, Group: "g", ProducerID: 7, Generation: generation, MemberID: member,
			Offsets: []OffsetToCommit{{Topic: "t", Offset: 1, LeaderEpoch: core.NoEpoch}}})
		return late[0].(OffsetsCommitted).Codes[0]
	}
	for _, c := range []struct {
		generation int32
		member     string
		want       perr.Code
	}{{1, "a", 0}, {0, "a", perr.IllegalGeneration}, {2, "a", perr.IllegalGeneration}, {1, "b", perr.UnknownMemberId}, {-1, "", 0}} {
		if got := commit(c.generation, c.member); got != c.want {
			t.Errorf("generation %d, member %q: %v, want %v", c.generation, c.member, got, c.want)
		}
	}
	late := w.do(TxnOffsetCommit{Ref: 1, Group: "unknown", ProducerID: 7, Generation: 3, MemberID: "a", Offsets: []OffsetToCommit{{Topic: "t"}}})
	if got := late[0].(OffsetsCommitted).Codes[0]; got != perr.IllegalGeneration {
		t.Errorf("unknown group: %v", got)
	}
}

func TestOffsetsOfTransactionsAreBounded(t *testing.T) {
	w := txnWorld{small(t)}
	full := false
	for p := range int32(10_000) {
		if code := w.store(7, p, 1); code == perr.InvalidCommitOffsetSize {
			full = true
			break
		}
	}
	if !full || w.s.kept > w.settings.MaxShardBytes {
		t.Fatalf("full %v, %d bytes of %d", full, w.s.kept, w.settings.MaxShardBytes)
	}
	w.end(7, false)
	if code := w.store(7, 0, 1); code != perr.None {
		t.Fatalf("after the end of the transaction: %v", code)
	}
}

// A request may name as many positions as transactions hold: 30,000 of each
// took longer than 90 s, for every group of the shard, when each was compared with each.
func TestManyPositionsOfManyTransactions(t *testing.T) {
	const n = 30_000
	w := newWorld(t)
	w.settings.MaxShardBytes = 1 << 30
	w.do(Resume{Settings: w.settings})
	var offsets []OffsetToCommit
	var positions []PositionRecord
	asked := TopicPartitions{Topic: "t"}
	for p := range int32(n) {
		offsets = append(offsets, OffsetToCommit{Topic: "t", Partition: p, Offset: 1, LeaderEpoch: core.NoEpoch})
		positions = append(positions, PositionRecord{Topic: "t", Partition: p})
		asked.Partitions = append(asked.Partitions, p)
	}
	for pid := range int64(3) {
		w.do(TxnOffsetCommit{Ref: 1, Group: "g", ProducerID: pid, Generation: -1, Offsets: offsets})
	}
	for _, o := range w.do(OffsetFetch{Ref: 1, Group: "g", RequireStable: true, Topics: []TopicPartitions{asked}})[0].(OffsetsFetched).Offsets {
		if o.Code != perr.UnstableOffsetCommit {
			t.Fatalf("%+v", o)
		}
	}
	w.do(EndTxnOffsets{Ref: 1, Group: "g", ProducerID: 1, Commit: true})
	if left := len(w.s.pending["g"].list()); left != n {
		t.Fatalf("%d positions are held after the second of three transactions", left)
	}
	w.do(DeleteOffsets{Ref: 1, Group: "g", Positions: positions})
	if w.s.pending["g"] != nil || len(w.s.groups["g"].offsets) != 0 {
		t.Fatalf("%d held, %d stored after all were deleted", len(w.s.pending["g"].list()), len(w.s.groups["g"].offsets))
	}
}

// The members of a group have a transaction each: what one stores, and ends, costs as much however many there are.
func TestEachOfManyTransactionsTakesOneStep(t *testing.T) {
	const n, each = 2_000, 4 << 10
	s := Machine().Init("")
	do := func(cmd Command) {
		out := Machine().Decide(s, core.Now{Mono: ms}, cmd)
		for _, ev := range out.Events {
			Machine().Apply(s, ev)
		}
	}
	do(Resume{Settings: DefaultSettings()})
	commit := func(pid, partition int) {
		do(TxnOffsetCommit{Group: "g", ProducerID: int64(pid), Generation: -1, Offsets: []OffsetToCommit{{Topic: "t", Partition: int32(partition)}}})
	}
	bytes := decoding.Allocated(func() {
		for i := range n {
			commit(i, i)
			commit(-1, n+i)
		}
		for i := range n {
			do(EndTxnOffsets{Group: "g", ProducerID: int64(i), Commit: i%2 == 0})
		}
	})
	do(EndTxnOffsets{Group: "g", ProducerID: -1, Commit: true})
	if len(s.pending) != 0 || len(s.groups["g"].offsets) != n+n/2 || bytes > n*each {
		t.Fatalf("%d stored, %d groups hold some; it took %d bytes", len(s.groups["g"].offsets), len(s.pending), bytes)
	}
}
