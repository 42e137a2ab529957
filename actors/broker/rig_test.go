package broker

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/journal"
	"lockstep/journal/memory"
	"lockstep/protocol/batch"
)

// rig is one cluster of a test, over whatever journals it is given.
type rig struct {
	t       *testing.T
	manual  bool // a clock that stands still
	stores  []journal.Volume
	control journal.Journal
	exits   chan string
	log     io.Writer // nil: its end is shown when the test fails
	// settings are what the process is started with.
	settings map[string]string
	*Cluster
}

func memoryRig(t *testing.T, brokers int) *rig { return (&rig{t: t}).inMemory(brokers) }

func (r *rig) inMemory(brokers int) *rig {
	r.control = memory.New(memory.Options{})
	for range brokers {
		r.stores = append(r.stores, memory.New(memory.Options{}))
	}
	r.start()
	return r
}

func (r *rig) memory(broker core.ReplicaID) *memory.Journal {
	return r.stores[broker-1].(*memory.Journal)
}

// start is a process start over the journals as they are.
func (r *rig) start() {
	r.t.Helper()
	r.exits = make(chan string, 10)
	var clock shell.Clock = shell.NewManualClock(core.Now{Mono: 1, Wall: 1})
	if !r.manual {
		real := shell.NewRealClock()
		r.t.Cleanup(real.Close)
		clock = real
	}
	var logger *slog.Logger
	if r.log != nil {
		logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	} else {
		end := &lastLines{}
		logger = slog.New(slog.NewTextHandler(end, nil))
		r.t.Cleanup(func() {
			if r.t.Failed() {
				r.t.Logf("the end of the log:\n%s", end)
			}
		})
	}
	o := Options{Cluster: "dc1", Control: r.control, Clock: clock, Logger: logger, Groups: group.DefaultSettings(), Settings: r.settings,
		Exit: func(reason string) { r.exits <- reason }}
	for i, store := range r.stores {
		o.Volumes = append(o.Volumes, Volume{ID: core.ReplicaID(i + 1), Store: store, Dir: r.t.TempDir(), Host: "127.0.0.1", Port: int32(9092 + i)})
	}
	c, err := Start(o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Cluster = c
	r.t.Cleanup(func() {
		if r.Cluster == c {
			c.Close()
		}
	})
}

// crash is kill -9, or a power loss: memory journals keep what was durable.
func (r *rig) crash() {
	for i := range r.stores {
		r.stores[i] = r.memory(core.ReplicaID(i + 1)).Crash()
	}
	r.control = r.control.(*memory.Journal).Crash()
	r.start()
}

// eventually waits for what other goroutines will bring about.
func (r *rig) eventually(what string, cond func() bool) {
	r.t.Helper()
	deadline := time.After(30 * time.Second) // a machine that is busy with other tests is slow, not wrong
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("never happened: %s\n%s", what, r.describe())
		}
	}
}

func (r *rig) describe() string {
	text := ""
	for _, b := range r.Brokers() {
		for _, replica := range b.Replicas() {
			p, _ := r.Newest().Partition(replica.ID())
			text += fmt.Sprintf("broker %d: %+v\n  gates %+v\n  image %+v\n", b.ID(), replica.View(), replica.Gates(), p)
		}
	}
	return text
}

// create makes a topic of one partition on all brokers, led by one of them in a settled ISR.
func (r *rig) create(name string) core.PartitionID {
	r.t.Helper()
	answer := make(chan any, 1)
	r.CreateTopic(controller.CreateTopic{Name: name, Partitions: 1, Replication: int16(len(r.stores))}, func(a any) { answer <- a })
	created, ok := (<-answer).(controller.CreatedTopic)
	if !ok || created.Code != 0 {
		r.t.Fatalf("create %s: %+v", name, created)
	}
	id := core.PartitionID{Topic: created.Topic.ID}
	r.leader(id)
	return id
}

// leader waits until the newest leader serves.
func (r *rig) leader(id core.PartitionID) *Replica {
	r.t.Helper()
	var leader *Replica
	r.eventually("a leader that serves", func() bool {
		l, ok := r.Leader(id)
		if !ok {
			return false
		}
		leader = l
		p, _ := r.Newest().Partition(id)
		v := l.View()
		return v.IsLeader && v.Epoch == p.LeaderEpoch && l.Gates().Epoch == p.LeaderEpoch
	})
	return leader
}

func (r *rig) isr(id core.PartitionID) []core.ReplicaID {
	p, _ := r.Newest().Partition(id)
	return slices.Sorted(slices.Values(p.ISR))
}

// produce sends one record batch and returns its answer.
func (r *rig) produce(replica *Replica, acks int16, value string) any {
	return <-r.send(replica, acks, value)
}

func (r *rig) send(replica *Replica, acks int16, value string) chan any {
	answer := make(chan any, 1)
	replica.Ask(func(ref core.RequestID) partition.Command {
		return partition.AppendBatch{Ref: ref, Batch: records(value), Acks: acks, Deadline: r.Now().Mono + int64(5*time.Second), Client: "test"}
	}, func(a any) { answer <- a })
	return answer
}

// mustAck produces with acks=all and returns the offset.
func (r *rig) mustAck(replica *Replica, value string) core.Offset {
	r.t.Helper()
	ack, ok := r.produce(replica, -1, value).(partition.AckProduce)
	if !ok {
		r.t.Fatalf("%s was not acknowledged: %+v\n%s", value, ack, r.describe())
	}
	return ack.Base
}

func records(value string) batch.Batch {
	return batch.Build(batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}, []batch.Record{{Value: []byte(value)}})
}

// values reads every record of a replica below its LEO.
func (r *rig) values(replica *Replica) []string {
	r.t.Helper()
	var list []string
	v := replica.View()
	for at := v.LogStart; at < v.LEO; {
		stored, err := replica.Read(at, v.LEO, 1<<20)
		if err != nil || len(stored) == 0 {
			r.t.Fatalf("read %d of %d: %v", at, v.LEO, err)
		}
		for _, s := range stored {
			list = append(list, valuesOf(r.t, s.Bytes)...)
			at = s.Last + 1
		}
	}
	return list
}

func valuesOf(t *testing.T, bytes []byte) (list []string) {
	t.Helper()
	b, _, err := batch.Parse(bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Each(0, func(rec batch.Record) bool {
		list = append(list, string(rec.Value))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return list
}
