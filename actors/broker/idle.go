package broker

import (
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/retention"
)

// idleLog is since when producers of a log that this broker leads may be idle, as far as this leader has lived: what was there
// at its start counts as written then.
type idleLog struct {
	epoch core.LeaderEpoch
	idle  retention.Idle
}

func newIdleProducers(b *Broker) *rounds[idleLog] {
	return newRounds(b, "producers", b.idleCheck, b.forgetIdle)
}

func (b *Broker) idleCheck() int64 {
	return b.number("producer.id.expiration.check.interval.ms") * int64(time.Millisecond)
}

// forgetIdle has a log forget producers that were idle for producer.id.expiration.ms.
func (b *Broker) forgetIdle(r *Replica, log *idleLog) *idleLog {
	v := r.View()
	if !v.IsLeader || v.Role != partition.Writable || v.Fence != 0 {
		return nil
	}
	if log == nil || log.epoch != v.Epoch {
		log = &idleLog{epoch: v.Epoch}
	}
	now, after := b.cluster.Now().Mono, b.number("producer.id.expiration.ms")*int64(time.Millisecond)
	log.idle.Note(now, after, v.LEO)
	if before := log.idle.Before(now, after); before > v.Forgotten {
		r.partition.Tell(partition.ForgetProducers{Epoch: v.Epoch, Before: before})
	}
	return log
}
