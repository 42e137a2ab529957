package compaction

import (
	"crypto/sha256"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// keyBytes is what a key takes in memory, with the room that a map has to grow.
const keyBytes = 128

// digest stands for a key. Two records must never be taken for one another, also where somebody tries: nobody can make one
// of these twice.
type digest [sha256.Size]byte

// Keys is the newest offset of each key of the part of a log that was not looked at before.
type Keys struct {
	newest  map[digest]core.Offset
	aborted aborted
	most    int
}

// NewKeys takes up to budget bytes of memory, and more only for a first batch that needs it.
func NewKeys(p Pass, budget int64) *Keys {
	return &Keys{newest: map[digest]core.Offset{}, aborted: newAborted(p.Aborted), most: int(max(budget, keyBytes) / keyBytes)}
}

// Len is how many keys are known.
func (k *Keys) Len() int { return len(k.newest) }

// Add learns the keys of the next batch. What was aborted hides nothing (R01), nor does what cannot be read. It returns false
// when there was no room: the pass ends below the batch, although some of it is known.
func (k *Keys) Add(b batch.Batch) bool {
	if b.IsControl() || abortedHidesNothing && k.aborted.has(b) || b.Each(0, func(batch.Record) bool { return true }) != nil {
		return true
	}
	first, room := len(k.newest) == 0, true
	_ = b.Each(0, func(r batch.Record) bool {
		if r.Key == nil {
			return true
		}
		key := digest(sha256.Sum256(r.Key))
		if _, known := k.newest[key]; !known && len(k.newest) >= k.most && !first {
			room = false
			return false
		}
		k.newest[key] = core.Offset(r.Offset)
		return true
	})
	return room
}

// hide reports whether there is a newer record of a key.
func (k *Keys) hide(r batch.Record) bool {
	if r.Key == nil {
		return false // of before the topic was compacted: nothing takes its place
	}
	newest, known := k.newest[digest(sha256.Sum256(r.Key))]
	return known && newest > core.Offset(r.Offset)
}
