package partition

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

func TestAfterTheFenceNoOlderAnswerIsAppended(t *testing.T) { // C9
	b := mirrored(t, 6, 7).do(FenceMirror{Ref: 1, Session: 1})
	if f, _ := effect[MirrorFenced](b); !f.OK || f.LME != 7 || f.LEO != 2 {
		t.Fatalf("%+v", f)
	}
	// The image is late: the role still says Mirroring, and a restart does not forget.
	for range 2 {
		b.do(AdoptSource{Session: 1, SourceEpoch: 7, EndEpoch: 7, EndOffset: 2, LastUnclean: core.NoEpoch, Stated: true})
		if b.answer().Outcome != MirrorStale {
			t.Fatalf("adopted after the fence: %+v", b.answer())
		}
		b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(2, 7)}})
		if b.answer().Outcome != MirrorStale || b.s.leo != 2 {
			t.Fatalf("appended after the fence: %+v", b.answer())
		}
		b.restarted().do(Lead{Epoch: 101, Role: Mirroring, Session: 1, Replicas: []core.ReplicaID{1, 2}})
	}
}

// A second run of STOPPING finds our own reset batch at the end of the log and must not take its epoch
// for the source's.
func TestLastMirrorEpochIsWrittenOnce(t *testing.T) { // C9
	b := mirrored(t, 6, 7).do(FenceMirror{Ref: 1, Session: 1})
	b.do(Lead{Epoch: 1024, Role: Stopping, Session: 1, Replicas: []core.ReplicaID{1, 2}})
	b.do(WritePidReset{Ref: 2, Keep: KeepIdempotent})
	b.restarted().do(Lead{Epoch: 1025, Role: Stopping, Session: 1, Replicas: []core.ReplicaID{1, 2}})
	b.do(FenceMirror{Ref: 3, Session: 1})
	if f, _ := effect[MirrorFenced](b); f.LME != 7 || f.LEO != 2 {
		t.Fatalf("%+v, want epoch 7 and end 2", f)
	}
	b.do(WritePidReset{Ref: 4, Keep: KeepIdempotent})
	if b.s.leo != 3 {
		t.Fatalf("a second reset batch was written: LEO %d", b.s.leo)
	}
	if c, _ := told[highwater.AwaitCommit](b); c.Ref != 4 || c.Offset != 3 || c.Deadline != 0 {
		t.Fatalf("waits for %+v", c)
	}
	b.do(Advanced{Epoch: 1025, HW: 3, Confirmed: []core.RequestID{4}})
	if r, _ := effect[PidResetWritten](b); r.Ref != 4 || !r.OK {
		t.Fatalf("%+v", r)
	}
	if _, of, ok := LastMirrorEpoch(b.s); of != 2 || !ok {
		t.Fatal("the end of what was mirrored is forgotten")
	}
}

// stopped is a mirrored log with a batch of an idempotent and of a transactional producer, stopped.
func stopped(t *testing.T, keep KeepProducers) *bench {
	b := mirrored(t)
	idempotent := client(9, 0, 0, 1).Stamped(0, 7)
	transactional := batch.Build(batch.Batch{ProducerID: 10, BaseSequence: 0, Attributes: 1 << 4}, []batch.Record{{Value: []byte("x")}}).Stamped(1, 7)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{idempotent, transactional}})
	b.do(FenceMirror{Ref: 1, Session: 1})
	b.do(Lead{Epoch: 1024, Role: Stopping, Replicas: []core.ReplicaID{1, 2}})
	b.do(WritePidReset{Ref: 2, Keep: keep})
	return b.do(Lead{Epoch: 1024, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
}

func TestWhoseSequencesSurviveAFailover(t *testing.T) { // C13, F49
	known := func(b *bench, id int64) bool {
		b.produce(id, 0, 7, 1) // out of order for a producer we remember
		return b.refusal() == perr.OutOfOrderSequenceNumber
	}
	for name, live := range map[string]func(*bench) *bench{
		"live": func(b *bench) *bench { return b },
		"after a restart": func(b *bench) *bench {
			return b.restarted().do(Lead{Epoch: 1025, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
		},
		"from a snapshot": func(b *bench) *bench {
			s, err := restore(b.s.ID, snapshot(b.s))
			if err != nil {
				t.Fatal(err)
			}
			b.s = s
			return b.do(Lead{Epoch: 1025, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if b := live(stopped(t, KeepIdempotent)); !known(b, 9) || known(b, 10) {
				t.Fatal("an armed mirror keeps idempotent producers and no transactional ones")
			}
			if b := live(stopped(t, KeepNone)); known(b, 9) || known(b, 10) {
				t.Fatal("an unarmed mirror keeps nobody")
			}
		})
	}
}

// A retry of what the source acknowledged before the failover is a duplicate here, not a second copy.
func TestARetryAfterFailoverIsADuplicate(t *testing.T) { // C13
	b := stopped(t, KeepIdempotent).produce(9, 0, 0, 1)
	if c, _ := told[highwater.AwaitCommit](b); b.s.leo != 4 || c.Offset != 1 {
		t.Fatalf("LEO %d, waits for %+v", b.s.leo, c)
	}
}

func TestAResetThatIsCutHadNoEffect(t *testing.T) { // C13
	b := stopped(t, KeepNone)
	Apply(b.s, LogTruncated{From: 4, To: 3})
	if _, duplicate, _ := b.s.checkSequence(client(9, 0, 0, 1)); !duplicate {
		t.Fatal("the producer stayed forgotten although the reset batch is gone")
	}
}

// A restart in place under the same number: what was appended under it may be gone, so floors and
// followers would take other bytes for the same.
func TestARestartedLeaderNeedsANewEpoch(t *testing.T) { // R12, P1
	b := leader(t).produce(-1, -1, -1, 1)
	b.restarted().do(Lead{Epoch: 5, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
	if b.produce(-1, -1, -1, 1); b.refusal() != perr.NotLeaderOrFollower {
		t.Fatalf("served under the old number: %v", b.refusal())
	}
	b.do(Lead{Epoch: 6, Role: Writable, Replicas: []core.ReplicaID{1, 2}})
	if b.produce(-1, -1, -1, 1); b.refusal() != 0 || b.s.leo != 2 {
		t.Fatalf("%v, LEO %d", b.refusal(), b.s.leo)
	}
}
