package partition

import (
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// settle delivers all mail and syncs all journals until nothing is left to do.
func (w *world) settle(c *cluster) {
	for range 10_000 {
		for _, b := range c.brokers {
			b.sync()
		}
		if len(c.mail) == 0 {
			return
		}
		l := c.mail[0]
		c.mail = c.mail[1:]
		l.deliver()
	}
	panic("world: the cluster does not come to rest")
}

// pair is a source cluster of two brokers without mirrors; broker 1 leads.
func pair(t *testing.T) (w *world, one, two *broker) {
	t.Helper()
	w = newWorld(1)
	w.gated = false
	w.src = w.newCluster("dc1", 1)
	w.broadcast(w.src)
	w.settle(w.src)
	return w, w.src.broker(1), w.src.broker(2)
}

func (w *world) send(b *broker, id int64) {
	w.nextID = id
	b.tell(AppendBatch{Ref: core.RequestID(id), Batch: record(id), Acks: -1, Deadline: w.now.Mono + int64(time.Minute)})
}

func wantSame(t *testing.T, one, two *broker, n int) {
	t.Helper()
	if len(one.live) != n || len(two.live) != n {
		t.Fatalf("%s has %d batches, %s has %d, want %d", one.label, len(one.live), two.label, len(two.live), n)
	}
	for i := range one.live {
		if digest(one.live[i]) != digest(two.live[i]) {
			t.Fatalf("different bytes at offset %d", i)
		}
	}
}

func TestAFollowerGetsWhatIsPushed(t *testing.T) { // D7
	w, one, two := pair(t)
	for id := int64(1); id <= 5; id++ {
		w.send(one, id)
	}
	w.settle(w.src)
	wantSame(t, one, two, 5)
	if len(w.acked) != 5 || two.view.HW != 5 {
		t.Fatalf("%d acknowledged, the follower shows HW %d", len(w.acked), two.view.HW)
	}
}

func TestAFollowerBehindReadsTheJournalWhileNewBatchesArePushed(t *testing.T) { // D7
	w, one, two := pair(t)
	two.reset() // its seat and all mail to it are gone
	w.src.mail = nil
	for id := int64(1); id <= 4; id++ {
		w.send(one, id)
	}
	one.sync()
	w.src.mail = nil
	two.tell(Follow{Epoch: 1, Leader: 1})
	// The leader appends between its answer and the end of the catch-up.
	for len(w.src.mail) > 0 {
		l := w.src.mail[0]
		w.src.mail = w.src.mail[1:]
		l.deliver()
		if w.nextID < 7 {
			w.send(one, w.nextID+1)
		}
		one.sync()
	}
	w.settle(w.src)
	wantSame(t, one, two, 7)
}

func TestPushStopsWithoutCreditAndResumes(t *testing.T) { // D7
	b := leader(t).do(JoinLeader{From: 2, Epoch: 5, LastEpoch: core.NoEpoch, LEO: 0})
	big := func() batch.Batch {
		return batch.Build(batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}, []batch.Record{{Value: make([]byte, 4<<20)}})
	}
	pushed := func() bool {
		for _, f := range b.early {
			if to, ok := f.(TellReplica); ok && len(to.Command.(Replicate).Batches) > 0 {
				return true
			}
		}
		return false
	}
	for i := range 6 {
		if b.send(big(), -1); pushed() != (i < 4) {
			t.Fatalf("batch %d was pushed: %v", i, pushed())
		}
	}
	if b.do(ReplicaReported{Replica: 2, Epoch: 5, LEO: 1}); len(b.early) != 0 {
		t.Fatalf("resumed with most of the credit out: %+v", b.early)
	}
	b.do(ReplicaReported{Replica: 2, Epoch: 5, LEO: 3}) // one of four is still out
	to, ok := effect[TellReplica](b)
	if !ok {
		t.Fatal("not resumed")
	}
	if a := to.Command.(Aligned); !a.Behind || a.Tail != 6 {
		t.Fatalf("%+v, want a follower that reads up to 6", a)
	}
	if b.send(big(), -1); !pushed() {
		t.Fatal("not pushed after it resumed")
	}
}

// A clean election with an uncommitted tail on the old leader: it cuts at the end of the common epoch,
// also when its last epoch is unknown to the new leader.
func TestDivergedFollowersCutToTheCommonPrefix(t *testing.T) { // KIP-101, F04
	w, one, two := pair(t)
	w.send(one, 1)
	w.settle(w.src)
	w.send(one, 2) // never leaves broker 1
	one.sync()
	w.src.mail = nil
	w.elect(w.src, 2, false)
	w.settle(w.src)
	wantSame(t, one, two, 1)
	w.send(two, 3)
	w.settle(w.src)
	wantSame(t, one, two, 2)
	if len(one.part.epochs) != 2 || one.part.epochs[1] != (EpochStart{Epoch: 2, Start: 1}) {
		t.Fatalf("epoch history %v", one.part.epochs)
	}
}

// A leader that cut its mirrored log sends every follower to do the same before it counts again.
func TestFollowersOfAMirrorCutWithIt(t *testing.T) { // R4, F05, V5
	w := newWorld(1)
	w.settle(w.dst)
	one, two := w.dst.broker(1), w.dst.broker(2)
	adopt := func(source, epoch core.LeaderEpoch, end core.Offset) {
		one.tell(AdoptSource{Session: 1, SourceEpoch: source, EndEpoch: epoch, EndOffset: end, LastUnclean: core.NoEpoch, Stated: true})
		w.settle(w.dst)
	}
	mirror := func(id int64, source core.LeaderEpoch) {
		next := record(id).Stamped(int64(one.part.leo), int32(source))
		one.tell(AppendMirrored{Session: 1, SourceEpoch: source, Batches: []batch.Batch{next}, SourceHW: core.Unknown})
		w.settle(w.dst)
	}
	adopt(5, core.NoEpoch, 0)
	mirror(1, 5)
	mirror(2, 5)
	adopt(6, 5, 1)
	wantSame(t, one, two, 1)
	mirror(3, 6)
	wantSame(t, one, two, 2)
	if two.part.adopted != 6 || two.part.term != one.part.term {
		t.Fatalf("the follower stands under epoch %d in term %d", two.part.adopted, two.part.term)
	}
	if n := len(w.stated); w.stated[n-1].Floor != 2 || w.stated[n-1].SourceEpoch != 6 {
		t.Fatalf("floor %+v", w.stated[n-1])
	}
}

// The leader's HW is about the leader's bytes. A follower that has not cut yet would show others.
func TestAFollowerShowsHWOnlyOnceItIsAligned(t *testing.T) { // R8, F09, KAFKA-14704
	b := newBench(t)
	for i := range int64(3) {
		Apply(b.s, BatchAppended{Batch: record(i).Stamped(i, 4)})
	}
	b.do(Follow{Epoch: 6, Leader: 2})
	if b.do(Replicate{From: 2, Epoch: 6, Term: 1, HW: 3}); Describe(b.s).HW != 0 {
		t.Fatalf("HW %d before the logs agree", Describe(b.s).HW)
	}
	b.do(AlignTo{From: 2, Epoch: 6, Term: 1, EndEpoch: 4, EndOffset: 1})
	b.do(Aligned{From: 2, Epoch: 6, Term: 1, LastEpoch: 4, LEO: 1, Tail: 3, Behind: true, HW: 3})
	if got := Describe(b.s); got.HW != 1 || got.LEO != 1 {
		t.Fatalf("HW %d, LEO %d: HW never passes the own end", got.HW, got.LEO)
	}
}

// The word "aligned" is about the log that was asked about. A JoinLeader sent twice gets two answers, and
// the second may come after a truncation.
func TestAnAlignmentOfAnotherLogIsIgnored(t *testing.T) {
	b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: 4, LEO: 3})
	if b.s.joined {
		t.Fatal("joined by an answer about a log with 3 offsets")
	}
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, LEO: 0})
	if r, ok := effect[ReportDurable](b); !b.s.joined || !ok || r.Term != 1 {
		t.Fatalf("not joined, or report %+v", r)
	}
	if b.do(Replicate{From: 2, Epoch: 5, Term: 0, Batches: []batch.Batch{record(1).Stamped(0, 5)}}); b.s.leo != 0 {
		t.Fatal("a batch of an older term was appended")
	}
}

func TestAFollowerAsksAgain(t *testing.T) {
	b := newBench(t).do(Follow{Epoch: 5, Leader: 2})
	b.now.Mono += int64(time.Second)
	if to, ok := effect[TellReplica](b.do(Tick{})); !ok || to.Command.(JoinLeader).LEO != 0 {
		t.Fatal("an unanswered JoinLeader is not repeated")
	}
	b.do(Aligned{From: 2, Epoch: 5, Term: 1, LastEpoch: core.NoEpoch, LEO: 0, Behind: true, Tail: 9})
	if r, ok := effect[ReadLeaderLog](b); !ok || r.From != 0 {
		t.Fatal("a follower behind does not read")
	}
	b.now.Mono += int64(time.Second)
	if _, ok := effect[ReadLeaderLog](b.do(Tick{})); !ok {
		t.Fatal("a catch-up without progress does not ask again")
	}
}
