package compaction

import (
	"math"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// Cleaner goes through a log. Every batch is given to Clean, in order, and what comes back takes the place of those inside
// of it.
type Cleaner struct {
	pass    Pass
	keys    *Keys
	aborted aborted
	open    map[int64]bool // producers of which something is left since their last marker
	run     run
	horizon int64
	blind   bool // a batch could not be read: a tombstone may still hide something in it
}

// run is batches of one epoch of which nothing is left, one behind the other. An epoch keeps its place in the log (E05).
type run struct {
	base, last int64
	epoch      int32
	any        bool
	changed    bool
}

// NewCleaner makes the second half of a pass.
func NewCleaner(p Pass, k *Keys) *Cleaner {
	return &Cleaner{pass: p, keys: k, aborted: newAborted(p.Aborted), open: map[int64]bool{}, horizon: -1}
}

// Horizon is the earliest time at which something may go that stayed for the time being, Unix ms; negative: nothing waits.
func (c *Cleaner) Horizon() int64 { return c.horizon }

// Clean takes the next batch.
func (c *Cleaner) Clean(b batch.Batch) []batch.Batch {
	kept, left := c.keep(b)
	if left {
		out := c.End()
		if &kept.Bytes[0] != &b.Bytes[0] {
			out = append(out, kept)
		}
		return out
	}
	r := &c.run
	if r.any && r.epoch == b.LeaderEpoch && r.last+1 == b.BaseOffset && b.LastOffset()-r.base <= math.MaxInt32 {
		r.last, r.changed = b.LastOffset(), true
		return nil
	}
	out := c.End()
	c.run = run{base: b.BaseOffset, last: b.LastOffset(), epoch: b.LeaderEpoch, any: true, changed: !b.IsNothing()}
	return out
}

// End gives out what waits for more of its kind.
func (c *Cleaner) End() []batch.Batch {
	r := c.run
	c.run = run{}
	if !r.any || !r.changed {
		return nil
	}
	return []batch.Batch{batch.Nothing(r.base, r.last, r.epoch)}
}

// keep is what stays of a batch; left is false when nothing does.
func (c *Cleaner) keep(b batch.Batch) (kept batch.Batch, left bool) {
	if b.IsControl() {
		return c.keepControl(b)
	}
	if kept, left = c.keepData(b); !left {
		if newest, known := c.pass.Newest[b.ProducerID]; known && newest.Data == core.Offset(b.LastOffset()) && producersKeepAShell {
			kept, left = b, true
			if b.Records > 0 {
				kept = keeping(b, func(batch.Record) bool { return false }, -1)
			}
		}
	}
	if left && b.IsTransactional() {
		c.open[b.ProducerID] = true
	}
	return kept, left
}

// keepControl: a marker goes when nothing of its transaction is left, and those who copy the log have had the time to see it (R02).
func (c *Cleaner) keepControl(b batch.Batch) (kept batch.Batch, left bool) {
	if _, ends := b.EndOfTxn(); !ends {
		return b, true
	}
	had := c.open[b.ProducerID]
	delete(c.open, b.ProducerID)
	newest, known := c.pass.Newest[b.ProducerID]
	switch {
	case had && markersOutliveTheirData:
		return b, true
	case known && newest.Marker == core.Offset(b.BaseOffset):
		return b, true // it says which epoch the producer has
	case c.over(b):
		return b, false
	default:
		return c.stamped(b, func(batch.Record) bool { return true }, b.Records), true
	}
}

func (c *Cleaner) keepData(b batch.Batch) (kept batch.Batch, left bool) {
	if b.Records == 0 || c.aborted.has(b) {
		return b, false
	}
	over := c.over(b)
	stays := func(r batch.Record) bool { return !c.keys.hide(r) && (r.Value != nil || r.Key == nil || !over) }
	n, tombstones := int32(0), false
	if err := b.Each(0, func(r batch.Record) bool {
		if stays(r) {
			n++
			tombstones = tombstones || r.Value == nil && r.Key != nil
		}
		return true
	}); err != nil {
		c.blind = true
		return b, true
	}
	switch {
	case n == 0:
		return b, false
	case tombstones:
		return c.stamped(b, stays, n), true
	case n == b.Records:
		return b, true
	default:
		return keeping(b, stays, -1), true
	}
}

// over reports whether what a batch has of tombstones, or of markers without data, goes now (R04).
func (c *Cleaner) over(b batch.Batch) bool {
	at, stated := b.DeleteHorizon()
	if !tombstonesStay {
		return true
	}
	return c.pass.Remove && !c.blind && stated && at <= c.pass.Now
}

// stamped states when the tombstones of a batch, or its marker, may go, unless that is stated already.
func (c *Cleaner) stamped(b batch.Batch, stays func(batch.Record) bool, n int32) batch.Batch {
	at, stated := b.DeleteHorizon()
	if !stated {
		at = c.pass.Now + min(c.pass.Retention, math.MaxInt64-c.pass.Now)
	}
	if !c.blind && (c.horizon < 0 || at < c.horizon) { // what stays for a batch that cannot be read does not go with time
		c.horizon = at
	}
	if stated && n == b.Records {
		return b
	}
	return keeping(b, stays, at)
}

// keeping leaves a batch as it is that cannot be read.
func keeping(b batch.Batch, stays func(batch.Record) bool, horizon int64) batch.Batch {
	kept, err := b.Keeping(stays, horizon)
	if err != nil {
		return b
	}
	return kept
}
