package broker

import (
	"strings"
	"sync/atomic"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/partition"
	"lockstep/journal"
	"lockstep/journal/memory"
)

// lastMoment is a volume that dies before its newest ledger entries are on disk: once it is told, appends to
// ledgers are taken and never synced, while batches are.
type lastMoment struct {
	journal.Volume
	now  atomic.Bool
	next atomic.Int64
}

func (v *lastMoment) Append(s journal.Stream, entries []core.Entry, done journal.Done) journal.Seq {
	if !strings.HasPrefix(string(s), "ledger/") {
		return v.Volume.Append(s, entries, done)
	}
	if v.now.Load() {
		return journal.Seq(v.next.Add(int64(len(entries))))
	}
	seq := v.Volume.Append(s, entries, done)
	v.next.Store(int64(seq))
	return seq
}

// A gated partition knows its HW after a crash from its ledger alone, until the mirror is heard. What consumers
// saw must be in there; an ack does not wait for it (D3).
func TestWhatConsumersSawSurvivesACrashOfEverything(t *testing.T) { // I14
	r := &rig{t: t, control: memory.New(memory.Options{})}
	inner := memory.New(memory.Options{})
	volume := &lastMoment{Volume: inner}
	r.stores = []journal.Volume{volume}
	r.start()
	id := r.create("orders")
	leader := r.leader(id)
	re := r.register(id, 1)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	acked := func(value string, at core.Offset) {
		t.Helper()
		waiting := r.send(leader, -1, value)
		r.eventually("the record waits", func() bool { return leader.View().LEO == at+1 })
		r.floor(id, re, at+1, int64(at)+1)
		if _, ok := (<-waiting).(partition.AckProduce); !ok {
			t.Fatalf("%s was not acknowledged", value)
		}
	}
	acked("on disk in the ledger", 0)
	r.eventually("it is shown", func() bool { return leader.View().HW == 1 })
	volume.now.Store(true)
	acked("not on disk in the ledger", 1)
	seen := leader.View()
	if seen.Coming != 2 {
		t.Fatalf("after the ack: %+v", seen)
	}
	r.stores[0], r.control = inner.Crash(), r.control.(*memory.Journal).Crash()
	r.start()
	if after := r.leader(id).View(); after.HW < seen.HW || after.LEO != 2 {
		t.Fatalf("consumers saw HW %d; after the crash it is %d", seen.HW, after.HW)
	}
}

// Between leaders of one process HW is never lower than what was shown, not even until the new ledger is written.
func TestHWDoesNotGoBackWhenLeadersMove(t *testing.T) { // I14
	r := memoryRig(t, 3)
	id := r.create("orders")
	seen := core.Offset(0)
	for i := range 20 {
		leader := r.leader(id)
		r.mustAck(leader, "x")
		r.eventually("it is shown", func() bool { return leader.View().HW == core.Offset(i+1) })
		raised := make(chan any, 1)
		r.RaiseEpoch(controller.RaiseEpoch{ID: id, Bump: true}, func(a any) { raised <- a })
		<-raised
		for {
			v := leader.View()
			if seen = max(seen, core.Offset(i+1)); v.IsLeader && v.HW < seen {
				t.Fatalf("HW %d in epoch %d after %d was shown", v.HW, v.Epoch, seen)
			}
			if p, _ := r.Newest().Partition(id); v.Epoch == p.LeaderEpoch {
				break
			}
		}
	}
}

// The HW of an earlier leader says nothing of a mirror's log that was cut since.
func TestAMirrorThatWasCutDoesNotShowWhatCameAfter(t *testing.T) { // R8, I18
	r := memoryRig(t, 3)
	leader := r.mirrored("orders")
	r.copyUpTo(leader, 5, "common", 1)
	r.copyUpTo(leader, 5, "committed, then lost by the source", 2)
	r.eventually("both are shown", func() bool { return leader.View().HW == 2 })
	r.adopt(leader, partition.AdoptSource{SourceEpoch: 8, EndEpoch: 5, EndOffset: 1, FollowUnclean: true}, partition.MirrorOK)
	r.copyUpTo(leader, 8, "not committed", 1)
	r.raised(leader.ID())
	next := r.leader(leader.ID())
	r.adopt(next, partition.AdoptSource{SourceEpoch: 8, EndEpoch: 8, EndOffset: 2}, partition.MirrorOK)
	r.copyUpTo(next, 8, "not committed either", 1)
	if v := next.View(); v.HW != 1 || v.LEO != 3 {
		t.Fatalf("the source has committed 1 record, consumers see %d of %d", v.HW, v.LEO)
	}
}

// Mirrored topics keep their id: one that is deleted and made again has committed nothing.
func TestATopicMadeAgainUnderItsIDHasCommittedNothing(t *testing.T) { // F34
	r := memoryRig(t, 1)
	id := core.PartitionID{Topic: core.TopicID{7}}
	create := controller.CreateTopic{ID: id.Topic, Name: "orders", Partitions: 1, Replication: -1, Mirrored: true}
	answer := make(chan any, 1)
	r.CreateTopic(create, func(a any) { answer <- a })
	<-answer
	r.mustAck(r.leader(id), "of the first life")
	r.DeleteTopic(controller.DeleteTopic{ID: id.Topic}, func(a any) { answer <- a })
	<-answer
	r.CreateTopic(create, func(a any) { answer <- a })
	<-answer
	leader := r.leader(id)
	r.register(id, 1)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	if _, ok := r.produce(leader, 1, "waits for a mirror").(partition.AckProduce); !ok {
		t.Fatal("acks=1 was refused")
	}
	r.raised(id)
	if v := r.leader(id).View(); v.HW != 0 || v.Coming != 0 || v.LEO != 1 {
		t.Fatalf("nothing is committed, yet: %+v", v)
	}
}

// Where the loss of committed records was accepted, others come to stand at their offsets.
func TestAfterAnAcceptedLossTheOldHWCommitsNothing(t *testing.T) { // R12
	r := memoryRig(t, 1)
	id := r.create("orders")
	leader := r.leader(id)
	r.mustAck(leader, "left")
	r.knownOf(id).acked.raise(9) // by a leader whose log is gone
	r.register(id, 1)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	for range 3 {
		r.raised(id)
		if _, ok := r.produce(r.leader(id), 1, "waits for a mirror").(partition.AckProduce); !ok {
			t.Fatal("acks=1 was refused")
		}
	}
	if v := r.leader(id).View(); v.Coming != 1 || v.LEO != 4 {
		t.Fatalf("one record is committed, yet: %+v", v)
	}
}

func (r *rig) raised(id core.PartitionID) {
	r.t.Helper()
	answer := make(chan any, 1)
	r.RaiseEpoch(controller.RaiseEpoch{ID: id, Bump: true}, func(a any) { answer <- a })
	if a, ok := (<-answer).(controller.EpochRaised); !ok || a.Code != 0 {
		r.t.Fatalf("%+v", a)
	}
	r.leader(id)
}
