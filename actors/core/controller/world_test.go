package controller

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

// world drives the machine as the shell does, keeps what a journal would keep, and feeds an image
// with what is published. Every step checks the laws of machines.
type world struct {
	t        *testing.T
	s        *State
	entries  []core.Entry
	snapshot []byte // taken after entries[:covered]
	covered  int
	img      *image.Image
}

func newWorld(t *testing.T) *world {
	return &world{t: t, s: Machine().Init(""), img: image.Empty()}
}

func (w *world) do(cmd Command) []Effect {
	w.t.Helper()
	if _, start := cmd.(RestartCluster); start {
		w.img = image.Empty() // a new process
	}
	before := w.s.snapshot()
	out := Machine().Decide(w.s, core.Now{}, cmd)
	if !slices.Equal(before, w.s.snapshot()) {
		w.t.Fatalf("deciding %#v changed the state", cmd)
	}
	for _, ev := range out.Events {
		entry, durable := Machine().Encode(ev)
		if !durable {
			w.t.Fatalf("%T is not durable", ev)
		}
		back, err := Machine().Decode(entry)
		if err != nil || !reflect.DeepEqual(back, ev) {
			w.t.Fatalf("decoding the encoded event gave (%v)\n got %#v\nwant %#v", err, back, ev)
		}
		w.apply(ev)
		w.entries = append(w.entries, entry)
	}
	if len(out.Early) > 0 {
		w.t.Fatalf("%#v leaves before its event is durable: %#v", cmd, out.Early)
	}
	for _, e := range out.Late {
		if p, ok := e.(Publish); ok {
			w.img = image.ApplyAll(w.img, p.Facts)
			w.checkImage()
		}
	}
	return out.Late
}

func (w *world) apply(ev Event) {
	before := w.partitions()
	Machine().Apply(w.s, ev)
	w.checkSteps(before, ev)
}

func (w *world) partitions() map[core.PartitionID]PartitionRecord {
	out := map[core.PartitionID]PartitionRecord{}
	for _, t := range w.s.topics {
		for _, p := range t.partitions {
			out[core.PartitionID{Topic: p.Topic, Index: p.Index}] = p
		}
	}
	return out
}

// checkSteps: what holds between any two states.
func (w *world) checkSteps(before map[core.PartitionID]PartitionRecord, ev Event) {
	w.t.Helper()
	for id, p := range w.partitions() {
		old, existed := before[id]
		_, restarted := ev.(ClusterRestarted)
		switch {
		case !existed:
		case p.LeaderEpoch < old.LeaderEpoch, p.Leader != old.Leader && p.LeaderEpoch <= old.LeaderEpoch:
			w.t.Fatalf("%v: leader %d in epoch %d became %d in epoch %d", id, old.Leader, old.LeaderEpoch, p.Leader, p.LeaderEpoch)
		case restarted && p.LeaderEpoch <= old.LeaderEpoch:
			w.t.Fatalf("%v: a process start left the epoch at %d", id, p.LeaderEpoch)
		case !reflect.DeepEqual(p, old) && p.PartitionEpoch <= old.PartitionEpoch:
			w.t.Fatalf("%v changed within partition epoch %d:\n%+v\n%+v", id, p.PartitionEpoch, old, p)
		case p.LastUnclean < old.LastUnclean:
			w.t.Fatalf("%v: last unclean epoch fell", id)
		}
		if len(p.ISR) == 0 || p.Leader != core.NoReplica && !slices.Contains(p.ISR, p.Leader) {
			w.t.Fatalf("%v: ISR %v, leader %d", id, p.ISR, p.Leader)
		}
		if p.Leader != core.NoReplica && (!w.s.brokers[p.Leader].Live || slices.Contains(p.Lossy, p.Leader)) {
			w.t.Fatalf("%v is led by %d: live %v, lossy %v", id, p.Leader, w.s.brokers[p.Leader].Live, p.Lossy)
		}
		if (p.Leader == core.NoReplica) != (p.Text != "") {
			w.t.Fatalf("%v: leader %d, text %q", id, p.Leader, p.Text)
		}
	}
}

// checkImage: a broker that heard everything knows what the controller knows, and no image ever names
// a leader that is not live.
func (w *world) checkImage() {
	w.t.Helper()
	if whole := image.ApplyAll(image.Empty(), w.s.Facts()); !whole.Equal(w.img) {
		w.t.Fatalf("the image told step by step differs:\n%+v\n%+v", w.img, whole)
	}
	for _, t := range w.img.Topics {
		for _, p := range t.Partitions {
			if p.Leader != core.NoReplica && !w.img.Brokers[p.Leader].Live {
				w.t.Fatalf("topic %s: leader %d is not live", t.Name, p.Leader)
			}
		}
	}
}

// replay is what a new process finds: everything from the start, and snapshot with tail; both agree
// with what was lived.
func (w *world) replay() {
	w.t.Helper()
	for _, snapshot := range []bool{false, true, true} {
		s, from := Machine().Init(""), 0
		if snapshot && w.snapshot != nil {
			var err error
			if s, err = Machine().Restore("", w.snapshot); err != nil {
				w.t.Fatal(err)
			}
			from = w.covered
		}
		for _, e := range w.entries[from:] {
			ev, err := Machine().Decode(e)
			if err != nil {
				w.t.Fatal(err)
			}
			Machine().Apply(s, ev)
		}
		if !slices.Equal(s.snapshot(), w.s.snapshot()) {
			w.t.Fatalf("replay (snapshot %v) differs from what was lived", snapshot)
		}
		w.s = s
	}
	w.snapshot, w.covered = w.s.snapshot(), len(w.entries)
}

func brokersUpTo(n int) []image.Broker {
	var out []image.Broker
	for id := range n {
		out = append(out, image.Broker{ID: core.ReplicaID(id + 1), Live: true, Host: "127.0.0.1", Port: int32(9092 + id)})
	}
	return out
}

// cluster is a started one with topic "t" (id 1) of one partition on replicas 1, 2, 3.
func cluster(t *testing.T, config map[string]string) *world {
	w := newWorld(t)
	w.do(RestartCluster{Cluster: "dc1", Brokers: brokersUpTo(3)})
	w.create(CreateTopic{Name: "t", Fresh: core.TopicID{1}, Partitions: -1, Replication: -1, Assignment: map[int32][]core.ReplicaID{0: {1, 2, 3}}, Config: config}, 0)
	return w
}

func (w *world) create(c CreateTopic, code int16) CreatedTopic {
	w.t.Helper()
	for _, e := range w.do(c) {
		if a, ok := e.(CreatedTopic); ok {
			if int16(a.Code) != code {
				w.t.Fatalf("creating %q: code %d (%s), want %d", c.Name, a.Code, a.Text, code)
			}
			return a
		}
	}
	w.t.Fatal("no answer")
	return CreatedTopic{}
}

func (w *world) p() PartitionRecord { return w.s.topics[core.TopicID{1}].partitions[0] }

func (w *world) state() string {
	p := w.p()
	return fmt.Sprintf("leader %d epoch %d isr %v lossy %v unclean %d", p.Leader, p.LeaderEpoch, p.ISR, p.Lossy, p.LastUnclean)
}

var part = core.PartitionID{Topic: core.TopicID{1}}

func log(replica core.ReplicaID, epoch core.LeaderEpoch, leo core.Offset, lossy bool) ReplicaLog {
	return ReplicaLog{ID: part, Replica: replica, LastEpoch: epoch, LEO: leo, Lossy: lossy}
}

func find[E Effect](t *testing.T, effects []Effect) E {
	t.Helper()
	for _, e := range effects {
		if found, ok := e.(E); ok {
			return found
		}
	}
	var none E
	t.Fatalf("no %T among %#v", none, effects)
	return none
}
