package broker

import (
	"sync"
	"sync/atomic"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/histogram"
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
	acks      [ackModes]atomic.Int64
	stages    [ackStages]histogram.Histogram
	elections elections

	mu      sync.RWMutex
	waits   map[mirroredTopic]*histogram.Histogram // of acks for one mirror
	mirrors map[core.MirrorName]*mirrorStats
}

// Elections are what the controller changed, in totals since process start.
type Elections struct {
	ISRShrinks int64 // partitions whose committed ISR became smaller, whoever asked for it
	ISRExpands int64
	NewLeaders int64 // partitions that got another leader, or one again
	Unclean    int64 // partitions that may have lost records: an unclean election, a LOSSY leader, a loss an operator accepted
}

type elections struct{ isrShrinks, isrExpands, newLeaders, unclean atomic.Int64 }

// Acks is how many batches were acknowledged under a mode since the process started.
func (c *Cluster) Acks(m AckMode) int64 { return c.stats.acks[m].Load() }

// Elections is what the controller changed since the process started.
func (c *Cluster) Elections() Elections {
	e := &c.stats.elections
	return Elections{ISRShrinks: e.isrShrinks.Load(), ISRExpands: e.isrExpands.Load(), NewLeaders: e.newLeaders.Load(), Unclean: e.unclean.Load()}
}

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
	r.timing.observe(ev)
}

// confirmed counts waiters under the mode of the newest entry; both run on the HW actor's goroutine.
func (r *Replica) confirmed(n int) {
	r.broker.cluster.stats.acks[r.ackMode].Add(int64(n))
}

// AckModes are all modes.
func AckModes() []AckMode { return []AckMode{AckLocal, AckSync, AckReleased, AckUnprotected} }

// published compares facts of the controller with the image they are about to change. The facts of a start
// are whole topics, and say nothing of a change.
func (s *stats) published(img *image.Image, e controller.Publish) {
	counts := &s.elections
	for _, fact := range e.Facts {
		switch f := fact.(type) {
		case image.PartitionChanged:
			if before, known := img.Partition(f.ID); known {
				counts.changed(before, f.Partition)
			}
		case image.TopicGone:
			s.forget(f.ID)
		default: // not about elections
		}
	}
}

func (e *elections) changed(before, now image.Partition) {
	switch {
	case len(now.ISR) < len(before.ISR):
		e.isrShrinks.Add(1)
	case len(now.ISR) > len(before.ISR):
		e.isrExpands.Add(1)
	}
	if now.Leader != before.Leader && now.Leader != core.NoReplica {
		e.newLeaders.Add(1)
	}
	if now.LastUnclean > before.LastUnclean {
		e.unclean.Add(1)
	}
}

func (s *stats) forget(topic core.TopicID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.waits {
		if key.topic == topic {
			delete(s.waits, key)
		}
	}
}
