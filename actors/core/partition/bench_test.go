package partition

import (
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// bench drives one replica the way a shell does and keeps what it was told to do.
type bench struct {
	t       *testing.T
	s       *State
	now     core.Now
	ref     core.RequestID
	events  []Event
	early   []Effect // of the newest command
	late    []Effect
	entries []core.Entry
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, s: New("partition/t/0/broker-1"), now: core.Now{Mono: int64(time.Hour), Wall: 1_700_000_000_000}}
}

func (b *bench) do(cmd Command) *bench {
	b.t.Helper()
	out := Decide(b.s, b.now, cmd)
	b.events, b.early, b.late = out.Events, out.Early, out.Late
	for _, ev := range out.Events {
		Apply(b.s, ev)
		if entry, ok := encode(ev); ok {
			b.entries = append(b.entries, entry)
		}
	}
	return b
}

// restarted is the replica after its memory was lost and its whole stream replayed.
func (b *bench) restarted() *bench {
	b.s = New(b.s.ID)
	for _, entry := range b.entries {
		ev, err := decode(entry)
		if err != nil {
			b.t.Fatal(err)
		}
		Apply(b.s, ev)
	}
	return b
}

// leader leads an ordinary topic in epoch 5 with replicas 1 and 2.
func leader(t *testing.T) *bench {
	return newBench(t).do(Lead{Epoch: 5, Role: Writable, Replicas: []core.ReplicaID{1, 2}}).do(AdmissionChanged{Epoch: 5})
}

// mirrored leads a mirrored topic in local epoch 100, session 1, having adopted source epoch 7 with
// batches of one record each at the source epochs given.
func mirrored(t *testing.T, epochs ...core.LeaderEpoch) *bench {
	b := newBench(t).do(Lead{Epoch: 100, Role: Mirroring, Mirror: "dr", Session: 1, Replicas: []core.ReplicaID{1, 2}})
	b.do(AdoptSource{Session: 1, SourceEpoch: 7, EndEpoch: core.NoEpoch, LastUnclean: core.NoEpoch, Stated: true})
	if b.answer().Outcome != MirrorOK {
		t.Fatalf("adoption: %+v", b.answer())
	}
	for _, e := range epochs {
		b.mirror(e)
	}
	return b
}

// mirror appends one batch of a source epoch to a mirrored log.
func (b *bench) mirror(e core.LeaderEpoch) *bench {
	b.t.Helper()
	next := record(int64(b.s.leo)+1).Stamped(int64(b.s.leo), int32(e))
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{next}, SourceHW: core.Unknown})
	if b.answer().Outcome != MirrorOK {
		b.t.Fatalf("mirror append: %+v", b.answer())
	}
	return b
}

func (b *bench) answer() MirrorAnswered {
	a, _ := effect[MirrorAnswered](b)
	return a
}

// produce sends one acks=all batch of n records of a producer.
func (b *bench) produce(id int64, epoch int16, sequence int32, n int) *bench {
	b.t.Helper()
	return b.send(client(id, epoch, sequence, n), -1)
}

func (b *bench) send(one batch.Batch, acks int16) *bench {
	b.t.Helper()
	b.ref++
	return b.do(AppendBatch{Ref: b.ref, Batch: one, Acks: acks, Deadline: b.now.Mono + int64(time.Second), Client: "billing"})
}

func client(id int64, epoch int16, sequence int32, n int) batch.Batch {
	records := make([]batch.Record, n)
	for i := range records {
		records[i].Value = []byte("value")
	}
	return batch.Build(batch.Batch{ProducerID: id, ProducerEpoch: epoch, BaseSequence: sequence}, records)
}

func (b *bench) refusal() perr.Code {
	r, _ := effect[RefuseProduce](b)
	return r.Code
}

// effect is the effect of a kind that the newest command led to.
func effect[T Effect](b *bench) (found T, ok bool) {
	for _, f := range append(append([]Effect(nil), b.early...), b.late...) {
		if x, is := f.(T); is {
			return x, true
		}
	}
	return found, false
}

// told is the command of a kind that the HW actor was sent.
func told[T highwater.Command](b *bench) (found T, ok bool) {
	for _, f := range append(append([]Effect(nil), b.early...), b.late...) {
		if tell, is := f.(TellHighWatermark); is {
			if c, is := tell.Command.(T); is {
				return c, true
			}
		}
	}
	return found, false
}
