package group

import (
	"fmt"
	"strings"

	"lockstep/actors/core/assignor"
	"lockstep/actors/core/pattern"
	"lockstep/protocol/perr"
)

// check refuses requests that make no sense, and groups that are not the consumer protocol's. The texts are for the
// people who write clients.
func (b *beat) check() (perr.Code, string) {
	empty := func(p *string) bool { return p != nil && *p == "" }
	switch {
	case b.req.Group == "":
		return perr.InvalidRequest, "GroupId can't be empty."
	case empty(b.req.InstanceID):
		return perr.InvalidRequest, "InstanceId can't be empty."
	case empty(b.req.RackID):
		return perr.InvalidRequest, "RackId can't be empty."
	case b.req.MemberID == "":
		return perr.InvalidRequest, "MemberId can't be empty."
	case b.req.Epoch < away:
		return perr.InvalidRequest, "MemberEpoch is invalid."
	case b.req.Epoch == away && b.req.InstanceID == nil:
		return perr.InvalidRequest, "InstanceId can't be null."
	case b.req.Epoch == joining && b.req.RebalanceMs < 0:
		return perr.InvalidRequest, "RebalanceTimeoutMs must be provided in first request."
	case b.req.Epoch == joining && (b.req.Owned == nil || b.req.Owned.Len() > 0):
		return perr.InvalidRequest, "TopicPartitions must be empty when (re-)joining."
	case b.req.Epoch == joining && b.req.Topics == nil && b.req.Regex == nil:
		return perr.InvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
	}
	if b.req.Assignor != nil {
		if _, served := assignor.Named(*b.req.Assignor); !served {
			return perr.UnsupportedAssignor, fmt.Sprintf("ServerAssignor %s is not supported. Supported assignors: %s.", *b.req.Assignor, strings.Join(assignor.Names, ", "))
		}
	}
	if b.req.Regex != nil && *b.req.Regex != "" {
		if _, err := pattern.Compile(*b.req.Regex); err != nil {
			return perr.InvalidRegularExpression, fmt.Sprintf("SubscribedTopicRegex `%s` is not a valid regular expression: %v.", *b.req.Regex, err)
		}
	}
	return b.checkKind()
}

// checkKind: a group of the classic protocol with members becomes one of the consumer protocol with its first member that
// speaks it, if it may.
func (b *beat) checkKind() (perr.Code, string) {
	if b.s.isConsumers(b.req.Group) {
		return 0, ""
	}
	known := b.s.known(b.req.Group)
	switch {
	case !known && b.req.Epoch != joining:
		return perr.GroupIdNotFound, fmt.Sprintf("Group %s not found.", b.req.Group)
	case known && b.req.Epoch != joining:
		return perr.GroupIdNotFound, fmt.Sprintf("Group %s is not a consumer group.", b.req.Group)
	}
	if l := b.s.current(b.req.Group, b.now.Mono); l.phase != Empty {
		return b.upgrade(l)
	}
	if b.s.live[b.req.Group] != nil { // ids that were only handed out
		b.event(MembershipChanged{Group: b.req.Group})
	}
	return 0, ""
}

// member finds who sends the heartbeat; nil without a code is a new member. old is the id of the static member whose
// place it takes.
func (b *beat) member() (m *consumer, old string, code perr.Code, text string) {
	m = b.g.members[b.req.MemberID]
	if b.req.InstanceID != nil {
		return b.static()
	}
	switch {
	case m != nil:
		code, text = b.fence(m)
		return m, "", code, text
	case b.req.Epoch != joining:
		return nil, "", perr.UnknownMemberId, fmt.Sprintf("Member %s is not a member of group %s.", b.req.MemberID, b.req.Group)
	}
	code, text = b.full()
	return nil, "", code, text
}

func (b *beat) static() (m *consumer, old string, code perr.Code, text string) {
	m = b.g.members[b.g.statics[*b.req.InstanceID]]
	switch {
	case m == nil && b.req.Epoch != joining:
		return nil, "", perr.UnknownMemberId, fmt.Sprintf("Instance id %s is unknown.", *b.req.InstanceID)
	case m == nil:
		code, text = b.full()
		return nil, "", code, text
	case b.req.Epoch != joining && m.said.Member != b.req.MemberID:
		return nil, "", perr.FencedInstanceId, fmt.Sprintf("Static member %s with instance id %s was fenced by member %s.", b.req.MemberID, *b.req.InstanceID, m.said.Member)
	case b.req.Epoch != joining:
		code, text = b.fence(m)
		return m, "", code, text
	case m.epoch != away && !m.classic() && m.said.Member == b.req.MemberID: // it missed the answer, or was fenced
		return m, "", 0, ""
	case m.epoch != away && !m.classic(): // of a classic member nobody hears that it leaves to come back
		return nil, "", perr.UnreleasedInstanceId, fmt.Sprintf("Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			b.req.MemberID, *b.req.InstanceID, m.said.Member)
	}
	if m.said.Member == b.req.MemberID {
		return m.replacedBy(b.req.MemberID), "", 0, "" // comes back under its own id
	}
	return m.replacedBy(b.req.MemberID), m.said.Member, 0, ""
}

func (b *beat) full() (perr.Code, string) {
	if limit := b.s.settings.ConsumerMaxSize; limit > 0 && len(b.g.members) >= int(limit) {
		return perr.GroupMaxSizeReached, fmt.Sprintf("The consumer group has reached its maximum capacity of %d members.", limit)
	}
	return 0, ""
}

// fence: a member is on the epoch it was told last. One that missed the last answer comes with the epoch before; it may
// go on if it has nothing that was taken from it since. One that was fenced has given up everything and joins again under
// its id.
func (b *beat) fence(m *consumer) (perr.Code, string) {
	switch {
	case b.req.Epoch == m.epoch, b.req.Epoch == joining, !fenceMemberEpochs:
		return 0, ""
	case b.req.Epoch > m.epoch:
		return perr.FencedMemberEpoch, fmt.Sprintf("The consumer group member has a greater member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin.", b.req.Epoch, m.epoch)
	case b.req.Epoch != m.previous || b.req.Owned == nil || !b.req.Owned.Within(m.assigned):
		return perr.FencedMemberEpoch, fmt.Sprintf("The consumer group member has a smaller member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin.", b.req.Epoch, m.epoch)
	}
	return 0, ""
}

// checkCommit: offsets of a member count only on its epoch, so that one whose partitions went to another does not
// write over what that one has done since.
func (g *consumers) checkCommit(member string, epoch int32) perr.Code {
	m := g.members[member]
	switch {
	case m == nil:
		return perr.UnknownMemberId
	case fenceMemberEpochs && m.epoch != epoch && m.classic():
		return perr.IllegalGeneration
	case fenceMemberEpochs && m.epoch != epoch:
		return perr.StaleMemberEpoch
	}
	return 0
}
