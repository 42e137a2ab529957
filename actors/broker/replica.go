package broker

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/orders"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/journal"
)

// Replica is one partition at one broker: its partition actor, its HW actor, and what they let be seen.
type Replica struct {
	id        core.PartitionID
	broker    *Broker
	store     journal.Volume
	stream    journal.Stream
	partition *shell.Ref[partition.Command]
	highwater *shell.Ref[highwater.Command]
	tail      *tail
	known     *known
	lagging   lagging
	throttled atomic.Pointer[partition.ReadLeaderLog] // the newest question that waits for room; nil: none does

	view   atomic.Pointer[partition.View]
	passes atomic.Int64 // of compaction that have begun
	gates  atomic.Pointer[highwater.PublishGates]
	floor  atomic.Pointer[highwater.PublishFloor]
	// reported is how far this log is durable and, at a follower, the same as its leader's of that epoch and term.
	reported atomic.Pointer[partition.ReportDurable]

	ackMode AckMode   // of the newest ledger entry; the HW actor's own
	timing  ackTiming // the HW actor's own

	// telling orders roles and images that come from the feed and from the actors themselves: the one
	// that is sent last was read last.
	telling   sync.Mutex
	sentEpoch core.LeaderEpoch
	early     map[core.ReplicaID]partition.JoinLeader // of epochs that this replica has not heard of yet
	notBefore atomic.Int32                            // epochs below are those of instances that panicked (R12)
}

func identity(id core.PartitionID, b *Broker) string {
	return fmt.Sprintf("partition/%s/%s", id, b.name())
}

// partitionIn is the inverse of identity.
func partitionIn(s journal.Stream) (id core.PartitionID, ok bool) {
	parts := strings.Split(string(s), "/")
	if len(parts) != 4 || parts[0] != "partition" {
		return id, false
	}
	topic, err := base64.RawURLEncoding.DecodeString(parts[1])
	index, err2 := strconv.ParseInt(parts[2], 10, 32)
	if err != nil || err2 != nil || len(topic) != len(id.Topic) {
		return id, false
	}
	copy(id.Topic[:], topic)
	id.Index = int32(index)
	return id, true
}

func ledgerStream(id core.PartitionID) journal.Stream {
	return journal.Stream(fmt.Sprintf("ledger/%s", id))
}

// newReplica spawns the pair, with b.mu held. replayed, if any, is called once by each of the two, also when its volume
// turns out to be lost.
func newReplica(b *Broker, id core.PartitionID, store journal.Volume, replayed func()) *Replica {
	r := &Replica{id: id, broker: b, store: store, stream: journal.Stream(identity(id, b)), known: b.cluster.knownOf(id), sentEpoch: core.NoEpoch,
		early: map[core.ReplicaID]partition.JoinLeader{}}
	r.tail, r.timing.replica = b.cluster.tails.newTail(), r
	r.notBefore.Store(max(0, int32(b.barred[id])))
	r.view.Store(&partition.View{Leader: core.NoReplica, Epoch: core.NoEpoch, Adopted: core.NoEpoch})
	r.gates.Store(&highwater.PublishGates{Epoch: core.NoEpoch})
	told := func() func() {
		once := sync.Once{}
		return func() {
			if replayed != nil {
				once.Do(replayed)
			}
		}
	}
	c, partitionTold, highwaterTold := b.cluster, told(), told()
	ready := make(chan struct{}) // an actor may replay before both references are set
	r.partition = shell.Spawn(c.system, shell.Spec[partition.State, partition.Command, partition.Event, partition.Effect]{
		ID: identity(id, b), Machine: partition.Machine(), Journal: store, Stream: r.stream, Level: slog.LevelDebug, Tick: partition.Tick{},
		Accept: func(cmd partition.Command) bool {
			lead, ok := cmd.(partition.Lead)
			return !ok || int32(lead.Epoch) >= r.notBefore.Load()
		},
		Timer: func(f partition.Effect) (int64, bool) { t, ok := f.(partition.ArmTimer); return t.At, ok },
		Perform: func(f partition.Effect) {
			r.performPartition(f)
		},
		Compact: orders.CompactReports,
		Started: func(s *partition.State, again bool) {
			<-ready
			v := partition.Describe(s)
			r.view.Store(&v)
			c.sawProducerIDs(partition.HighestProducerIDs(s))
			partitionTold()
			r.started(again)
		},
		Lost: func(err error) { partitionTold(); b.volumeLost(err) },
	})
	r.highwater = shell.Spawn(c.system, shell.Spec[highwater.State, highwater.Command, highwater.Event, highwater.Effect]{
		ID: "ledger/" + id.String() + "/" + b.name(), Machine: highwater.Machine(), Journal: store, Stream: ledgerStream(id), Level: slog.LevelDebug, Tick: highwater.Tick{},
		Accept: func(cmd highwater.Command) bool {
			started, ok := cmd.(highwater.LeaderStarted)
			return !ok || int32(started.Epoch) >= r.notBefore.Load()
		},
		Timer: func(f highwater.Effect) (int64, bool) { t, ok := f.(highwater.ArmTimer); return t.At, ok },
		Perform: func(f highwater.Effect) {
			r.performHighWatermark(f)
		},
		Observe: r.observe,
		Started: func(s *highwater.State, again bool) {
			<-ready
			r.known.acked.raise(highwater.HighWatermark(s))
			r.known.shown.raise(highwater.HighWatermark(s))
			highwaterTold()
			r.started(again)
		},
		Lost: func(err error) { highwaterTold(); b.volumeLost(err) },
	})
	shell.Pair(r.partition, r.highwater)
	close(ready)
	return r
}

// started follows each replay. After a panic the replica may lead only in an epoch that the controller
// makes durable from now on: what the old instance promised is forgotten (R12).
func (r *Replica) started(again bool) {
	if again && raiseEpochAfterPanic {
		r.telling.Lock()
		r.notBefore.Store(max(r.notBefore.Load(), int32(r.sentEpoch)+1))
		r.telling.Unlock()
		r.requestEpoch()
	}
	r.tellRole()
}

// requestEpoch asks until this replica has its new epoch or leads no more.
func (r *Replica) requestEpoch() {
	c, min := r.broker.cluster, core.LeaderEpoch(r.notBefore.Load())
	p, known := c.Newest().Partition(r.id)
	if !known || p.Leader != r.broker.id || p.LeaderEpoch >= min {
		return
	}
	c.RaiseEpoch(controller.RaiseEpoch{ID: r.id, Min: min}, func(answer any) {
		if _, failed := answer.(shell.Failed); failed {
			c.system.Clock.Wake(c.Now().Mono+retryNs, r.requestEpoch)
		}
	})
}

// tellRole sends what the broker's image says of this replica now.
func (r *Replica) tellRole() {
	r.telling.Lock()
	defer r.telling.Unlock()
	img := r.broker.Image()
	p, known := img.Partition(r.id)
	if !known {
		return
	}
	if p.Leader != r.broker.id {
		r.partition.Tell(partition.Follow{Epoch: p.LeaderEpoch, Leader: p.Leader})
		return
	}
	if int32(p.LeaderEpoch) < r.notBefore.Load() {
		return
	}
	r.sentEpoch = max(r.sentEpoch, p.LeaderEpoch)
	r.partition.Tell(orders.Lead(img, r.id, p))
	r.highwater.Tell(r.applied(img, p))
	for _, from := range p.Replicas {
		if join, waits := r.early[from]; waits && join.Epoch <= r.sentEpoch {
			delete(r.early, from)
			r.partition.Tell(join)
		}
	}
}

// join hands over a follower's request. Followers may hear of an election before the leader does: theirs
// waits for it here, or it would be lost and come again only with the follower's next Tick, half a
// second into an outage.
func (r *Replica) join(cmd partition.JoinLeader) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if cmd.Epoch > r.sentEpoch {
		r.early[cmd.From] = cmd
		return
	}
	r.partition.Tell(cmd)
}

// tellImage repeats the image to an HW actor that has just begun to lead.
func (r *Replica) tellImage() {
	r.telling.Lock()
	defer r.telling.Unlock()
	img := r.broker.Image()
	if p, known := img.Partition(r.id); known && p.Leader == r.broker.id {
		r.highwater.Tell(r.applied(img, p))
	}
}

// applied is what the HW actor must know of an image, and of the volumes.
func (r *Replica) applied(img *image.Image, p image.Partition) highwater.AppliedImage {
	a := orders.Applied(img, r.id, p)
	a.Unsynced = r.broker.cluster.options.Mirrors.Unsynced
	return a
}

// close ends both actors; done is called when both names are free.
func (r *Replica) close(done func()) {
	left := atomic.Int32{}
	left.Store(2)
	one := func() {
		if left.Add(-1) == 0 {
			done()
		}
	}
	r.partition.Close(one)
	r.highwater.Close(one)
}

func lastEpoch(epochs []partition.EpochStart) core.LeaderEpoch {
	if len(epochs) == 0 {
		return core.NoEpoch
	}
	return epochs[len(epochs)-1].Epoch
}
