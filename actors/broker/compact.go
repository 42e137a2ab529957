package broker

import (
	"strconv"
	"strings"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/compaction"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/retention"
	"lockstep/protocol/batch"
)

const (
	// compactionRead is how much of a log is read at once, and written before the disk has confirmed it.
	compactionRead = 1 << 20
	// compactionRest is the least that log.cleaner.backoff.ms comes to.
	compactionRest = 10 * time.Millisecond
)

// compactor compacts the logs of all replicas of a broker, leaders and followers, as their topics' cleanup.policy says.
type compactor struct {
	*rounds[cleanedLog]
	stopped chan struct{}
}

func newCompactor(b *Broker) *compactor {
	c := &compactor{stopped: make(chan struct{})}
	c.rounds = newRounds(b, "compaction", c.backoff, c.compact)
	return c
}

func (c *compactor) backoff() int64 {
	return int64(max(time.Duration(c.broker.number("log.cleaner.backoff.ms"))*time.Millisecond, compactionRest))
}

// compact makes the passes over a log that are due. The brokers of a process take turns: they have one budget of memory
// together.
func (c *compactor) compact(r *Replica, log *cleanedLog) *cleanedLog {
	turn := c.broker.cluster.compacting
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-c.stopped:
		return nil
	}
	for again := true; again && c.running(); {
		log, again = c.due(r, log)
	}
	return log
}

func (c *compactor) running() bool {
	select {
	case <-c.stopped:
		return false
	default:
		return true
	}
}

// due makes one pass over a log if it is time to, and returns what it knows of the log. again is set when the next one may
// be due already: there was more than the keys of one pass.
func (c *compactor) due(r *Replica, log *cleanedLog) (_ *cleanedLog, again bool) {
	cluster := c.broker.cluster
	img, v := c.broker.Image(), r.View()
	topic, known := img.Topic(r.id.Topic)
	if !known || v.Leader == core.NoReplica || v.Role == partition.Stopping || v.Fence != 0 {
		return log, false
	}
	rules, compacts := c.rules(img, topic)
	if !compacts {
		return nil, false
	}
	leader, ok := cluster.Leader(r.id)
	if !ok {
		return log, false
	}
	limit := min(v.HW, v.LSO, c.floors(leader, img.Sync[r.id.Topic].Gates))
	log = log.current(r, v)
	if err := r.look(&log.log, v.HW, rules.segments); err != nil {
		cluster.system.Logger.Warn("compaction cannot look at a log", "replica", string(r.stream), "err", err)
		return log, false
	}
	now := cluster.Now().Wall
	to, dirty := log.log.Dirty(v.Cleaned, rules.lag, now, limit)
	remove := c.everybodyHas(r.id, max(to, v.Cleaned)) && limit >= v.Cleaned
	// Tombstones go some at a time: a pass reads the whole log.
	if waits := v.Horizon; !dirty && (waits < 0 || now < waits || now-waits < rules.retention/8 || !remove) {
		return log, false
	}
	return log, c.pass(r, topic.Name, max(to, v.Cleaned), compaction.Pass{Now: now, Retention: rules.retention, Remove: remove}, dirty)
}

// floors is what compaction stays below for those who copy from this cluster: a mirror that is registered here gets every
// record that it owes an ack for, and every tombstone.
func (c *compactor) floors(leader *Replica, registered []image.Gate) core.Offset {
	v := leader.View()
	if !v.IsLeader {
		return core.Unknown
	}
	if !compactionWaitsForMirrors {
		return v.HW
	}
	return held(leader.Gates(), registered, v)
}

// everybodyHas reports whether every mirror that is registered has the log up to there, and every replica that the partition
// is assigned to. One that is behind holds what a tombstone deleted, or the beginning of a transaction, and would not hear that
// it is over. A log that was not compared with the leader's may be as long and another.
func (c *compactor) everybodyHas(id core.PartitionID, to core.Offset) bool {
	cluster := c.broker.cluster
	p, known := cluster.Newest().Partition(id)
	leader, leads := cluster.Leader(id)
	if !known || !leads || c.floors(leader, c.broker.Image().Sync[id.Topic].Gates) < to {
		return false
	}
	if !tombstonesWaitForReplicas {
		return true
	}
	term := leader.reported.Load()
	for _, at := range p.Replicas {
		r, ok := cluster.replica(at, id)
		if !ok {
			return false
		}
		if has := r.reported.Load(); has == nil || term == nil || has.Epoch != term.Epoch || has.Term != term.Term || has.LEO < to {
			return false
		}
	}
	return true
}

// pass makes one pass up to to, exclusive. It returns true if it came to an end before, because there were too many keys.
func (c *compactor) pass(r *Replica, name string, to core.Offset, p compaction.Pass, dirty bool) (again bool) {
	log := c.broker.cluster.system.Logger.With("topic", name, "replica", string(r.stream))
	prepared, ok := c.ask(r, func(ref core.RequestID) partition.Command { return partition.PrepareCleaning{Ref: ref} }).(partition.CleaningPrepared)
	if !ok || !prepared.OK {
		return false
	}
	p.Newest, p.Aborted = prepared.Newest, prepared.Aborted
	end := min(to, prepared.Limit)
	keys := compaction.NewKeys(p, c.broker.number("log.cleaner.dedupe.buffer.size"))
	if dirty {
		full := false
		err := c.walk(r, max(prepared.Cleaned, prepared.LogStart), end, func(b batch.Batch) bool {
			if !keys.Add(b) {
				end, full = core.Offset(b.BaseOffset), true
			}
			return !full
		})
		if err != nil {
			log.Warn("compaction cannot read a log", "err", err)
			return false
		}
		again = full
	}
	cleaner := compaction.NewCleaner(p, keys)
	w := writer{compactor: c, replica: r, pass: prepared.Pass, end: end, removes: p.Remove}
	err := c.walk(r, prepared.LogStart, end, func(b batch.Batch) bool {
		w.add(cleaner.Clean(b))
		return w.why == ""
	})
	if err == nil && w.why == "" {
		w.list = append(w.list, cleaner.End()...)
		w.flush(partition.CleanBatches{Done: true, To: end, Horizon: cleaner.Horizon()})
	}
	r.passes.Add(1)
	switch {
	case err != nil:
		log.Warn("compaction cannot read a log", "err", err)
		return false
	case w.why != "":
		log.Info("a pass of compaction was given up", "reason", w.why)
		return false
	}
	log.Info("a log was compacted", "to", int64(end), "keys", keys.Len(), "batches", w.batches, "bytes", w.written)
	return again
}

// ask waits for the answer of a replica; one that goes away answers, too.
func (c *compactor) ask(r *Replica, build func(core.RequestID) partition.Command) any {
	answer := make(chan any, 1)
	r.Ask(build, func(a any) { answer <- a })
	return <-answer
}

// walk visits the batches of a log from the one that has from on that end below to, until visit returns false.
func (c *compactor) walk(r *Replica, from, to core.Offset, visit func(batch.Batch) bool) error {
	for from < to && c.running() {
		stored, err := r.store.ReadBatches(r.stream, from, compactionRead)
		if err != nil || len(stored) == 0 {
			return err
		}
		for _, s := range stored {
			if s.Last >= to {
				return nil
			}
			b, _, err := batch.Parse(s.Bytes)
			if err != nil {
				return err
			}
			if !visit(b) {
				return nil
			}
			from = s.Last + 1
		}
	}
	return nil
}

// writer hands the batches of a pass to the replica, some at a time, and waits for the disk.
type writer struct {
	compactor *compactor
	replica   *Replica
	pass      core.RequestID
	end       core.Offset // of the pass, exclusive
	removes   bool        // tombstones and markers go
	list      []batch.Batch
	size      int
	why       string // the pass is over

	batches, written int
}

func (w *writer) add(list []batch.Batch) {
	for _, b := range list {
		w.list = append(w.list, b)
		w.size += len(b.Bytes)
	}
	if w.size >= compactionRead || len(w.list) >= extentsAtOnce {
		w.flush(partition.CleanBatches{})
	}
}

func (w *writer) flush(c partition.CleanBatches) {
	if !w.compactor.running() {
		w.why = "the broker stops"
		return
	}
	if err := w.replica.store.Admit(); err != nil {
		w.why = err.Error() // what is written again takes room before it gives room back
		return
	}
	if w.removes && !w.compactor.everybodyHas(w.replica.id, w.end) {
		w.why = "somebody who is new, or has begun anew, has yet to copy what it takes away"
		return
	}
	c.Pass, c.Batches = w.pass, w.list
	answer := w.compactor.ask(w.replica, func(ref core.RequestID) partition.Command {
		c.Ref = ref
		return c
	})
	done, ok := answer.(partition.BatchesCleaned)
	switch {
	case !ok:
		w.why = "the replica has stopped"
	case !done.OK:
		w.why = done.Text
	}
	w.batches += len(w.list)
	w.written += w.size
	w.list, w.size = nil, 0
}

// compactionRules are the settings of a topic that is compacted.
type compactionRules struct {
	segments  retention.Rules
	lag       retention.Lag
	retention int64 // delete.retention.ms
}

func (c *compactor) rules(img *image.Image, t *image.Topic) (rules compactionRules, compacts bool) {
	settings := c.broker.Layers(img, t)
	if !strings.Contains(settings.Effective("cleanup.policy"), "compact") {
		return rules, false
	}
	number := settings.Number
	ratio, err := strconv.ParseFloat(settings.Effective("min.cleanable.dirty.ratio"), 64)
	if err != nil {
		panic("broker: min.cleanable.dirty.ratio is not a number: " + err.Error())
	}
	lag := retention.Lag{LeastMs: number("min.compaction.lag.ms"), MostMs: number("max.compaction.lag.ms"), Ratio: ratio}
	return compactionRules{
		// As in Kafka a segment is no longer than the greatest lag: one that is written to all the time would stay young.
		segments:  retention.Rules{Ms: -1, Bytes: -1, SegmentMs: min(number("segment.ms"), lag.MostMs), SegmentBytes: number("segment.bytes")},
		lag:       lag,
		retention: number("delete.retention.ms"),
	}, true
}
