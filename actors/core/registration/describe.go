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
	Successions   []Succession // by topic
}

// Succession says who takes, or is taking, a topic's writes over (C8).
type Succession struct {
	Topic    core.TopicID
	Name     string
	Standing Standing
	Era      core.Era       // under which this cluster takes, or took, its writes
	By       core.MirrorKey // while fenced or superseded
	Next     core.Era       // of By
	Planned  bool           // a switchover, else a failover
	Ends     []End
	Text     string // while fenced what is missing, else why the newest fence was lifted
	Ignored  int64  // claims of an era, since this process started, by clusters that may not make them
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
	Held        bool               // an operator refuses recoveries
	Incarnation core.Incarnation
	MinISR      int32
	Gates       []GateStart // leaders that gate, by partition; missing ones are PENDING
	Partitions  int32
	Plain       bool // class REPORTED: the peer speaks only the KIP
	// Leaving: released, and acks wait for it until LeaveBy (mono ns, 0: the lease has not begun to run) or its word.
	Leaving bool
	LeaveBy int64
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
			Released: s.released(k), Held: s.held(k), Incarnation: e.incarnation, MinISR: e.minISR,
			Gates: gateStarts(e.gates), Partitions: e.partitions, Plain: e.plain,
			Leaving: e.leaving, LeaveBy: s.leaveBy[k],
		})
	}
	for _, id := range s.spokenOf() {
		r := s.successions[id]
		row := Succession{
			Topic: id, Name: r.Name, Standing: r.standing(), Era: r.Era, By: r.by(), Next: r.Next, Planned: r.Planned,
			Text: r.Text, Ignored: s.ignored[id],
		}
		for _, e := range r.Ends {
			row.Ends = append(row.Ends, End(e))
		}
		if r.standing() == Fenced {
			row.Text = missing(s.draining[id], s.entries[LedgerKey{r.by(), id}].partitions)
		}
		d.Successions = append(d.Successions, row)
	}
	return d
}
