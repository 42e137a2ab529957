package broker

import (
	"strings"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/retention"
	"lockstep/journal"
)

const (
	// firstRetention is how long a broker waits with its first check, as in Kafka, unless the interval is shorter.
	firstRetention = int64(30 * time.Second)
	// DefaultRetentionCheckMs is the default of log.retention.check.interval.ms.
	DefaultRetentionCheckMs = int64(300_000)
	// extentsAtOnce is how many batches are looked at while what cuts batches of the volume waits.
	extentsAtOnce = 2048
)

// cleanedLog is the committed log of one leader epoch, as far as it was looked at: nothing of that is cut any more.
type cleanedLog struct {
	epoch  core.LeaderEpoch
	passes int64 // of compaction, which changes what batches take
	log    retention.Log
}

// current is the log if it still is what was looked at, else one that nobody has looked at.
func (l *cleanedLog) current(r *Replica, v partition.View) *cleanedLog {
	if passes := r.passes.Load(); l == nil || l.epoch != v.Epoch || l.passes != passes || l.log.Next() > v.HW {
		l = &cleanedLog{epoch: v.Epoch, passes: passes}
		l.log.RollAt(v.Cleaned)
	}
	l.log.Trim(v.LogStart)
	return l
}

// newCleaner shortens the logs that a broker leads as their topics' retention.ms and retention.bytes say.
func newCleaner(b *Broker) *rounds[cleanedLog] {
	return newRounds(b, "retention", b.cluster.retentionCheck, b.shorten)
}

// retentionCheck is the time between two checks, in ns.
func (c *Cluster) retentionCheck() int64 {
	if ms := c.options.RetentionCheckMs; ms > 0 {
		return ms * int64(time.Millisecond)
	}
	return DefaultRetentionCheckMs * int64(time.Millisecond)
}

// shorten asks a leader to give up what its topic does not keep. It returns what it knows of the log, nil if that is not
// this broker's to shorten.
func (b *Broker) shorten(r *Replica, log *cleanedLog) *cleanedLog {
	img, v := b.Image(), r.View()
	topic, known := img.Topic(r.id.Topic)
	if !known || !v.IsLeader || v.Role != partition.Writable || v.Fence != 0 {
		return nil
	}
	rules := b.retentionOf(img, topic)
	if !rules.Deletes() {
		return nil
	}
	log = log.current(r, v)
	if err := r.look(&log.log, v.HW, rules); err != nil {
		b.cluster.system.Logger.Warn("retention cannot look at a log", "replica", string(r.stream), "err", err)
		return nil
	}
	start, why, ok := log.log.Expired(rules, b.cluster.Now().Wall, held(r.Gates(), img.Sync[r.id.Topic].Gates, v))
	if !ok || start <= v.LogStart {
		return log
	}
	reason := partition.ReasonTime
	if why == retention.Size {
		reason = partition.ReasonSize
	}
	b.cluster.system.Logger.Info("old records go", "topic", topic.Name, "partition", r.id.Index, "log_start", int64(v.LogStart), "to", int64(start), "size", why == retention.Size)
	r.partition.Tell(partition.ExpireRecords{Epoch: v.Epoch, Before: start, Reason: reason})
	return log
}

// look takes what was committed since the last check.
func (r *Replica) look(log *retention.Log, hw core.Offset, rules retention.Rules) error {
	for {
		n, more := 0, false
		err := r.store.Extents(r.stream, log.Next(), func(e journal.Extent) bool {
			if e.Last >= hw {
				return false
			}
			if more = n == extentsAtOnce; more {
				return false
			}
			n++
			log.Add(retention.Batch{Base: e.Base, Last: e.Last, MaxTimestamp: e.MaxTimestamp, Bytes: e.Bytes}, rules)
			return true
		})
		if err != nil || !more {
			return err
		}
	}
}

// held is up to where records may go: what is committed, and what every mirror has that is registered here, armed or not.
// Before this leader has applied a registration that its broker knows of, nothing goes.
func held(now highwater.PublishGates, registered []image.Gate, v partition.View) core.Offset {
	if !retentionWaitsForMirrors {
		return v.HW
	}
	limit, applied := v.HW, 0
	if now.Epoch == v.Epoch {
		for _, g := range now.Gates {
			limit = min(limit, g.Floor)
			applied++
		}
	}
	if applied < len(registered) {
		return core.Unknown
	}
	return limit
}

// retentionOf is the retention of a topic; none where its cleanup.policy does not delete.
func (b *Broker) retentionOf(img *image.Image, t *image.Topic) retention.Rules {
	settings := b.Layers(img, t)
	number := settings.Number
	none := retention.Rules{Ms: -1, Bytes: -1}
	if !strings.Contains(settings.Effective("cleanup.policy"), "delete") {
		return none
	}
	return retention.Rules{Ms: number("retention.ms"), Bytes: number("retention.bytes"), SegmentMs: number("segment.ms"), SegmentBytes: number("segment.bytes")}
}
