package broker

import (
	"strings"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/retention"
	"lockstep/actors/shell"
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

// cleaner shortens the logs that a broker leads as their topics' retention.ms and retention.bytes say. What it knows belongs
// to the goroutine of its inbox, and can be found again.
type cleaner struct {
	broker *Broker
	inbox  *shell.Inbox[struct{}]
	logs   map[core.PartitionID]*cleanedLog
}

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

func newCleaner(b *Broker) *cleaner {
	c := &cleaner{broker: b, logs: map[core.PartitionID]*cleanedLog{}}
	c.inbox = shell.SpawnInbox(b.cluster.system, "retention/"+b.name(), func(struct{}) { c.clean() })
	return c
}

func (c *cleaner) interval() int64 {
	if ms := c.broker.cluster.options.RetentionCheckMs; ms > 0 {
		return ms * int64(time.Millisecond)
	}
	return DefaultRetentionCheckMs * int64(time.Millisecond)
}

// begin sets the first check.
func (c *cleaner) begin() { c.wake(min(firstRetention, c.interval())) }

func (c *cleaner) wake(in int64) {
	cluster := c.broker.cluster
	cluster.system.Clock.Wake(cluster.Now().Mono+in, func() { c.inbox.Post(struct{}{}) })
}

func (c *cleaner) clean() {
	replicas := c.broker.Replicas()
	kept := make(map[core.PartitionID]*cleanedLog, len(c.logs))
	for _, r := range replicas {
		if log := c.cleanOne(r); log != nil {
			kept[r.id] = log
		}
	}
	c.logs = kept
	c.wake(c.interval())
}

// cleanOne asks one leader to give up what its topic does not keep. It returns what it knows of the log, nil if that is not
// this broker's to shorten.
func (c *cleaner) cleanOne(r *Replica) *cleanedLog {
	img, v := c.broker.Image(), r.View()
	topic, known := img.Topic(r.id.Topic)
	if !known || !v.IsLeader || v.Role != partition.Writable || v.Fence != 0 {
		return nil
	}
	rules := c.rules(img, topic)
	if !rules.Deletes() {
		return nil
	}
	log := c.logs[r.id].current(r, v)
	if err := r.look(&log.log, v.HW, rules); err != nil {
		c.broker.cluster.system.Logger.Warn("retention cannot look at a log", "replica", string(r.stream), "err", err)
		return nil
	}
	start, why, ok := log.log.Expired(rules, c.broker.cluster.Now().Wall, held(r.Gates(), img.Sync[r.id.Topic].Gates, v))
	if !ok || start <= v.LogStart {
		return log
	}
	reason := partition.ReasonTime
	if why == retention.Size {
		reason = partition.ReasonSize
	}
	c.broker.cluster.system.Logger.Info("old records go", "topic", topic.Name, "partition", r.id.Index, "log_start", int64(v.LogStart), "to", int64(start), "size", why == retention.Size)
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

// rules are the retention of a topic; none where its cleanup.policy does not delete.
func (c *cleaner) rules(img *image.Image, t *image.Topic) retention.Rules {
	settings := c.broker.Layers(img, t)
	number := settings.Number
	none := retention.Rules{Ms: -1, Bytes: -1}
	if !strings.Contains(settings.Effective("cleanup.policy"), "delete") {
		return none
	}
	return retention.Rules{Ms: number("retention.ms"), Bytes: number("retention.bytes"), SegmentMs: number("segment.ms"), SegmentBytes: number("segment.bytes")}
}
