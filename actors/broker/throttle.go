package broker

import (
	"slices"
	"sync"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/partition"
)

// The settings of Kafka's replication throttle. A rate is one broker's, in bytes per second; which replicas it counts for,
// their topics say.
const (
	leaderRate       = "leader.replication.throttled.rate"
	followerRate     = "follower.replication.throttled.rate"
	leaderReplicas   = "leader.replication.throttled.replicas"
	followerReplicas = "follower.replication.throttled.replicas"
)

// throttleLook is how soon who is throttled looks again at the rate: it may have been raised.
const throttleLook = int64(200 * time.Millisecond)

// throttle bounds what a broker's leaders give, or its followers take, of what followers lack. It may be used from any
// goroutine. The rate is given with each use, because it may change.
type throttle struct {
	mu     sync.Mutex
	tokens float64 // bytes that may be read; what is read is charged afterwards, so it may fall below 0
	at     int64   // mono; 0: not used yet
}

// room is how many bytes may be read now; 0: none.
func (t *throttle) room(rate int64, now core.Now) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == 0 {
		t.tokens, t.at = float64(rate), now.Mono
	}
	passed := time.Duration(max(now.Mono-t.at, 0)).Seconds()
	t.tokens, t.at = min(t.tokens+passed*float64(rate), float64(rate)), max(t.at, now.Mono)
	return int64(max(t.tokens, 0))
}

func (t *throttle) charge(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens -= float64(n)
}

// charged is one throttle that a reading follower is under.
type charged struct {
	*throttle
	rate int64
}

// throttlesOf are those of a follower that reads from its leader. One that is in sync is under none, as in Kafka: acks wait
// for it.
func (r *Replica) throttlesOf(leader *Replica) (all []charged) {
	img := r.broker.Image()
	t, known := img.Topic(r.id.Topic)
	p, exists := img.Partition(r.id)
	if !known || !exists || slices.Contains(p.ISR, r.broker.id) {
		return nil
	}
	for _, side := range []struct {
		of             *Broker
		throttle       *throttle
		rate, replicas string
	}{
		{leader.broker, &leader.broker.giving, leaderRate, leaderReplicas},
		{r.broker, &r.broker.taking, followerRate, followerReplicas},
	} {
		list, named := t.Config[side.replicas]
		if !named || !controller.NamesReplica(list, r.id.Index, side.of.id) {
			continue
		}
		all = append(all, charged{side.throttle, side.of.Layers(img, nil).Number(side.rate)})
	}
	return all
}

// admitted is how many bytes a follower may be given now; 0: it has to come again.
func (r *Replica) admitted(under []charged) int {
	room := int64(catchUpBytes)
	for _, c := range under {
		room = min(room, c.room(c.rate, r.broker.cluster.Now()))
	}
	return int(room)
}

// later asks a throttled question again. Questions that come meanwhile are the same one, or newer.
func (r *Replica) later(e partition.ReadLeaderLog) {
	if r.throttled.Swap(&e) != nil {
		return
	}
	c := r.broker.cluster
	c.system.Clock.Wake(c.Now().Mono+throttleLook, func() {
		r.broker.io.Post(func() {
			if newest := r.throttled.Swap(nil); newest != nil {
				r.catchUp(*newest)
			}
		})
	})
}
