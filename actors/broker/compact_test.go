package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/journal"
	"lockstep/journal/quorum"
	"lockstep/journal/volume"
	"lockstep/protocol/batch"
)

// compacts makes a topic in which every batch is a segment and tombstones stay no time at all, with more settings.
func (r *rig) compacts(name string, more ...string) *Replica {
	r.t.Helper()
	answer := make(chan any, 1)
	config := map[string]string{
		"cleanup.policy": "compact", "segment.bytes": "14", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "0",
	}
	for i := 0; i < len(more); i += 2 {
		config[more[i]] = more[i+1]
	}
	r.CreateTopic(controller.CreateTopic{Name: name, Partitions: 1, Replication: int16(len(r.stores)), Config: config}, func(a any) { answer <- a })
	created, ok := (<-answer).(controller.CreatedTopic)
	if !ok || created.Code != 0 {
		r.t.Fatalf("create %s: %+v", name, created)
	}
	return r.leader(core.PartitionID{Topic: created.Topic.ID})
}

// put appends one batch of "key=value" for each; "key" alone is a tombstone.
func (r *rig) put(leader *Replica, records ...string) {
	r.t.Helper()
	for _, text := range records {
		if a := r.putOnce(leader, text); a == nil {
			r.t.Fatalf("%s is not acknowledged", text)
		}
	}
}

// putOnce returns nil if the record was not acknowledged.
func (r *rig) putOnce(leader *Replica, text string) *partition.AckProduce {
	key, value, alive := strings.Cut(text, "=")
	one := batch.Record{Timestamp: r.Now().Wall, Key: []byte(key)}
	if alive {
		one.Value = []byte(value)
	}
	b := batch.Build(batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}, []batch.Record{one})
	answer := make(chan any, 1)
	leader.Ask(func(ref core.RequestID) partition.Command {
		return partition.AppendBatch{Ref: ref, Batch: b, Acks: -1, Deadline: r.Now().Mono + int64(5*time.Second), Client: "test"}
	}, func(a any) { answer <- a })
	if ack, ok := (<-answer).(partition.AckProduce); ok {
		return &ack
	}
	return nil
}

// look has every broker look at its logs once, and waits for it.
func (r *rig) look() {
	for _, b := range r.Brokers() {
		// The one that is under way may end first; the next one is whole.
		two := b.compactor.ended.Load() + 2
		b.compactor.inbox.Post(struct{}{})
		b.compactor.inbox.Post(struct{}{})
		r.eventually("a whole round", func() bool { return b.compactor.ended.Load() >= two })
	}
}

// shown are the records of a replica, and nothing twice or out of order.
func (r *rig) shown(replica *Replica) string {
	r.t.Helper()
	var out []string
	v := replica.View()
	for at := v.LogStart; at < v.HW; {
		stored, err := replica.Read(at, v.HW, 1<<20)
		if err != nil || len(stored) == 0 {
			r.t.Fatalf("read %d of %d: %v", at, v.HW, err)
		}
		for _, s := range stored {
			if s.Base != at {
				r.t.Fatalf("a batch begins at %d, want %d", s.Base, at)
			}
			b, _, err := batch.Parse(s.Bytes)
			if err != nil {
				r.t.Fatal(err)
			}
			if err := b.Each(0, func(rec batch.Record) bool {
				text := fmt.Sprintf("%d:%s", rec.Offset, rec.Key)
				if rec.Value != nil {
					text += "=" + string(rec.Value)
				}
				out = append(out, text)
				return true
			}); err != nil {
				r.t.Fatal(err)
			}
			at = s.Last + 1
		}
	}
	return strings.Join(out, " ")
}

func (r *rig) becomes(replica *Replica, want string) {
	r.t.Helper()
	r.eventually("a log of "+want, func() bool {
		r.look()
		return r.shown(replica) == want
	})
}

func (r *rig) change(what func(func(any))) {
	answer := make(chan any, 1)
	what(func(a any) { answer <- a })
	<-answer
}

// R04: a replica that was away when a key was deleted hears of it when it is back, and not that there was no such key.
func TestTombstonesWaitForAReplicaThatIsDown(t *testing.T) {
	r := memoryRig(t, 3)
	leader := r.compacts("t")
	r.put(leader, "a=1", "b=1")
	id := leader.ID()
	p, _ := r.Newest().Partition(id)
	away := p.Replicas[2]
	r.change(func(reply func(any)) { r.StopBroker(away, reply) })
	leader = r.leader(id)
	r.put(leader, "a", "c=1", "end=1")
	r.becomes(leader, "1:b=1 2:a 3:c=1 4:end=1")
	for range 20 {
		r.look()
	}
	if got := r.shown(leader); got != "1:b=1 2:a 3:c=1 4:end=1" {
		t.Fatalf("a replica is away, and the log is %s", got)
	}
	r.change(func(reply func(any)) { r.StartBroker(away, reply) })
	r.becomes(leader, "1:b=1 3:c=1 4:end=1")
	back, ok := r.replica(away, id)
	if !ok {
		t.Fatal("no replica")
	}
	r.becomes(back, "1:b=1 3:c=1 4:end=1")
}

// F52, M04: nothing goes of what a registered mirror has yet to get.
func TestCompactionStaysBelowRegisteredMirrors(t *testing.T) {
	r := memoryRig(t, 1)
	leader := r.compacts("t")
	gated := highwater.PublishGates{Epoch: leader.View().Epoch, Gates: []highwater.GateState{{Floor: 2}}}
	r.put(leader, "a=1", "a=2", "a=3", "a", "end=1")
	leader.gates.Store(&gated)
	r.becomes(leader, "1:a=2 2:a=3 3:a 4:end=1")
	for range 20 {
		r.look()
	}
	if got := r.shown(leader); got != "1:a=2 2:a=3 3:a 4:end=1" || leader.View().Cleaned != 2 {
		t.Fatalf("the log is %s", got)
	}
	gated.Gates = []highwater.GateState{{Floor: 5}}
	leader.gates.Store(&gated)
	r.becomes(leader, "4:end=1")
}

// R11: what was compacted on one side of a mirror only is no other history.
func TestWhatWasCompactedIsNotCompared(t *testing.T) {
	r := memoryRig(t, 1)
	leader := r.compacts("t")
	r.put(leader, "a=1", "b=1", "a=2", "end=1")
	before, err := leader.Tail(1)
	if err != nil || before < 0 {
		t.Fatal(before, err)
	}
	r.becomes(leader, "1:b=1 2:a=2 3:end=1")
	for at, want := range map[core.Offset]int64{0: NoTail, 1: before} {
		if got, err := leader.Tail(at); got != want || err != nil {
			t.Errorf("at %d: %d, %v; want %d", at, got, err, want)
		}
	}
}

// A crash in a pass leaves a log that is read as before, and the next pass ends the work.
func TestACrashInAPassLosesNothing(t *testing.T) {
	r := memoryRig(t, 1)
	leader := r.compacts("t")
	for i := range 40 {
		r.put(leader, fmt.Sprint("k", i%4, "=", i))
	}
	r.put(leader, "end=1")
	id := leader.ID()
	want := "36:k0=36 37:k1=37 38:k2=38 39:k3=39 40:end=1"
	for round := range 6 {
		r.Brokers()[0].compactor.inbox.Post(struct{}{})
		r.crash()
		leader = r.leader(id)
		if got := r.shown(leader); !strings.HasSuffix(got, want) || leader.View().LEO != 41 {
			t.Fatalf("round %d: %s", round, got)
		}
	}
	r.becomes(leader, want)
}

// The space of what was compacted comes back, and what is left is read from a volume that was opened again.
func TestTheSpaceOfCompactedRecordsComesBack(t *testing.T) {
	r := &rig{t: t}
	var cluster atomic.Pointer[Cluster]
	o := volume.Options{Dir: t.TempDir(), Cluster: "dc1", Broker: 1, SegmentBytes: 1 << 20, MemTableBytes: 1 << 20, Retention: -1, Reserve: 1, Spares: 1,
		OnSwitch: func(uint64) {
			if c := cluster.Load(); c != nil {
				c.Snapshot(1)
			}
		}}
	open := func() *volume.Volume {
		v, err := volume.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		q, err := quorum.Open([]quorum.Member{{ID: 1, Journal: v}}, quorum.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.stores, r.control = []journal.Volume{v}, q
		r.start()
		cluster.Store(r.Cluster)
		return v
	}
	v := open()
	leader := r.compacts("t")
	id, value := leader.ID(), strings.Repeat("x", 64<<10)
	for i := range 16 * 8 {
		r.put(leader, fmt.Sprint("k", i%3, "=", i, value))
	}
	r.put(leader, "end=1")
	size := func() int64 {
		sizes, err := v.Sizes([]journal.Stream{leader.stream})
		if err != nil {
			t.Fatal(err)
		}
		return sizes[0]
	}
	if n := size(); n < 8<<20 {
		t.Fatalf("%d bytes", n)
	}
	want := fmt.Sprintf("125:k2=125%s 126:k0=126%s 127:k1=127%s 128:end=1", value, value, value)
	r.becomes(leader, want)
	if n := size(); n > 4*(64<<10) {
		t.Errorf("%d bytes of batches are left", n)
	}
	for range 20 { // into the next segment
		r.put(leader, "more="+value)
	}
	if err := v.Clean(); err != nil {
		t.Fatal(err)
	}
	numbers, err := os.ReadDir(filepath.Join(o.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	segments := slices.DeleteFunc(numbers, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".seg") })
	if len(segments) > 5 {
		t.Errorf("%d segments of 1 MiB are left", len(segments))
	}
	end := func() {
		c := r.Cluster
		r.Cluster = nil
		c.Close()
	}
	for _, rebuild := range []bool{false, true} {
		end()
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		o.Rebuild = rebuild
		v = open()
		leader = r.leader(id)
		if got := r.shown(leader); !strings.HasPrefix(got, want) || leader.View().LEO != 149 {
			t.Fatalf("opened again, with its index made anew: %v: %.200s", rebuild, got)
		}
	}
	end()
	v.Abandon()
}
