package transaction

import (
	"maps"
	"slices"

	"lockstep/actors/core"
)

// Machine is one shard of the transaction coordinator.
func Machine() core.Machine[State, Command, Event, Effect] {
	return core.Machine[State, Command, Event, Effect]{
		Name:     "transaction",
		Init:     func(string) *State { return newState() },
		Decide:   decide,
		Apply:    apply,
		Encode:   encode,
		Decode:   func(e core.Entry) (Event, error) { return DecodeEvent(e.Payload) },
		Snapshot: func(s *State) []byte { return s.snapshot() },
		Restore:  restore,
	}
}

func encode(ev Event) (core.Entry, bool) {
	d, durable := ev.(DurableEvent)
	if !durable {
		return core.Entry{}, false
	}
	return core.Entry{Kind: core.EntryEvent, Payload: EncodeEvent(d)}, true
}

func (s *State) snapshot() []byte {
	var out Snapshot
	for _, id := range s.ids() {
		out.Transactions = append(out.Transactions, *s.txns[id])
	}
	return out.AppendTo(nil)
}

func (s *State) ids() []string { return slices.Sorted(maps.Keys(s.txns)) }

func restore(_ string, b []byte) (*State, error) {
	var in Snapshot
	if err := in.ReadFrom(b); err != nil {
		return nil, err
	}
	s := newState()
	for i := range in.Transactions {
		s.put(in.Transactions[i].ID, &in.Transactions[i])
	}
	return s, nil
}
