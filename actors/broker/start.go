package broker

import (
	"fmt"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
	"lockstep/actors/core/transaction"
	"lockstep/actors/shell"
)

// Start brings a cluster up in the order of D6: coordinators replay, then every replica and its ledger;
// registrations and mirrors are published, so that no election precedes them; then one event raises all
// epochs and elects. It returns when every broker acts on its first image. Volumes and Control stay the
// caller's to close, after Close.
func Start(o Options) (*Cluster, error) {
	if o.Incarnation == (core.Incarnation{}) {
		o.Incarnation = core.Incarnation(randomID())
	}
	if o.Transactions == (transaction.Settings{}) {
		o.Transactions = transaction.DefaultSettings()
	}
	c := &Cluster{
		options: o, system: shell.NewSystem(o.Clock, o.Logger), tails: newTails(), restarted: make(chan struct{}), compacting: make(chan struct{}, 1),
		mirrors: map[core.MirrorName]*shell.Ref[mirror.Command]{}, known: map[core.PartitionID]*known{}, ids: map[int32]int64{}, prefix: -1,
	}
	if o.Exit != nil {
		c.system.Exit = o.Exit
	}
	c.ledger.Store(&registration.Ledger{})
	c.publisher = newPublisher(c.topicGone)
	for _, slot := range o.Volumes {
		b := newBroker(c, slot)
		c.brokers = append(c.brokers, b)
		c.publisher.feeds = append(c.publisher.feeds, b.feed)
	}
	topics, err := c.startCoordinators()
	if err != nil {
		return nil, err
	}
	restart := controller.RestartCluster{Cluster: o.Cluster, Incarnation: o.Incarnation, Defaults: o.Defaults}
	for i, logs := range c.replay(topics) {
		slot := o.Volumes[i]
		b := c.brokers[i]
		restart.Brokers = append(restart.Brokers, image.Broker{ID: slot.ID, Live: b.Err() == nil, Lossy: slot.Lossy, Host: slot.Host, Port: slot.Port, Text: errText(b.Err())})
		restart.Logs = append(append(restart.Logs, logs...), b.strays()...)
	}
	c.publishControl(topics)
	c.controller.Tell(restart)
	<-c.restarted
	settled := make(chan struct{})
	c.publisher.settle(func() { close(settled) })
	<-settled
	for _, g := range c.groups {
		g.Tell(group.Resume{Settings: o.Groups})
	}
	for _, t := range c.transactions {
		t.Tell(transaction.Resume{Settings: o.Transactions})
	}
	c.brokers[0].producerIDs.fill()
	for _, b := range c.brokers {
		b.cleaner.begin(min(firstRetention, b.cleaner.rest()))
		b.idle.begin(b.idle.rest())
		b.compactor.begin(b.compactor.rest())
	}
	return c, nil
}

// replay spawns what the controller knows of on every volume, all volumes at once.
func (c *Cluster) replay(topics []image.Topic) [][]controller.ReplicaLog {
	logs := make([][]controller.ReplicaLog, len(c.brokers))
	done := make(chan struct{}, len(c.brokers))
	for i, b := range c.brokers {
		go func() {
			logs[i] = b.spawnAll(topics)
			done <- struct{}{}
		}()
	}
	for range c.brokers {
		<-done
	}
	return logs
}

// publishControl lets registrations and mirrors publish all they know, and waits for it.
func (c *Cluster) publishControl(topics []image.Topic) {
	ids := make([]core.TopicID, len(topics))
	for i, t := range topics {
		ids[i] = t.ID
	}
	c.registration.Tell(c.resumed(ids))
	wait := make(chan struct{}, 1+len(c.mirrors))
	one := func(any) { wait <- struct{}{} }
	c.registration.Ask(func(ref core.RequestID) registration.Command { return registration.Describe{Ref: ref} }, one)
	n := 1
	for _, m := range c.mirrors {
		m.Tell(mirror.Republish{Defaults: c.options.Mirrors})
		m.Ask(func(ref core.RequestID) mirror.Command { return mirror.Describe{Ref: ref} }, one)
		n++
	}
	for range n {
		<-wait // answers are late: what was published before them has been published
	}
}

// startCoordinators spawns and replays them; it returns the topics that the controller knows.
func (c *Cluster) startCoordinators() ([]image.Topic, error) {
	facts := make(chan []image.Fact, 1)
	c.controller = c.spawnController(func(s *controller.State) { facts <- s.Facts() })
	c.registration = c.spawnRegistration()
	for shard := range int(group.Shards) {
		c.groups = append(c.groups, c.spawnGroup(shard))
	}
	for shard := range int(transaction.Shards) {
		c.transactions = append(c.transactions, c.spawnTransactions(shard))
	}
	streams, err := c.options.Control.Streams(mirrorStreams)
	if err != nil {
		return nil, fmt.Errorf("list mirrors of cluster %s: %w", c.options.Cluster, err)
	}
	for _, s := range streams {
		name := core.MirrorName(strings.TrimPrefix(string(s), mirrorStreams))
		c.mirrors[name] = c.spawnMirror(name)
	}
	var topics []image.Topic
	for _, fact := range <-facts {
		if t, ok := fact.(image.TopicChanged); ok {
			topics = append(topics, t.Topic)
		}
	}
	return topics, nil
}

// Close ends every actor: what was accepted is decided, made durable and answered, what waits is failed,
// snapshots are queued. Listeners, fetchers and bus are closed before, journals after.
func (c *Cluster) Close() {
	var replicas []*Replica
	for _, b := range c.brokers {
		close(b.compactor.stopped)
		b.mu.Lock()
		b.running = false
		for _, r := range b.replicas {
			replicas = append(replicas, r)
		}
		b.mu.Unlock()
	}
	waitAll(len(replicas), func(done func()) {
		for _, r := range replicas {
			r.close(done)
		}
	})
	c.mu.RLock()
	mirrors := c.mirrors
	c.mu.RUnlock()
	waitAll(2+len(c.groups)+len(c.transactions)+len(mirrors), func(done func()) {
		c.controller.Close(done)
		c.registration.Close(done)
		for _, g := range c.groups {
			g.Close(done)
		}
		for _, t := range c.transactions {
			t.Close(done)
		}
		for _, m := range mirrors {
			m.Close(done)
		}
	})
	waitAll(5*len(c.brokers), func(done func()) {
		for _, b := range c.brokers {
			b.cleaner.inbox.Close(done)
			b.idle.inbox.Close(done)
			b.compactor.inbox.Close(done)
			b.feed.inbox.Close(done)
			b.io.Close(done)
		}
	})
}

// waitAll starts n things that call done once each, and waits for them.
func waitAll(n int, start func(done func())) {
	c := make(chan struct{}, n)
	start(func() { c <- struct{}{} })
	for range n {
		<-c
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
