// Package compaction says what of a log goes under cleanup.policy=compact: which batches are written again, and how. A pass
// has two halves, as in Kafka: the newest offset of each key is learned from what was not looked at before, then the whole
// log up to there is gone through once, in order. Nothing here reads or writes; whatever prefix of a pass reaches the disk,
// the log it leaves is a legal one, because a record goes before what makes it superfluous.
package compaction

import (
	"sort"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// Pass is what is known when a pass begins.
type Pass struct {
	Now int64 // Unix ms
	// Retention is delete.retention.ms: how long tombstones stay, and markers without data, from the first pass that meets
	// them on.
	Retention int64
	// Remove lets those go whose time is over. Without it somebody may still have to copy them, who holds what they end.
	Remove bool
	// Newest is, for each producer, what must stay of it (T06).
	Newest map[int64]Newest
	// Aborted are the aborted transactions of the log.
	Aborted []Aborted
}

// Newest is what the log says last of a producer; Unknown where it says nothing.
type Newest struct {
	Data   core.Offset // last offset of its newest batch of data
	Marker core.Offset // its marker, where nothing came after that
}

// Aborted is one aborted transaction: what its producer wrote from First up to Marker does not count.
type Aborted struct {
	ProducerID int64
	First      core.Offset
	Marker     core.Offset
}

// aborted are ranges of offsets by producer, in order.
type aborted map[int64][]Aborted

func newAborted(list []Aborted) aborted {
	by := aborted{}
	for _, a := range list {
		by[a.ProducerID] = append(by[a.ProducerID], a)
	}
	for _, of := range by {
		sort.Slice(of, func(i, j int) bool { return of[i].Marker < of[j].Marker })
	}
	return by
}

// has reports whether a batch belongs to an aborted transaction.
func (by aborted) has(b batch.Batch) bool {
	if !b.IsTransactional() || b.IsControl() {
		return false
	}
	of, base := by[b.ProducerID], core.Offset(b.BaseOffset)
	i := sort.Search(len(of), func(i int) bool { return of[i].Marker > base })
	return i < len(of) && of[i].First <= base
}
