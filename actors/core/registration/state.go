// Package registration is the ledger of a source cluster: which mirrors of which clusters its topics gate
// on, which were released, and what each destination was last told (rulings C1, C3, C4, C10).
package registration

import (
	"maps"
	"slices"

	"lockstep/actors/core"
)

// State is the ledger. Entries are values: a snapshot handed out is never changed afterwards.
type State struct {
	cluster   core.ClusterID
	lastEpoch core.RegistrationEpoch // newest given out, over all keys: never used twice
	mirrors   map[core.MirrorKey]mirror
	entries   map[LedgerKey]entry
	dropped   map[core.TopicID]bool // deleted topics that had entries
	fences    int64                 // newest fence number given out: never used twice
	// successions are values, like entries. Topics that no mirror ever took over or tried to are not in it.
	successions map[core.TopicID]SuccessionRecord
	promised    int64 // ms that evidence may have promised (C4)

	// Soft: losing it costs a plain peer one refusal, and a stop its list of LEOs.
	version int64
	told    map[LedgerKey]core.ReleaseNumber
	waiting []UngatingAwaited
	// additions are added partitions that a mirror has, above a gap of others that it may not have.
	additions map[addition]bool

	// Soft: evidence of the time before a restart may have promised as much as promised says.
	lease    int64               // ms, of this cluster's own setting
	promises int64               // ms that evidence promises now
	lowerAt  int64               // mono ns from when on nobody relies on more than promises; 0: nobody does
	leaveBy  map[LedgerKey]int64 // mono ns when acks stop waiting for a mirror that leaves

	// Soft: leaders report again, a destination asks again.
	draining map[core.TopicID]draining
	asking   []FenceAwaited
	ignored  map[core.TopicID]int64 // claims of an era that were not obeyed
}

type mirror struct {
	number core.ReleaseNumber // newest given out; topic and mirror releases share it (C3, model M1)
	marker core.ReleaseNumber // newest release of the whole mirror; stays (C10, model M2)
	owner  bool               // this cluster holds the mirror's name (F33)
	hold   core.ReleaseNumber // newest release of the whole mirror that refuses recoveries
	lifted core.ReleaseNumber // holds up to it were lifted for all topics
}

type entry struct {
	name        string
	partitions  int32
	registered  bool
	epoch       core.RegistrationEpoch // of the newest registration
	incarnation core.Incarnation       // registered data
	minISR      int32
	generation  core.Generation
	numbered    bool          // commands must carry a generation, until a release forgets that
	content     CommandRecord // of the newest numbered command
	marker      core.ReleaseNumber
	admitted    core.ReleaseNumber // newest release that an admission answered, for this topic only
	gates       []GateRecord       // by partition; never mutated in place
	plain       bool               // registered by a peer that speaks only the KIP: class REPORTED (R14)
	hold        core.ReleaseNumber // newest release of this topic that refuses recoveries
	lifted      core.ReleaseNumber // holds up to it were lifted for this topic
	leaving     bool               // released after its lease: acks still wait, evidence no longer vouches (C4)
}

func newState(cluster string) *State {
	return &State{
		cluster: core.ClusterID(cluster),
		mirrors: map[core.MirrorKey]mirror{},
		entries: map[LedgerKey]entry{},
		dropped: map[core.TopicID]bool{},
		told:    map[LedgerKey]core.ReleaseNumber{},
		leaveBy: map[LedgerKey]int64{},

		successions: map[core.TopicID]SuccessionRecord{}, draining: map[core.TopicID]draining{}, ignored: map[core.TopicID]int64{},
	}
}

// released is the number that a Register of the key must echo, 0 if none: the newest release that covers
// the topic, unless an admission of this topic has answered it (C10).
func (s *State) released(k LedgerKey) core.ReleaseNumber {
	e := s.entries[k]
	n := e.marker
	if m := s.mirrors[k.Mirror]; wholeReleaseMarks {
		n = max(n, m.marker)
	}
	if n <= e.admitted {
		return 0
	}
	return n
}

// owner is the cluster that holds a mirror's name.
func (s *State) owner(name core.MirrorName) (core.MirrorKey, bool) {
	for k, m := range s.mirrors {
		if m.owner && k.Mirror == name {
			return k, true
		}
	}
	return core.MirrorKey{}, false
}

// after is the state once events are applied; s stays as it is.
func (s *State) after(events []Event) *State {
	next := &State{
		cluster: s.cluster, lastEpoch: s.lastEpoch, version: s.version,
		mirrors: maps.Clone(s.mirrors), entries: maps.Clone(s.entries), dropped: maps.Clone(s.dropped),
		told: maps.Clone(s.told), waiting: slices.Clone(s.waiting), additions: maps.Clone(s.additions),
		promised: s.promised, lease: s.lease, promises: s.promises, lowerAt: s.lowerAt, leaveBy: maps.Clone(s.leaveBy),
		fences: s.fences, successions: maps.Clone(s.successions), draining: maps.Clone(s.draining),
		asking: slices.Clone(s.asking), ignored: maps.Clone(s.ignored),
	}
	for _, ev := range events {
		apply(next, ev)
	}
	return next
}

// keys lists the entries in a fixed order: topic, cluster, mirror.
func (s *State) keys() []LedgerKey {
	return slices.SortedFunc(maps.Keys(s.entries), compareKeys)
}

// known lists the topics that have entries or a succession, sorted.
func (s *State) known() []core.TopicID {
	list := s.moving()
	for _, k := range s.keys() {
		list = append(list, k.Topic)
	}
	slices.SortFunc(list, func(a, b core.TopicID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

func compareKeys(a, b LedgerKey) int {
	if c := slices.Compare(a.Topic[:], b.Topic[:]); c != 0 {
		return c
	}
	return compareMirrors(a.Mirror, b.Mirror)
}

func compareMirrors(a, b core.MirrorKey) int {
	if a.Cluster != b.Cluster {
		if a.Cluster < b.Cluster {
			return -1
		}
		return 1
	}
	switch {
	case a.Mirror < b.Mirror:
		return -1
	case a.Mirror > b.Mirror:
		return 1
	}
	return 0
}
