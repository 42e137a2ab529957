package partition

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

func transactional(id int64, epoch int16, sequence int32) batch.Batch {
	return batch.Build(batch.Batch{ProducerID: id, ProducerEpoch: epoch, BaseSequence: sequence, Attributes: 1 << 4},
		[]batch.Record{{Value: []byte("value")}})
}

// begun appends the first batch of a transaction, as the front does when the coordinator has agreed.
func (b *bench) begun(id int64, epoch int16, sequence int32) *bench {
	b.t.Helper()
	b.ref++
	return b.do(AppendBatch{Ref: b.ref, Batch: transactional(id, epoch, sequence), Acks: -1, InTxn: true})
}

func (b *bench) mark(id int64, epoch int16, commit bool) *bench {
	b.t.Helper()
	b.ref++
	return b.do(WriteMarker{Ref: b.ref, Epoch: b.s.epoch, ProducerID: id, ProducerEpoch: epoch, Commit: commit, CoordinatorEpoch: 4})
}

// commit moves HW to the end of the log, on disk.
func (b *bench) commit() *bench {
	b.t.Helper()
	b.do(Advanced{Epoch: b.s.epoch, HW: b.s.leo, Confirmed: []core.RequestID{b.ref}})
	written, marked := effect[MarkerWritten](b)
	b.do(Shown{Epoch: b.s.epoch, HW: b.s.leo})
	if marked {
		b.late = append(b.late, written)
	}
	return b
}

func (b *bench) lso() core.Offset { return Describe(b.s).LSO }

func TestReadersOfCommittedDataWaitForTheEnd(t *testing.T) { // T09
	for _, commit := range []bool{true, false} {
		b := leader(t).produce(-1, -1, -1, 1).begun(9, 0, 0).produce(-1, -1, -1, 2).commit()
		if v := Describe(b.s); v.HW != 4 || v.LSO != 1 {
			t.Fatalf("HW %d, LSO %d, want 4 and 1", v.HW, v.LSO)
		}
		b.do(ParkFetch{Ref: 70, Until: PositionLSO, Beyond: 1})
		b.mark(9, 0, commit)
		if c, _ := told[highwater.AwaitCommit](b); b.lso() != 1 || c.Offset != 5 || c.Deadline != 0 {
			t.Fatalf("the marker is not committed: LSO %d, waits for %+v", b.lso(), c)
		}
		b.do(Advanced{Epoch: 5, HW: 5, Confirmed: []core.RequestID{b.ref}})
		if w, ok := effect[MarkerWritten](b); !ok || w.Code != 0 {
			t.Fatalf("answered %+v (%v)", w, ok)
		}
		b.do(Shown{Epoch: 5, HW: 5})
		if _, woken := effect[WakeFetch](b); b.lso() != 5 || !woken {
			t.Fatalf("LSO %d, woken %v", b.lso(), woken)
		}
		aborted := Describe(b.s).Txns.AbortedIn(0, 5)
		if commit != (len(aborted) == 0) || !commit && (aborted[0].First != 1 || aborted[0].ProducerID != 9) {
			t.Fatalf("commit %v: aborted %+v", commit, aborted)
		}
	}
}

func TestAMarkerIsAControlBatchOfItsProducer(t *testing.T) {
	b := leader(t).begun(9, 3, 0).mark(9, 4, true)
	one, _, err := batch.Parse(b.entries[len(b.entries)-1].Payload)
	m, ends := one.EndOfTxn()
	if err != nil || !ends || !m.Commit || m.CoordinatorEpoch != 4 || !one.IsTransactional() || one.ProducerID != 9 || one.ProducerEpoch != 4 ||
		one.BaseSequence != -1 || one.LeaderEpoch != 5 {
		t.Fatalf("%+v %+v (%v)", m, one, err)
	}
	if batch.Validate(one) != nil {
		t.Fatal("not a valid batch")
	}
}

// T16: a marker that is told again waits for the one that is there.
func TestAMarkerIsWrittenOnce(t *testing.T) {
	b := leader(t).begun(9, 0, 0).mark(9, 0, true).produce(-1, -1, -1, 1)
	b.mark(9, 0, true)
	if c, _ := told[highwater.AwaitCommit](b); b.s.leo != 3 || c.Offset != 2 {
		t.Fatalf("LEO %d, waits for %+v", b.s.leo, c)
	}
	if b.commit().begun(9, 0, 1).mark(9, 0, false); b.s.leo != 5 {
		t.Fatalf("the next transaction of the epoch was not ended: LEO %d", b.s.leo)
	}
}

func TestWhoMayWriteMarkers(t *testing.T) {
	code := func(b *bench) perr.Code { w, _ := effect[MarkerWritten](b); return w.Code }
	b := leader(t).begun(9, 3, 0)
	if b.mark(9, 2, false); code(b) != perr.InvalidProducerEpoch {
		t.Fatalf("an older producer epoch: %v", code(b))
	}
	b.do(WriteMarker{Ref: 99, Epoch: 4, ProducerID: 9, ProducerEpoch: 3})
	if code(b) != perr.NotLeaderOrFollower {
		t.Fatalf("a question to an older leader: %v", code(b))
	}
	b.do(Lead{Epoch: 5, Role: Writable, Replicas: []core.ReplicaID{1, 2}, Fence: Fence{Number: 1, Code: perr.NotLeaderOrFollower}})
	b.do(AdmissionChanged{Epoch: 5, Code: perr.NotEnoughReplicas, Closed: true})
	if b.mark(9, 3, true); b.s.leo != 2 { // C12
		t.Fatalf("a decided transaction does not pass the fence: %v", code(b))
	}
	if w, ok := effect[MarkerWritten](b.mark(8, 0, true)); !ok || w.Code != 0 || b.s.leo != 2 {
		t.Fatalf("nothing is open under the fence: %+v, LEO %d", w, b.s.leo)
	}
	moved := Lead{Epoch: 5, Role: Writable, Replicas: []core.ReplicaID{1, 2}, Fence: Fence{Number: 1, Final: true}}
	if _, answered := effect[MarkerWritten](b.do(moved).mark(9, 3, true)); answered || b.s.leo != 2 {
		t.Fatal("the marker is there, and not known to be on the other side")
	}
	b = leader(t).begun(9, 3, 0).do(moved)
	if b.mark(9, 3, true); code(b) != perr.ReadOnlyTopic || b.s.leo != 1 {
		t.Fatalf("a topic that has moved: %v", code(b))
	}
	b = mirrored(t)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{transactional(9, 0, 0).Stamped(0, 7)}})
	if b.mark(9, 0, true); code(b) != perr.ReadOnlyTopic {
		t.Fatalf("a mirrored topic: %v", code(b))
	}
	b = leader(t).begun(9, 0, 0).mark(9, 0, true)
	if b.do(Follow{Epoch: 6, Leader: 2}); code(b) != perr.NotLeaderOrFollower {
		t.Fatalf("a leader that steps down: %v", code(b))
	}
}

// T22: what arrives after the end of its transaction must not open another that nobody will end.
func TestALateBatchOpensNoTransaction(t *testing.T) {
	b := leader(t).begun(9, 0, 0)
	if b.send(transactional(9, 0, 1), -1); b.refusal() != 0 || b.s.leo != 2 {
		t.Fatalf("the second batch of the transaction: %v", b.refusal())
	}
	if b.produce(9, 0, 2, 1); b.refusal() != perr.InvalidTxnState {
		t.Fatalf("a batch outside of it: %v", b.refusal())
	}
	b.mark(9, 0, true).commit()
	if b.send(transactional(9, 0, 2), -1); b.refusal() != perr.InvalidTxnState {
		t.Fatalf("a late batch: %v", b.refusal())
	}
	if b.send(transactional(9, 0, 1), -1); b.refusal() != 0 || b.s.leo != 3 {
		t.Fatalf("a retry of what is there: %v, LEO %d", b.refusal(), b.s.leo)
	}
	b.begun(9, 0, 2).mark(9, 1, false) // fenced: the epoch is raised
	if b.begun(9, 0, 3); b.refusal() != perr.InvalidProducerEpoch {
		t.Fatalf("the old epoch: %v", b.refusal()) // T15
	}
	if b.begun(9, 1, 5); b.refusal() != perr.OutOfOrderSequenceNumber {
		t.Fatalf("a new epoch begins at 0: %v", b.refusal())
	}
	if b.begun(9, 1, 0); b.refusal() != 0 {
		t.Fatalf("the first of a new epoch: %v", b.refusal())
	}
	if !bytes.Equal(snapshot(b.restarted().s), snapshot(b.s)) {
		t.Fatal("not rebuilt from the log")
	}
}

// A marker may reach a partition before any batch does: the batch that it overtook is fenced all the same.
func TestAMarkerAloneFencesItsProducer(t *testing.T) {
	b := leader(t).mark(9, 4, false)
	if b.begun(9, 3, 0); b.refusal() != perr.InvalidProducerEpoch || b.s.leo != 1 {
		t.Fatalf("%v", b.refusal())
	}
}

func TestProducersAreDescribed(t *testing.T) {
	b := leader(t).produce(8, 0, 0, 2).begun(9, 3, 0)
	b.do(DescribeProducers{Ref: 1})
	got, _ := effect[ProducersDescribed](b)
	want := []DescribedProducer{
		{ProducerID: 8, LastSequence: 1, LastTimestamp: got.Producers[0].LastTimestamp, CoordinatorEpoch: -1, TxnStart: core.Unknown},
		{ProducerID: 9, Epoch: 3, LastTimestamp: got.Producers[1].LastTimestamp, CoordinatorEpoch: -1, TxnStart: 2},
	}
	if !reflect.DeepEqual(got.Producers, want) {
		t.Fatalf("got %+v\nwant %+v", got.Producers, want)
	}
	b.mark(9, 4, true).do(DescribeProducers{Ref: 1})
	got, _ = effect[ProducersDescribed](b)
	if p := got.Producers[1]; p.Epoch != 4 || p.LastSequence != -1 || p.CoordinatorEpoch != 4 || p.TxnStart != core.Unknown {
		t.Fatalf("after the marker: %+v", p)
	}
}

// C9: nobody at this cluster knows what the source left open.
func TestWhatTheSourceLeftOpenIsAborted(t *testing.T) {
	b := mirrored(t)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{
		transactional(9, 2, 0).Stamped(0, 7), transactional(10, 0, 0).Stamped(1, 7),
		batch.EndTxn(1, 10, 0, batch.Marker{Commit: true}).Stamped(2, 7), transactional(11, 0, 0).Stamped(3, 7)}})
	b.do(FenceMirror{Ref: 1, Session: 1})
	b.do(Lead{Epoch: 1024, Role: Stopping, Replicas: []core.ReplicaID{1, 2}})
	b.do(WritePidReset{Ref: 2, Keep: KeepIdempotent})
	if c, _ := told[highwater.AwaitCommit](b); c.Offset != 7 || b.s.leo != 7 {
		t.Fatalf("waits for %+v, LEO %d: want two markers and the reset", c, b.s.leo)
	}
	b.do(Advanced{Epoch: 1024, HW: 7, Confirmed: []core.RequestID{2}, Shown: true})
	b.do(Lead{Epoch: 1024, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
	v := Describe(b.s)
	if v.LSO != 7 || len(v.Txns.Open) != 0 {
		t.Fatalf("LSO %d, open %+v", v.LSO, v.Txns.Open)
	}
	aborted := v.Txns.AbortedIn(0, 7)
	if len(aborted) != 2 || aborted[0].ProducerID != 9 || aborted[1].ProducerID != 11 {
		t.Fatalf("aborted %+v", aborted)
	}
	b.do(WritePidReset{Ref: 3, Keep: KeepIdempotent})
	if b.s.leo != 7 {
		t.Fatal("a resumed stop wrote it again")
	}
	if got := snapshot(b.restarted().s); !bytes.Equal(got, snapshot(b.s)) {
		t.Fatal("not rebuilt from the log")
	}
}

// naive is what Transactions must say, read off the whole log.
type naive []batch.Batch

func (log naive) open(below core.Offset) map[int64]core.Offset {
	open := map[int64]core.Offset{}
	for _, b := range log {
		if core.Offset(b.BaseOffset) >= below {
			break
		}
		if _, ends := b.EndOfTxn(); ends {
			delete(open, b.ProducerID)
		} else if _, begun := open[b.ProducerID]; !begun && b.IsTransactional() {
			open[b.ProducerID] = core.Offset(b.BaseOffset)
		}
	}
	return open
}

func (log naive) lso(hw core.Offset) core.Offset {
	lso := hw
	for _, first := range log.open(hw) {
		lso = min(lso, first)
	}
	return lso
}

func (log naive) aborted(from, below core.Offset) (list []string) {
	first := map[int64]core.Offset{}
	for _, b := range log {
		m, ends := b.EndOfTxn()
		begin, begun := first[b.ProducerID]
		switch {
		case ends && begun:
			if delete(first, b.ProducerID); !m.Commit && begin < below && core.Offset(b.BaseOffset) >= from {
				list = append(list, fmt.Sprint(begin, " ", b.ProducerID))
			}
		case !ends && !begun && b.IsTransactional():
			first[b.ProducerID] = core.Offset(b.BaseOffset)
		}
	}
	slices.Sort(list)
	return list
}

// Every prefix of a log says the same of its transactions, whether the rest was never there or was cut again (C13).
func TestTransactionsAreAFunctionOfTheLog(t *testing.T) {
	for seed := range int64(300) {
		rng := rand.New(rand.NewSource(seed))
		s := New("partition/t/0/broker-1")
		var log naive
		note := core.Offset(0)
		for range 120 {
			at := core.Offset(len(log))
			if rng.Intn(25) == 0 {
				to := note + core.Offset(rng.Intn(int(at-note)+1))
				Apply(s, LogTruncated{From: at, To: to})
				log = slices.Clip(log[:to])
			}
			id := int64(rng.Intn(4))
			one := transactional(id, 0, 0)
			switch rng.Intn(5) {
			case 0:
				one = client(9, 0, 0, 1)
			case 1, 2:
				one = batch.EndTxn(1, id, 0, batch.Marker{Commit: rng.Intn(2) == 0})
			}
			one = one.Stamped(int64(len(log)), 5)
			if rng.Intn(10) == 0 {
				note = max(note, core.Offset(rng.Intn(len(log)+1)))
			}
			log = append(log, one)
			Apply(s, BatchAppended{Batch: one, Note: note})
			hw := note + core.Offset(rng.Intn(len(log)-int(note)+1))
			if got, want := s.txns.LSO(hw), log.lso(hw); got != want {
				t.Fatalf("seed %d: LSO at HW %d of %d is %d, want %d", seed, hw, len(log), got, want)
			}
			from := core.Offset(rng.Intn(len(log) + 1))
			below := from + core.Offset(rng.Intn(len(log)-int(from)+1))
			var got []string
			for _, a := range s.txns.AbortedIn(from, below) {
				got = append(got, fmt.Sprint(a.First, " ", a.ProducerID))
			}
			if slices.Sort(got); !slices.Equal(got, log.aborted(from, below)) {
				t.Fatalf("seed %d: aborted in [%d, %d) are %v, want %v", seed, from, below, got, log.aborted(from, below))
			}
		}
		back, err := restore(s.ID, snapshot(s))
		if err != nil || !bytes.Equal(snapshot(back), snapshot(s)) {
			t.Fatalf("seed %d: a snapshot comes back as another (%v)", seed, err)
		}
	}
}

// What a reader was handed stays as it was, whatever is appended and cut since.
func TestViewsOfTransactionsNeverChange(t *testing.T) {
	s := New("partition/t/0/broker-1")
	for i := range int64(20) {
		one := transactional(1, 0, 0)
		if i%2 == 1 {
			one = batch.EndTxn(1, 1, 0, batch.Marker{})
		}
		Apply(s, BatchAppended{Batch: one.Stamped(i, 5)})
	}
	view := Describe(s).Txns.AbortedIn(0, 20)
	seen := Describe(s).Txns
	Apply(s, LogTruncated{From: 20, To: 10})
	for i := int64(10); i < 20; i++ {
		one := transactional(2, 0, 0)
		if i%2 == 1 {
			one = batch.EndTxn(1, 2, 0, batch.Marker{})
		}
		Apply(s, BatchAppended{Batch: one.Stamped(i, 6)})
	}
	if !reflect.DeepEqual(view, seen.AbortedIn(0, 20)) {
		t.Fatal("a view changed")
	}
}

func TestOldEndsAreForgotten(t *testing.T) {
	s := New("partition/t/0/broker-1")
	for i := range int64(4000) {
		one := transactional(1, 0, int32(i/2))
		if i%2 == 1 {
			one = batch.EndTxn(1, 1, 0, batch.Marker{Commit: true})
		}
		Apply(s, BatchAppended{Batch: one.Stamped(i, 5), Note: core.Offset(i)})
	}
	if n := len(s.txns.ended); n > 3*endedKept || len(s.producers[1]) > 4*duplicateWindow {
		t.Fatalf("%d ends and %d batches are remembered", n, len(s.producers[1]))
	}
}
