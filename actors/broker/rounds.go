package broker

import (
	"sync/atomic"

	"lockstep/actors/core"
	"lockstep/actors/shell"
)

// rounds visits all replicas of a broker again and again. What is known of each of them belongs to the goroutine of its
// inbox, and can be found again: nil, and that of a replica that is gone, is forgotten.
type rounds[T any] struct {
	broker *Broker
	inbox  *shell.Inbox[struct{}]
	known  map[core.PartitionID]*T
	rest   func() int64 // ns between two rounds
	visit  func(*Replica, *T) *T
	ended  atomic.Int64 // rounds, for tests
}

func newRounds[T any](b *Broker, name string, rest func() int64, visit func(*Replica, *T) *T) *rounds[T] {
	r := &rounds[T]{broker: b, rest: rest, visit: visit}
	r.inbox = shell.SpawnInbox(b.cluster.system, name+"/"+b.name(), func(struct{}) { r.look() })
	return r
}

// begin sets the next round.
func (r *rounds[T]) begin(in int64) {
	c := r.broker.cluster
	c.system.Clock.Wake(c.Now().Mono+in, func() { r.inbox.Post(struct{}{}) })
}

func (r *rounds[T]) look() {
	replicas := r.broker.Replicas()
	known := make(map[core.PartitionID]*T, len(r.known))
	for _, replica := range replicas {
		if now := r.visit(replica, r.known[replica.id]); now != nil {
			known[replica.id] = now
		}
	}
	r.known = known
	r.ended.Add(1)
	r.begin(r.rest())
}

// number is a setting of the broker, as it is now.
func (b *Broker) number(name string) int64 { return b.Layers(b.Image(), nil).Number(name) }
