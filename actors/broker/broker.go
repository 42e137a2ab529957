package broker

import (
	"slices"
	"strconv"
	"sync"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/journal"
)

// Broker is one logical broker: one volume, one listener, one image, and its replicas.
type Broker struct {
	id          core.ReplicaID
	cluster     *Cluster
	slot        Volume
	feed        *feed
	io          *shell.Inbox[func()] // disk work that somebody waits for: catch-up reads, quarantine, reopening
	producerIDs *producerIDs
	cleaner     *rounds[cleanedLog]
	idle        *rounds[idleLog]
	giving      throttle // leader.replication.throttled.rate
	taking      throttle // follower.replication.throttled.rate
	compactor   *compactor

	mu       sync.RWMutex
	running  bool // replicas are spawned when the image assigns them
	store    journal.Volume
	lost     error // what poisoned the volume
	replicas map[core.PartitionID]*Replica
	stopping pending                               // stops whose replicas are still closing, with names and streams, or of which nobody has heard
	retiring map[core.PartitionID][]func()         // replicas that are being closed, and what waits for it
	barred   map[core.PartitionID]core.LeaderEpoch // epochs in which a replica that was closed may lead again
	dropping map[core.PartitionID]int              // drops under way: a name and a stream are free when they are durable
}

func newBroker(c *Cluster, slot Volume) *Broker {
	b := &Broker{id: slot.ID, cluster: c, slot: slot, store: slot.Store, running: slot.Store != nil, lost: slot.Err, replicas: map[core.PartitionID]*Replica{}, dropping: map[core.PartitionID]int{}, retiring: map[core.PartitionID][]func(){}, barred: map[core.PartitionID]core.LeaderEpoch{}}
	b.producerIDs = &producerIDs{cluster: c}
	b.feed = newFeed(b)
	b.cleaner = newCleaner(b)
	b.idle = newIdleProducers(b)
	b.compactor = newCompactor(b)
	b.io = shell.SpawnInbox(c.system, "io/"+b.name(), func(work func()) { work() })
	return b
}

func (b *Broker) name() string { return "broker-" + strconv.Itoa(int(b.id)) }

func (b *Broker) volume() journal.Volume {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.store
}

func (b *Broker) assigned(p image.Partition) bool { return slices.Contains(p.Replicas, b.id) }

// ensure returns the replica of a partition, spawning it unless the broker is stopped or has lost its volume.
func (b *Broker) ensure(id core.PartitionID) *Replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.replicas[id]; r != nil || !b.running || b.lost != nil || b.dropping[id] > 0 {
		return r
	}
	r := newReplica(b, id, b.store, nil)
	b.replicas[id] = r
	return r
}

// spawnAll spawns the assigned replicas that are not there yet and waits for their replays. It returns
// how far each log goes.
func (b *Broker) spawnAll(topics []image.Topic) []controller.ReplicaLog {
	b.mu.Lock()
	if b.lost != nil {
		b.mu.Unlock()
		return nil
	}
	var wanted []core.PartitionID
	for _, t := range topics {
		for i, p := range t.Partitions {
			if id := (core.PartitionID{Topic: t.ID, Index: int32(i)}); b.assigned(p) && b.replicas[id] == nil && b.dropping[id] == 0 {
				wanted = append(wanted, id)
			}
		}
	}
	replayed := make(chan struct{}, 2*len(wanted))
	for _, id := range wanted {
		b.replicas[id] = newReplica(b, id, b.store, func() { replayed <- struct{}{} })
	}
	b.running = true
	b.mu.Unlock()
	for range 2 * len(wanted) {
		<-replayed
	}
	return b.logs()
}

// logs says how far each replica of a healthy volume goes: durable ends only.
func (b *Broker) logs() []controller.ReplicaLog {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.lost != nil {
		return nil
	}
	list := make([]controller.ReplicaLog, 0, len(b.replicas))
	for id, r := range b.replicas {
		v := r.View()
		list = append(list, controller.ReplicaLog{ID: id, Replica: b.id, LastEpoch: lastEpoch(v.Epochs), LEO: v.LEO})
	}
	return list
}

// strays are the replicas that the volume has streams of and that are not there: of deleted topics, whose
// streams the controller will ask to drop, or of topics it has never heard of.
func (b *Broker) strays() []controller.ReplicaLog {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.lost != nil {
		return nil
	}
	streams, err := b.store.Streams("partition/")
	if err != nil {
		b.cluster.system.Logger.Error("streams of a volume cannot be listed", "broker", int(b.id), "err", err)
		return nil
	}
	var list []controller.ReplicaLog
	for _, s := range streams {
		id, ok := partitionIn(s)
		if ok && b.replicas[id] == nil {
			b.cluster.system.Logger.Info("data of no current topic", "broker", int(b.id), "stream", string(s))
			list = append(list, controller.ReplicaLog{ID: id, Replica: b.id, LastEpoch: core.NoEpoch})
		}
	}
	return list
}

// drop closes a replica whose partition is gone and forgets its streams, also when it was never spawned. The streams
// of a lost volume stay: StartBroker lists them. Its actors do not: a topic's id may come back, and with it their names.
func (b *Broker) drop(id core.PartitionID) {
	b.mu.Lock()
	r := b.replicas[id]
	delete(b.replicas, id)
	store, lost := b.store, b.lost != nil
	if store == nil || lost && r == nil {
		b.mu.Unlock()
		return
	}
	b.dropping[id]++
	delete(b.barred, id)
	forget := func() {
		if lost {
			b.back(id)
			return
		}
		store.Drop(ledgerStream(id), nil)
		store.Drop(journal.Stream(identity(id, b)), func(journal.Seq, error) { b.back(id) })
	}
	if waiting, closing := b.retiring[id]; closing {
		b.retiring[id] = append(waiting, forget) // it still writes
		b.mu.Unlock()
		return
	}
	if r == nil {
		b.mu.Unlock()
		forget()
		return
	}
	b.retiring[id] = nil
	b.stopping.add(1) // what still speaks of the lost volume must have ended when it is opened again
	b.mu.Unlock()
	b.finish(id, r, forget)
}

// finish closes a replica that b.retiring lists and b.replicas does not. A drop that comes meanwhile waits for it: an actor
// that has not reached its close yet would write to streams that are gone.
func (b *Broker) finish(id core.PartitionID, r *Replica, then func()) {
	r.close(func() {
		r.tail.close()
		b.mu.Lock()
		waiting := b.retiring[id]
		delete(b.retiring, id)
		b.mu.Unlock()
		b.stopping.done()
		for _, forget := range waiting {
			forget()
		}
		then()
	})
}

// volumeLost is told by the first actor whose journal failed. The replicas of the volume answer
// KAFKA_STORAGE_ERROR from now on; they are not restarted. The controller fences the broker (D4).
func (b *Broker) volumeLost(err error) {
	b.mu.Lock()
	first := b.lost == nil
	if first {
		b.lost = err
		for _, r := range b.replicas {
			if poisonWholeVolume {
				r.partition.Poison(err)
				r.highwater.Poison(err)
			}
		}
	}
	b.mu.Unlock()
	if !first {
		return
	}
	text := "volume lost: " + err.Error() + "; repair it and run clusterctl brokers start " + strconv.Itoa(int(b.id)) + ", or restart the process"
	b.cluster.system.Logger.Error("volume lost", "broker", int(b.id), "dir", b.slot.Dir, "err", err)
	b.cluster.fence(b, text, func(any) {})
	if f := b.cluster.options.VolumeLost; f != nil {
		f(b.id, err)
	}
}

// snapshot makes every actor on this volume write one, so that old segments can be recycled.
func (b *Broker) snapshot() {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, r := range b.replicas {
		r.partition.Snapshot()
		r.highwater.Snapshot()
	}
}

// Err is what poisoned the broker's volume, nil while it is healthy.
func (b *Broker) Err() error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.lost
}
