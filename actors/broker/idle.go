package broker

import (
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/retention"
	"lockstep/actors/shell"
)

// idleProducers has the logs that a broker leads forget producers that were idle for producer.id.expiration.ms, as far as this
// leader has lived: what was there at its start counts as written then. What it knows belongs to the goroutine of its inbox.
type idleProducers struct {
	broker *Broker
	inbox  *shell.Inbox[struct{}]
	logs   map[core.PartitionID]*idleLog
}

type idleLog struct {
	epoch core.LeaderEpoch
	idle  retention.Idle
}

func newIdleProducers(b *Broker) *idleProducers {
	p := &idleProducers{broker: b, logs: map[core.PartitionID]*idleLog{}}
	p.inbox = shell.SpawnInbox(b.cluster.system, "producers/"+b.name(), func(struct{}) { p.look() })
	return p
}

// begin sets the first look.
func (p *idleProducers) begin() {
	c := p.broker.cluster
	in := milliseconds(p.broker.Layers(p.broker.Image(), nil), "producer.id.expiration.check.interval.ms")
	c.system.Clock.Wake(c.Now().Mono+in, func() { p.inbox.Post(struct{}{}) })
}

func (p *idleProducers) look() {
	after := milliseconds(p.broker.Layers(p.broker.Image(), nil), "producer.id.expiration.ms")
	replicas := p.broker.Replicas()
	kept := make(map[core.PartitionID]*idleLog, len(p.logs))
	for _, r := range replicas {
		v := r.View()
		if !v.IsLeader || v.Role != partition.Writable || v.Fence != 0 {
			continue
		}
		log := p.logs[r.id]
		if log == nil || log.epoch != v.Epoch {
			log = &idleLog{epoch: v.Epoch}
		}
		kept[r.id] = log
		now := p.broker.cluster.Now().Mono
		log.idle.Note(now, after, v.LEO)
		if before := log.idle.Before(now, after); before > v.Forgotten {
			r.partition.Tell(partition.ForgetProducers{Epoch: v.Epoch, Before: before})
		}
	}
	p.logs = kept
	p.begin()
}

// milliseconds is a setting of a broker in ns.
func milliseconds(l controller.Layers, name string) int64 {
	return l.Number(name) * int64(time.Millisecond)
}
