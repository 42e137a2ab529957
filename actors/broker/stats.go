package broker

import (
	"sync/atomic"

	"lockstep/actors/core/highwater"
)

// AckMode is how an ack was given; the numbers are those of the ledger.
type AckMode int

const (
	AckLocal AckMode = iota
	AckSync
	AckReleased
	AckUnprotected
	ackModes
)

// String is the ledger's word.
func (m AckMode) String() string {
	return [...]string{"LOCAL", "SYNC", "RELEASED", "UNPROTECTED"}[m]
}

// stats are totals since process start, over all partitions.
type stats struct {
	acks [ackModes]atomic.Int64
}

// Acks is how many batches were acknowledged under a mode since the process started.
func (c *Cluster) Acks(m AckMode) int64 { return c.stats.acks[m].Load() }

// observe keeps count of what the ledger says.
func (r *Replica) observe(ev highwater.Event) {
	switch e := ev.(type) {
	case highwater.StampOpened:
		r.ackMode = AckMode(e.Mode)
	case highwater.HighWatermarkAdvanced:
		r.ackMode = AckMode(e.Mode)
	case highwater.WeakAcksGranted:
		r.broker.cluster.stats.acks[AckUnprotected].Add(e.Batches)
	default: // says nothing of acknowledgements
	}
}

// confirmed counts waiters under the mode of the newest entry; both run on the HW actor's goroutine.
func (r *Replica) confirmed(n int) {
	r.broker.cluster.stats.acks[r.ackMode].Add(int64(n))
}

// AckModes are all modes.
func AckModes() []AckMode { return []AckMode{AckLocal, AckSync, AckReleased, AckUnprotected} }
