package partition

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
)

// park keeps a long poll until its position is passed. Positions are what this actor has decided; the
// wake is late, so they are released when it is performed.
func (d *decision) park(c ParkFetch) {
	if d.s.position(c.Until) > c.Beyond {
		d.late(WakeFetch{Ref: c.Ref})
		return
	}
	d.emit(FetchParked{Fetch: c})
}

func (s *State) position(p Position) core.Offset {
	switch p {
	case PositionHW:
		return s.readable()
	case PositionLSO:
		return s.txns.LSO(s.readable())
	case PositionLEO:
		return s.leo
	default:
		panic(fmt.Sprintf("partition: unknown position %d", p))
	}
}

// wake answers the polls whose position is passed; a truncation wakes those that wait above the end.
func (d *decision) wake() {
	d.wakeIf(func(f ParkFetch) bool { return d.s.position(f.Until) > f.Beyond || f.Beyond > d.s.leo })
}

// wakeAll answers every poll: who leads, or what the log is, has changed.
func (d *decision) wakeAll() { d.wakeIf(func(ParkFetch) bool { return true }) }

func (d *decision) wakeIf(due func(ParkFetch) bool) {
	var refs []core.RequestID
	for ref, f := range d.was.parked {
		if due(f) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return
	}
	slices.Sort(refs)
	d.emit(FetchesWoken{Refs: refs})
	for _, ref := range refs {
		d.late(WakeFetch{Ref: ref})
	}
}
