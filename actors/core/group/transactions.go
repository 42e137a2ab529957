package group

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Offsets of a transaction wait beside the group until its transaction coordinator says how it ended; nobody reads
// them before (KIP-98, KIP-447). That the transaction is open, and whose it is, its coordinator has checked: it
// hands over commits and ends in order, so no position is stored after the end of its transaction.

// TxnOffsetCommit stores offsets as part of a transaction. Answered by OffsetsCommitted.
type TxnOffsetCommit struct {
	Ref        core.RequestID
	Group      string
	ProducerID int64
	Generation int32  // -1: not stated (before v3)
	MemberID   string // "": not stated
	InstanceID *string
	Offsets    []OffsetToCommit
}

// EndTxnOffsets ends the transaction of a producer in one group. Answered by TxnOffsetsEnded, also when it has
// ended before.
type EndTxnOffsets struct {
	Ref        core.RequestID
	Group      string
	ProducerID int64
	Commit     bool
}

// TxnOffsetsEnded answers EndTxnOffsets.
type TxnOffsetsEnded struct{ Ref core.RequestID }

// ReplyTo names the request.
func (e TxnOffsetsEnded) ReplyTo() core.RequestID { return e.Ref }

func (TxnOffsetCommit) isCommand() {}
func (EndTxnOffsets) isCommand()   {}
func (TxnOffsetsEnded) isEffect()  {}

func (s *State) commitInTxn(c TxnOffsetCommit, now core.Now) outcome {
	var out outcome
	codes := make([]perr.Code, len(c.Offsets))
	answered := OffsetsCommitted{Ref: c.Ref, Codes: codes}
	if code := s.checkTxnCommit(c, now.Mono); code != 0 {
		for i := range codes {
			codes[i] = code
		}
		answer(&out, answered)
		return out
	}
	ev := TxnOffsetsStored{Group: c.Group, ProducerID: c.ProducerID}
	kept := s.kept
	if s.groups[c.Group] == nil {
		kept += groupBytes(c.Group)
	}
	for i, o := range c.Offsets {
		if len(o.Metadata) > int(s.settings.MaxMetadataBytes) {
			codes[i] = perr.OffsetMetadataTooLarge
			continue
		}
		r := OffsetRecord{Topic: o.Topic, ID: o.TopicID, Partition: o.Partition, Offset: o.Offset,
			LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata, CommittedAt: now.Wall, Age: s.ageAt(now), RetainMs: -1}
		if kept += r.bytes(); boundGroups && kept > s.settings.MaxShardBytes {
			codes[i] = perr.InvalidCommitOffsetSize
			kept -= r.bytes()
			continue
		}
		ev.Offsets = append(ev.Offsets, r)
	}
	if len(ev.Offsets) > 0 {
		out.Events = append(out.Events, ev)
	}
	if l := s.live[c.Group]; l != nil && l.members[c.MemberID] != nil {
		out.Events = append(out.Events, MemberSeen{Group: c.Group, Member: c.MemberID, Deadline: now.Mono + l.members[c.MemberID].sessionMs*ms})
	}
	answer(&out, answered)
	return out
}

// checkTxnCommit fences members that the group has replaced. Unlike a plain commit, one that names no member is
// taken while there are members (clients before KIP-447), and a rebalance under way does not stop it.
func (s *State) checkTxnCommit(c TxnOffsetCommit, now int64) perr.Code {
	if c.Generation < 0 && c.MemberID == "" && c.InstanceID == nil {
		return 0
	}
	if !s.known(c.Group) {
		if c.Generation < 0 {
			return 0
		}
		return perr.IllegalGeneration
	}
	if hard := s.groups[c.Group]; hard != nil && hard.consumers != nil && s.live[c.Group] == nil {
		switch code := hard.consumers.checkCommit(c.MemberID, c.Generation); {
		case c.Generation < 0 && len(hard.consumers.members) == 0:
			return 0
		case code == perr.StaleMemberEpoch:
			return perr.IllegalGeneration // what producers understand
		default:
			return code
		}
	}
	l := s.current(c.Group, now)
	if c.Generation < 0 && l.phase == Empty {
		return 0
	}
	switch code := l.fence(c.MemberID, c.InstanceID); {
	case code != 0:
		return code
	case c.Generation != l.generation:
		return perr.IllegalGeneration
	default:
		return 0
	}
}

func (s *State) endTxn(c EndTxnOffsets) outcome {
	var out outcome
	if h := s.pending[c.Group]; h != nil && len(h.by[c.ProducerID]) > 0 {
		out.Events = append(out.Events, TxnOffsetsSettled{Group: c.Group, ProducerID: c.ProducerID, Commit: c.Commit})
	}
	answer(&out, TxnOffsetsEnded{Ref: c.Ref})
	return out
}

// unstable makes the question whether a transaction may still change a position.
func (s *State) unstable(group string) func(position) bool {
	h := s.pending[group]
	if !pendingUntilTheEnd || h == nil {
		return func(position) bool { return false }
	}
	return func(at position) bool { return len(h.at[at]) > 0 }
}

func unstable(topic string, partition int32) FetchedOffset {
	return FetchedOffset{Topic: topic, Partition: partition, Offset: core.Unknown, LeaderEpoch: core.NoEpoch, Code: perr.UnstableOffsetCommit}
}

func (s *State) storePending(ev TxnOffsetsStored) {
	c := s.hard(ev.Group)
	for _, o := range ev.Offsets {
		if pendingUntilTheEnd {
			s.hold(ev.Group, TxnOffsetRecord{ProducerID: ev.ProducerID, Offset: o})
		} else {
			s.put(c, o)
		}
	}
}

// settlePending takes the positions of a committed transaction into the group, or forgets those of an aborted one. One
// that was stored before another of the same position, and whose transaction ends later, is older and does not count.
func (s *State) settlePending(ev TxnOffsetsSettled) {
	h := s.pending[ev.Group]
	if h == nil {
		return
	}
	for _, one := range slices.Clone(h.by[ev.ProducerID]) {
		if ev.Commit {
			s.put(s.hard(ev.Group), one.Offset)
			for _, other := range slices.Clone(h.at[one.at()]) {
				if other.order < one.order {
					s.letGo(ev.Group, other)
				}
			}
		}
		s.letGo(ev.Group, one)
	}
}

// overtake forgets what transactions hold of positions that were committed plainly, or deleted, since.
func (s *State) overtake(group string, at map[position]bool) {
	h := s.pending[group]
	if h == nil {
		return
	}
	for p := range at {
		for _, one := range slices.Clone(h.at[p]) {
			s.letGo(group, one)
		}
	}
}
