package broker

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/journal/quarantine"
	"lockstep/protocol/batch"
)

// mirrored makes a topic that follows a source of epoch 5 in session 1, under a leader epoch above the source's.
func (r *rig) mirrored(name string) *Replica {
	r.t.Helper()
	id := core.PartitionID{Topic: core.TopicID{9}}
	r.publisher.publish([]image.Fact{image.MirrorTopicChanged{ID: id.Topic, Topic: image.MirrorTopic{Mirror: "dr", State: image.MirrorMirroring, Session: 1}}})
	answer := make(chan any, 1)
	r.CreateTopic(controller.CreateTopic{ID: id.Topic, Name: name, Partitions: 1, Replication: int16(len(r.stores)), Mirrored: true}, func(a any) { answer <- a })
	if created := (<-answer).(controller.CreatedTopic); created.Code != 0 {
		r.t.Fatalf("%+v", created)
	}
	r.RaiseEpoch(controller.RaiseEpoch{ID: id, Min: 50}, func(a any) { answer <- a })
	<-answer
	leader := r.leader(id)
	r.adopt(leader, partition.AdoptSource{SourceEpoch: 5, EndEpoch: core.NoEpoch}, partition.MirrorOK)
	return leader
}

func (r *rig) adopt(leader *Replica, cmd partition.AdoptSource, want partition.MirrorOutcome) {
	r.t.Helper()
	cmd.Session, cmd.LastUnclean, cmd.Stated = 1, core.NoEpoch, true
	a := r.mirrorAsk(leader, func(ref core.RequestID) partition.Command { cmd.Ref = ref; return cmd })
	if a.Outcome != want {
		r.t.Fatalf("adopting epoch %d: outcome %d, %s", cmd.SourceEpoch, a.Outcome, a.Text)
	}
}

func (r *rig) mirrorAsk(leader *Replica, build func(core.RequestID) partition.Command) partition.MirrorAnswered {
	r.t.Helper()
	answer := make(chan any, 1)
	leader.Ask(build, func(a any) { answer <- a })
	a, ok := (<-answer).(partition.MirrorAnswered)
	if !ok {
		r.t.Fatalf("%+v", a)
	}
	return a
}

// copyIn appends one mirrored batch of a source epoch and returns its bytes.
func (r *rig) copyIn(leader *Replica, epoch core.LeaderEpoch, value string) []byte {
	r.t.Helper()
	return r.copyUpTo(leader, epoch, value, core.Unknown)
}

// copyUpTo also says how far the source has committed.
func (r *rig) copyUpTo(leader *Replica, epoch core.LeaderEpoch, value string, hw core.Offset) []byte {
	r.t.Helper()
	b := records(value).Stamped(int64(leader.View().LEO), int32(epoch))
	sent := bytes.Clone(b.Bytes)
	a := r.mirrorAsk(leader, func(ref core.RequestID) partition.Command {
		return partition.AppendMirrored{Ref: ref, Session: 1, SourceEpoch: epoch, Batches: []batch.Batch{b}, SourceHW: hw}
	})
	if a.Outcome != partition.MirrorOK {
		r.t.Fatalf("append: outcome %d, %s", a.Outcome, a.Text)
	}
	return sent
}

func (r *rig) dir(b core.ReplicaID) string {
	broker, _ := r.Broker(b)
	return broker.slot.Dir
}

// A source that parts from our log twice at the same place cuts other bytes each time: all of them are kept.
func TestWhatATruncationCutsIsInQuarantineByteByByte(t *testing.T) { // R11, F43
	r := memoryRig(t, 3)
	leader := r.mirrored("orders")
	r.copyIn(leader, 5, "common")
	var cut [][]byte
	for i := range core.LeaderEpoch(3) {
		epoch := 5 + 3*i
		var gone []byte
		for n := range 2 {
			gone = append(gone, r.copyIn(leader, epoch, fmt.Sprintf("cut %d of round %d", n, i))...)
		}
		cut = append(cut, gone)
		r.adopt(leader, partition.AdoptSource{SourceEpoch: epoch + 3, EndEpoch: 5, EndOffset: 1}, partition.MirrorOK)
		if v := leader.View(); v.LEO != 1 || v.Adopted != epoch+3 {
			t.Fatalf("after the cut: %+v", v)
		}
	}
	list, err := quarantine.List(r.dir(leader.Broker()))
	if err != nil || len(list) != 3 {
		t.Fatalf("%d ranges listed, %v", len(list), err)
	}
	for i, q := range list {
		got, err := os.ReadFile(q.Path)
		if err != nil || !bytes.Equal(got, cut[i]) {
			t.Errorf("round %d: %d bytes in quarantine, %d were cut; %v", i, len(got), len(cut[i]), err)
		}
		if q.Topic != leader.ID().Topic.String() || q.Partition != 0 || q.From != 1 || q.To != 3 || q.Mirror != "dr" || q.Problem != "" ||
			q.SourceEpoch != int32(8+3*i) || core.LeaderEpoch(q.LeaderEpoch) != leader.View().Epoch || q.Reason == "" {
			t.Errorf("round %d is described as %+v", i, q)
		}
	}
	for _, b := range r.Brokers() {
		replica, _ := b.Replica(leader.ID())
		r.eventually("followers cut, too", func() bool { return replica.View().LEO == 1 })
	}
}

func TestADirectoryThatTakesNoCopyCutsNothing(t *testing.T) { // R11, F43
	r := memoryRig(t, 1)
	leader := r.mirrored("orders")
	r.copyIn(leader, 5, "common")
	r.copyIn(leader, 5, "kept")
	blocker := r.dir(leader.Broker()) + "/" + quarantine.Directory
	if err := os.WriteFile(blocker, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	divergence := partition.AdoptSource{SourceEpoch: 8, EndEpoch: 5, EndOffset: 1}
	r.adopt(leader, divergence, partition.MirrorUnsaved)
	if v := leader.View(); v.LEO != 2 || v.Adopted != 5 {
		t.Fatalf("cut without a copy: %+v", v)
	}
	if err := os.Remove(blocker); err != nil {
		t.Fatal(err)
	}
	r.adopt(leader, divergence, partition.MirrorOK)
	if v := leader.View(); v.LEO != 1 || v.Adopted != 8 {
		t.Fatalf("%+v", v)
	}
}
