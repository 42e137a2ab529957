package highwater

import (
	"testing"
	"time"

	"lockstep/actors/core"
)

// bench drives one high watermark the way a shell does and keeps what it was told to do.
type bench struct {
	t       *testing.T
	s       *State
	now     core.Now
	version int64
	events  []Event
	effects []Effect // of the newest command: early, then late
	early   []Effect
	all     []Effect // since the start
}

var (
	mirrorA = core.MirrorKey{Cluster: "dc2", Mirror: "a"}
	mirrorB = core.MirrorKey{Cluster: "dc3", Mirror: "b"}
)

const (
	self  = core.ReplicaID(1)
	epoch = core.LeaderEpoch(5)
)

func newBench(t *testing.T) *bench {
	return &bench{t: t, s: New("ledger/t/0"), now: core.Now{Mono: int64(time.Hour), Wall: 1_700_000_000_000}}
}

func (b *bench) do(cmd Command) *bench {
	b.t.Helper()
	out := Decide(b.s, b.now, cmd)
	b.events = out.Events
	b.effects = append(append([]Effect(nil), out.Early...), out.Late...)
	b.early = out.Early
	b.all = append(b.all, b.effects...)
	for _, ev := range out.Events {
		Apply(b.s, ev)
	}
	for _, f := range out.Late {
		if n, ok := f.(NoteStamp); ok {
			stamp := Decide(b.s, b.now, StampDurable(n))
			for _, ev := range stamp.Events {
				Apply(b.s, ev)
			}
		}
	}
	return b
}

func (b *bench) after(d time.Duration) *bench {
	b.now.Mono += int64(d)
	return b.do(Tick{})
}

// source is a leader with three replicas in its ISR, all durable at leo, and these gates.
func source(t *testing.T, leo core.Offset, gates ...Gate) *bench {
	b := newBench(t)
	b.do(LeaderStarted{Epoch: epoch, EpochStart: 0, LEO: 0, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	b.image(func(img *AppliedImage) { img.Gates = gates })
	for r := core.ReplicaID(1); r <= 3; r++ {
		b.report(r, leo)
	}
	return b
}

// mirror is a destination leader with three replicas, two in the ISR, at leo under source epoch 9.
func mirror(t *testing.T, leo core.Offset) *bench {
	b := newBench(t)
	b.do(LeaderStarted{Epoch: epoch, EpochStart: 0, LEO: 0, Self: self, Mode: Mirroring, Replicas: []core.ReplicaID{1, 2, 3}})
	b.mirrorImage(1, 2)
	b.do(SourceAdopted{Term: 1, SourceEpoch: 9, LEO: 0})
	b.term(1, 1, leo).term(2, 1, leo)
	return b
}

func (b *bench) image(change func(*AppliedImage)) *bench {
	b.version++
	img := AppliedImage{
		Epoch: b.s.epoch, ISR: []core.ReplicaID{1, 2, 3}, MinISR: 2, Version: b.version, LastUnclean: core.NoEpoch,
	}
	change(&img)
	return b.do(img)
}

func (b *bench) mirrorImage(isr ...core.ReplicaID) *bench {
	return b.image(func(img *AppliedImage) {
		img.ISR, img.Mode, img.PartitionEpoch = isr, Mirroring, int32(b.version)
		img.MinISR = 1
		img.MirrorOf = MirrorOf{Mirror: "a", PinnedISR: 2, Reporting: true, Epoch: 7}
	})
}

func (b *bench) report(r core.ReplicaID, leo core.Offset) *bench {
	return b.do(ReportReplica{Replica: r, Epoch: b.s.epoch, LEO: leo})
}

func (b *bench) term(r core.ReplicaID, term core.MirrorTerm, leo core.Offset) *bench {
	return b.do(ReportReplica{Replica: r, Epoch: b.s.epoch, Term: term, LEO: leo})
}

func (b *bench) await(ref core.RequestID, offset core.Offset) *bench {
	return b.do(AwaitCommit{Ref: ref, Epoch: b.s.epoch, Offset: offset, Base: offset - 1, Bytes: 100, Deadline: b.now.Mono + int64(27*time.Second)})
}

// floor is a healthy report of the mirror in this epoch.
func (b *bench) floor(key core.MirrorKey, floor core.Offset) *bench {
	return b.do(healthy(key, floor))
}

func healthy(key core.MirrorKey, floor core.Offset) ReportFloor {
	return ReportFloor{Key: key, Epoch: 1, SourceEpoch: epoch, Floor: floor, ISRSize: 2, MinISR: 2, DestEpoch: 100, Seq: 1}
}

func gateOf(key core.MirrorKey) Gate { return Gate{Key: key, Epoch: 1, MinISR: 2} }

func (b *bench) wantHW(want core.Offset) *bench {
	b.t.Helper()
	if got := Describe(b.s).HW; got != want {
		b.t.Fatalf("HW is %d, want %d", got, want)
	}
	return b
}

// confirmed lists who has been confirmed since the start.
func (b *bench) confirmed() map[core.RequestID]bool {
	refs := map[core.RequestID]bool{}
	for _, f := range b.all {
		if a, ok := f.(Advance); ok {
			for _, ref := range a.Confirmed {
				refs[ref] = true
			}
		}
	}
	return refs
}

// newest is the last effect of a kind since the start.
func newest[T Effect](b *bench) (found T, ok bool) {
	for _, f := range b.all {
		if x, is := f.(T); is {
			found, ok = x, true
		}
	}
	return found, ok
}

// in is the effect of a kind that the newest command led to.
func in[T Effect](b *bench) (found T, ok bool) {
	for _, f := range b.effects {
		if x, is := f.(T); is {
			return x, true
		}
	}
	return found, false
}
