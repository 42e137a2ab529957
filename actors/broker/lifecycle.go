package broker

import (
	"fmt"
	"sync/atomic"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// stopBroker closes the replicas first: the ends that the election compares are those of survivors that
// hear nothing more from the broker.
func (c *Cluster) stopBroker(id core.ReplicaID, text string, reply func(any)) {
	b, ok := c.Broker(id)
	if !ok {
		reply(noSuchBroker(id))
		return
	}
	b.mu.Lock()
	b.running = false
	replicas := b.replicas
	b.replicas = map[core.PartitionID]*Replica{}
	b.stopping.add(len(replicas) + 1)
	for id := range replicas {
		b.retiring[id] = nil
	}
	b.mu.Unlock()
	left := atomic.Int64{}
	left.Store(int64(len(replicas)) + 1)
	closed := func() {
		if left.Add(-1) == 0 {
			c.fence(b, text, reply)
			b.stopping.done()
		}
	}
	for id, r := range replicas {
		b.finish(id, r, closed)
	}
	closed()
}

// fence tells the controller that a broker serves no more, with the durable ends of the others.
func (c *Cluster) fence(fenced *Broker, text string, reply func(any)) {
	var logs []controller.ReplicaLog
	for _, b := range c.brokers {
		if b != fenced {
			logs = append(logs, b.logs()...)
		}
	}
	fenced.stopping.add(1)
	c.controller.Ask(func(ref core.RequestID) controller.Command {
		return controller.StopBroker{Ref: ref, Broker: fenced.id, Text: text, Logs: logs}
	}, func(answer any) {
		fenced.stopping.done()
		reply(answer)
	})
}

// startBroker runs on the broker's io inbox, since opening a volume and replaying it take their time.
func (c *Cluster) startBroker(id core.ReplicaID, reply func(any)) {
	b, ok := c.Broker(id)
	if !ok {
		reply(noSuchBroker(id))
		return
	}
	b.io.Post(func() {
		// Until the controller has answered for the stop, nobody has heard who leads instead, and what the control quorum
		// takes its time to write is not in any image. By one of before the broker would lead what others lead since, and send
		// consumers back to where its log ends.
		b.stopping.wait()
		b.feed.inbox.Post(func() { b.io.Post(func() { b.comeBack(reply) }) })
	})
}

func (b *Broker) comeBack(reply func(any)) {
	c := b.cluster
	if b.stopping.any() { // a stop came meanwhile, of which the image does not say anything yet
		c.startBroker(b.id, reply)
		return
	}
	lossy, err := b.reopen()
	if err != nil {
		reply(controller.Done{Code: perr.KafkaStorageError, Text: err.Error()})
		return
	}
	newest := c.Newest()
	topics := make([]image.Topic, 0, len(newest.Topics))
	for _, t := range newest.Topics {
		topics = append(topics, *t)
	}
	logs := append(b.spawnAll(topics), b.strays()...)
	told := image.Broker{ID: b.id, Live: true, Lossy: lossy, Host: b.slot.Host, Port: b.slot.Port}
	c.controller.Ask(func(ref core.RequestID) controller.Command {
		return controller.StartBroker{Ref: ref, Broker: told, Logs: logs}
	}, reply)
}

// reopen replaces a lost volume, and with it the replicas that stood on it. A healthy one stays.
func (b *Broker) reopen() (lossy bool, err error) {
	if b.Err() == nil {
		return false, nil
	}
	reopen := b.cluster.options.Reopen
	if reopen == nil {
		return false, fmt.Errorf("broker %d lost its volume (%v); restart the process to open it again", b.id, b.Err())
	}
	b.mu.Lock()
	b.running = false
	replicas := b.replicas
	b.replicas = map[core.PartitionID]*Replica{}
	b.mu.Unlock()
	waitAll(len(replicas), func(done func()) {
		for _, r := range replicas {
			r.close(func() {
				r.tail.close()
				done()
			})
		}
	})
	store, lossy, err := reopen(b.id)
	if err != nil {
		return false, fmt.Errorf("broker %d: %w", b.id, err)
	}
	b.mu.Lock()
	b.store, b.lost = store, nil
	b.mu.Unlock()
	return lossy, nil
}

func noSuchBroker(id core.ReplicaID) controller.Done {
	return controller.Done{Code: perr.BrokerNotAvailable, Text: fmt.Sprintf("no broker %d in this cluster", id)}
}
