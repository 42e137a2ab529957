package mirror

import "lockstep/actors/core"

// Machine is one mirror of a destination cluster; the id of an instance is the mirror's name.
func Machine() core.Machine[State, Command, Event, Effect] {
	return core.Machine[State, Command, Event, Effect]{
		Name:     "mirror",
		Init:     newState,
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
