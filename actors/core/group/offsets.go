package group

import (
	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func (s *State) commit(c OffsetCommit, now core.Now) outcome {
	var out outcome
	codes := make([]perr.Code, len(c.Offsets))
	if code := s.checkCommit(c, now.Mono); code != 0 {
		for i := range codes {
			codes[i] = code
		}
		answer(&out, OffsetsCommitted{Ref: c.Ref, Codes: codes})
		return out
	}
	ev := OffsetsStored{Group: c.Group}
	retain := int64(-1)
	if c.RetainMs > 0 {
		retain = c.RetainMs
	}
	kept := s.kept
	if s.groups[c.Group] == nil {
		kept += groupBytes(c.Group)
	}
	for i, o := range c.Offsets {
		if len(o.Metadata) > int(s.settings.MaxMetadataBytes) {
			codes[i] = perr.OffsetMetadataTooLarge // G15: the others are stored
			continue
		}
		r := OffsetRecord{Topic: o.Topic, ID: o.TopicID, Partition: o.Partition, Offset: o.Offset,
			LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata, CommittedAt: now.Wall, Age: s.ageAt(now), RetainMs: retain}
		more := r.bytes()
		if old := s.groups[c.Group]; old != nil {
			if before, again := old.offsets[position{o.Topic, o.Partition}]; again {
				more -= before.bytes()
			}
		}
		if kept += more; boundGroups && more > 0 && kept > s.settings.MaxShardBytes {
			codes[i] = perr.InvalidCommitOffsetSize
			kept -= more
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
	answer(&out, OffsetsCommitted{Ref: c.Ref, Codes: codes})
	return out
}

// checkCommit lets members of the current generation commit, also while they are asked to join again
// (that is when they hand over), and simple consumers as long as nobody is a member (K2).
func (s *State) checkCommit(c OffsetCommit, now int64) perr.Code {
	if hard := s.groups[c.Group]; hard != nil && hard.consumers != nil && s.live[c.Group] == nil {
		switch g := hard.consumers; {
		case c.Generation < 0 && len(g.members) == 0:
			return 0
		case g.members[c.MemberID] != nil && !g.members[c.MemberID].classic() && !c.KnowsGroupNotFound:
			return perr.UnsupportedVersion // epochs have no meaning before v9
		default:
			return g.checkCommit(c.MemberID, c.Generation)
		}
	}
	l := s.live[c.Group]
	if l == nil {
		if s.groups[c.Group] == nil {
			return unknownGroup(c)
		}
		l = s.current(c.Group, now)
	}
	switch {
	case c.Generation < 0 && l.phase == Empty:
		return 0
	case c.Generation < 0 && c.MemberID == "" && c.InstanceID == nil:
		return perr.UnknownMemberId
	}
	switch code := l.fence(c.MemberID, c.InstanceID); {
	case code != 0:
		return code
	case c.Generation != l.generation:
		return perr.IllegalGeneration
	case l.phase == Completing:
		return perr.RebalanceInProgress
	}
	return 0
}

func unknownGroup(c OffsetCommit) perr.Code {
	switch {
	case c.Generation < 0:
		return 0
	case c.KnowsGroupNotFound:
		return perr.GroupIdNotFound
	default:
		return perr.IllegalGeneration
	}
}

func (s *State) fetch(c OffsetFetch) outcome {
	out := OffsetsFetched{Ref: c.Ref}
	stored := s.groups[c.Group]
	if stored == nil {
		stored = newCommitted() // K1: never seen is not an error
	}
	if g := stored.consumers; g != nil && s.live[c.Group] == nil && c.MemberID != nil {
		if out.Code = g.checkCommit(*c.MemberID, c.Epoch); out.Code != 0 {
			var oc outcome
			answer(&oc, out)
			return oc
		}
	}
	open := s.unstable(c.Group)
	if c.Topics == nil {
		for _, o := range stored.sorted() {
			if c.RequireStable && open(position{o.Topic, o.Partition}) {
				out.Offsets = append(out.Offsets, unstable(o.Topic, o.Partition))
				continue
			}
			out.Offsets = append(out.Offsets, fetched(o))
		}
	}
	for _, t := range c.Topics {
		for _, p := range t.Partitions {
			if c.RequireStable && open(position{t.Topic, p}) {
				out.Offsets = append(out.Offsets, unstable(t.Topic, p))
				continue
			}
			o, found := stored.offsets[position{t.Topic, p}]
			if !found || matchTopicID && !sameTopic(o.ID, t.ID) {
				out.Offsets = append(out.Offsets, FetchedOffset{Topic: t.Topic, Partition: p, Offset: core.Unknown, LeaderEpoch: core.NoEpoch})
				continue
			}
			out.Offsets = append(out.Offsets, fetched(o))
		}
	}
	var oc outcome
	answer(&oc, out)
	return oc
}

// sameTopic: an offset of a deleted topic means nothing in a new one of the same name. Either side may
// not know the id.
func sameTopic(stored, asked core.TopicID) bool {
	return stored == asked || stored.IsZero() || asked.IsZero()
}

func fetched(o OffsetRecord) FetchedOffset {
	return FetchedOffset{Topic: o.Topic, TopicID: o.ID, Partition: o.Partition, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
}
