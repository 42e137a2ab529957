package highwater

import (
	"fmt"

	"lockstep/actors/core"
)

func encode(ev Event) (core.Entry, bool) {
	durable, ok := ev.(DurableEvent)
	if !ok {
		return core.Entry{}, false
	}
	return core.Entry{Kind: core.EntryEvent, Payload: EncodeEvent(durable)}, true
}

func decode(entry core.Entry) (Event, error) {
	if entry.Kind != core.EntryEvent {
		return nil, fmt.Errorf("highwater: entry of kind %d in a ledger", entry.Kind)
	}
	ev, err := DecodeEvent(entry.Payload)
	if err != nil {
		return nil, err
	}
	return ev, nil
}

func snapshot(s *State) []byte {
	return (&Snapshot{Stamp: s.hard.Stamp, LeaderEpoch: s.hard.Epoch, To: s.hard.To}).AppendTo(nil)
}

func restore(id string, data []byte) (*State, error) {
	var snap Snapshot
	if err := snap.ReadFrom(data); err != nil {
		return nil, fmt.Errorf("highwater %s: snapshot: %w", id, err)
	}
	s := New(id)
	s.hard = hard{Stamp: snap.Stamp, Epoch: snap.LeaderEpoch, To: snap.To}
	return s, nil
}
