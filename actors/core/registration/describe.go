package registration

import (
	"maps"
	"slices"

	"lockstep/actors/core"
)

// Description is the ledger as operators and tests read it, sorted by topic, cluster and mirror.
type Description struct {
	Registrations []Registration
	Owners        []Owner
}

// Owner says which cluster holds a mirror name (F33), and the newest release of that mirror.
type Owner struct {
	Key    core.MirrorKey
	Number core.ReleaseNumber // newest release number given out; 0: none
	Marker core.ReleaseNumber // newest release of the whole mirror; 0: none
}

// Registration is one key of the ledger.
type Registration struct {
	Key         core.MirrorKey
	Topic       core.TopicID
	Name        string
	Registered  bool
	Epoch       core.RegistrationEpoch // of the newest registration, 0 if there never was one
	Generation  core.Generation
	Released    core.ReleaseNumber // number that a Register must echo; 0: none
	Incarnation core.Incarnation
	MinISR      int32
	Gates       []GateStart // leaders that gate, by partition; missing ones are PENDING
	Partitions  int32
	Plain       bool // class REPORTED: the peer speaks only the KIP
}

func describe(s *State) (d Description) {
	for _, k := range slices.SortedFunc(maps.Keys(s.mirrors), compareMirrors) {
		if m := s.mirrors[k]; m.owner {
			d.Owners = append(d.Owners, Owner{Key: k, Number: m.number, Marker: m.marker})
		}
	}
	for _, k := range s.keys() {
		e := s.entries[k]
		d.Registrations = append(d.Registrations, Registration{
			Key: k.Mirror, Topic: k.Topic, Name: e.name, Registered: e.registered, Epoch: e.epoch, Generation: e.generation,
			Released: s.released(k), Incarnation: e.incarnation, MinISR: e.minISR,
			Gates: gateStarts(e.gates), Partitions: e.partitions, Plain: e.plain,
		})
	}
	return d
}
