package group

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// leave ends a membership at once, or says of a static member that it will be back: its partitions wait for it until its
// session ends.
func (b *beat) leave() {
	m := b.g.members[b.req.MemberID]
	if b.req.InstanceID != nil {
		m = b.g.members[b.g.statics[*b.req.InstanceID]]
		if m != nil && m.said.Member != b.req.MemberID {
			b.refuse(perr.FencedInstanceId, fmt.Sprintf("Static member %s with instance id %s was fenced by member %s.", b.req.MemberID, *b.req.InstanceID, m.said.Member))
			return
		}
	}
	if m == nil {
		b.refuse(perr.UnknownMemberId, fmt.Sprintf("Member %s is not a member of group %s.", b.req.MemberID, b.req.Group))
		return
	}
	if b.req.Epoch == away {
		b.event(ConsumerReconciled{Group: b.req.Group, Member: m.said.Member, Epoch: away, Previous: m.epoch, Assigned: records(m.assigned)})
		seen := ConsumerHeard{Group: b.req.Group, Member: m.said.Member, Session: b.now.Mono + b.s.session(b.req.Group)}
		b.event(seen)
		b.s.arm(&b.out, seen.Session)
	} else {
		events, at := b.s.removeConsumers(b.req.Group, []string{m.said.Member}, b.now)
		b.out.Events = append(b.out.Events, events...)
		b.s.arm(&b.out, at)
	}
	answer(&b.out, ConsumerBeaten{Ref: b.req.Ref, MemberID: m.said.Member, Epoch: b.req.Epoch})
}

// removeConsumers takes members out. The targets are made anew by the next request of whoever stays. When only classic
// members stay, the group becomes a classic one, if it may: then at (mono ns) is when it must be looked at.
func (s *State) removeConsumers(group string, gone []string, now core.Now) (events []Event, at int64) {
	g := s.groups[group].consumers
	leaves := among(gone)
	for _, id := range gone {
		events = append(events, ConsumerRemoved{Group: group, Member: id})
	}
	left := slices.DeleteFunc(g.inOrder(), func(m *consumer) bool { return leaves(m.said.Member) })
	if s.downgradable(left) {
		more, at := s.downgrade(group, g, left, now)
		return append(events, more...), at
	}
	return append(events, GroupEpochRaised{Group: group, Epoch: g.epoch + 1, Topics: topicRecords(subscriptionsOf(left).rest(g.topics)), Age: s.ageAt(now)}), 0
}

// earliest is the first instant at which a member of a group must have been heard or have given up what it is to;
// 0 if none.
func (b *beats) earliest() int64 { return b.earliestAfter(0) }

// earliestAfter is the first such instant after another.
func (b *beats) earliestAfter(now int64) int64 {
	first := int64(0)
	for _, list := range []map[string]int64{b.session, b.rebalance} {
		for _, at := range list {
			if at > now && (first == 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

// overdue removes the members of a group that were not heard for a session, or did not give up in time what others wait
// for.
func (s *State) overdue(group string, now core.Now) (events []Event, at int64) {
	b := s.beats[group]
	var gone []string
	for _, id := range slices.Sorted(maps.Keys(b.session)) {
		at := b.rebalance[id]
		if b.session[id] <= now.Mono || at != 0 && at <= now.Mono {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil, 0
	}
	return s.removeConsumers(group, gone, now)
}

// resumeConsumers gives every member of a group that was not heard yet a fresh session.
func (s *State) resumeConsumers(group string, now core.Now, settings Settings) (events []Event, first int64) {
	session, _ := settings.of(s.configs[group])
	for _, m := range s.groups[group].consumers.inOrder() {
		if b := s.beats[group]; b != nil && b.session[m.said.Member] != 0 {
			continue
		}
		seen := ConsumerHeard{Group: group, Member: m.said.Member, Session: now.Mono + session*ms}
		if m.classic() {
			seen.Session = now.Mono + m.said.SessionMs*ms
		}
		at := seen.Session
		if m.stage == unrevoked {
			seen.Rebalance = now.Mono + m.said.RebalanceMs*ms
			at = min(at, seen.Rebalance)
		}
		if first == 0 || at < first {
			first = at
		}
		events = append(events, seen)
	}
	return events, first
}
