package broker

import (
	"sync"

	"lockstep/actors/core"
	"lockstep/actors/core/orders"
	"lockstep/actors/core/partition"
)

// lagging holds the followers that asked for more of a leader's journal than the leader has released. A new
// follower may hear of bytes that its leader is still writing: its question would find nothing, and come again
// only with a timer, while acks wait for it.
type lagging struct {
	mu    sync.Mutex
	asked map[core.ReplicaID]lag
}

type lag struct {
	follower *Replica
	question partition.ReadLeaderLog
}

// wait keeps the newest question of a follower until the view has what answers it. It reports false if view has it
// already, or never will.
func (l *lagging) wait(follower *Replica, question partition.ReadLeaderLog, view func() partition.View) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Read under the lock: a view published since would find nobody waiting.
	if v := view(); !orders.Ahead(question, v) {
		return false
	}
	if l.asked == nil {
		l.asked = map[core.ReplicaID]lag{}
	}
	l.asked[follower.broker.id] = lag{follower, question}
	return true
}

// shown lets go of those whom the view answers.
func (l *lagging) shown(v partition.View) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, asked := range l.asked {
		if !orders.Ahead(asked.question, v) {
			delete(l.asked, id)
			asked.follower.broker.io.Post(func() { asked.follower.catchUp(asked.question) })
		}
	}
}
