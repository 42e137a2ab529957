package group

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Classic members of a group of the consumer protocol (KIP-848): they join, ask for their assignment and send heartbeats as
// ever, and the coordinator assigns to them as to everybody else. There are no rounds: a member is told to join again
// when there is something to give up or to get.

// joinAsClassic takes over what a member says and answers at once, with its epoch as the generation.
func (s *State) joinAsClassic(c JoinGroup, now core.Now) outcome {
	b := &beat{s: s, g: s.groups[c.Group].consumers, now: now, req: ConsumerBeat{Ref: c.Ref, Group: c.Group, MemberID: c.MemberID,
		InstanceID: c.InstanceID, RebalanceMs: c.RebalanceTimeoutMs, ClientID: c.ClientID, ClientHost: c.ClientHost, Image: c.Image, Asker: c.Asker}}
	refuse := func(code perr.Code, text string, id string) outcome {
		var out outcome
		answer(&out, Joined{Ref: c.Ref, Code: code, Text: text, Generation: -1, MemberID: id})
		return out
	}
	if code, text := b.checkClassic(c); code != 0 {
		return refuse(code, text, c.MemberID)
	}
	said, ok := readSubscription(c.Protocols[0].Metadata)
	if !ok {
		return refuse(perr.InconsistentGroupProtocol, fmt.Sprintf("the subscription of a member of group %s cannot be read", c.Group), c.MemberID)
	}
	m, old, id, code, text := b.classicMember(c)
	if code != 0 {
		return refuse(code, text, id)
	}
	b.req.Owned = byID(said.owned, c.Image.TopicNamed)
	_, after, code, text := b.step(m, old, id, func(r ConsumerRecord) ConsumerRecord {
		r.ClientID, r.ClientHost, r.Instance, r.Rack, r.RebalanceMs = c.ClientID, c.ClientHost, c.InstanceID, nil, c.RebalanceTimeoutMs
		r.speaks(c.Protocols, c.SessionTimeoutMs, said)
		return r
	})
	if code != 0 {
		return refuse(code, text, id)
	}
	b.hear(after, c.SessionTimeoutMs*ms, now.Mono+c.RebalanceTimeoutMs*ms) // until it has asked for its assignment
	answer(&b.out, Joined{Ref: c.Ref, Generation: after.epoch, ProtocolType: consumerType, Protocol: c.Protocols[0].Name, MemberID: id})
	return b.out
}

func (b *beat) checkClassic(c JoinGroup) (perr.Code, string) {
	settings := b.s.settings
	said := protocolBytes(c.Protocols)
	switch {
	case c.SessionTimeoutMs < settings.MinSessionMs || c.SessionTimeoutMs > settings.MaxSessionMs:
		return perr.InvalidSessionTimeout, fmt.Sprintf("session timeout %d ms is outside group.min.session.timeout.ms=%d to group.max.session.timeout.ms=%d",
			c.SessionTimeoutMs, settings.MinSessionMs, settings.MaxSessionMs)
	case c.ProtocolType != consumerType || len(c.Protocols) == 0 || !b.g.supports(c):
		return perr.InconsistentGroupProtocol, fmt.Sprintf("group %s has consumers and no protocol that all of its classic members and this one support", c.Group)
	case boundGroups && said > int64(settings.MaxMemberBytes):
		return perr.MessageTooLarge, fmt.Sprintf("the protocols of a member of group %s have %d bytes, lockstep.group.member.max.bytes is %d: subscribe to less, or raise it", c.Group, said, settings.MaxMemberBytes)
	}
	return 0, ""
}

// supports: one protocol must be left that all classic members know, or the group could not become a classic one.
func (g *consumers) supports(c JoinGroup) bool {
	return slices.ContainsFunc(c.Protocols, func(p Protocol) bool {
		for id, m := range g.members {
			if m.classic() && id != c.MemberID && !slices.ContainsFunc(m.said.Protocols, func(o ProtocolRecord) bool { return o.Name == p.Name }) {
				return false
			}
		}
		return true
	})
}

// classicMember finds who joins, as member does. With a code, id is what the client is told.
func (b *beat) classicMember(c JoinGroup) (m *consumer, old, id string, code perr.Code, text string) {
	if c.InstanceID != nil {
		owner := b.g.members[b.g.statics[*c.InstanceID]]
		switch {
		case owner != nil && c.MemberID == "":
			return owner.replacedBy(c.NewMemberID), owner.said.Member, c.NewMemberID, 0, ""
		case owner == nil && c.MemberID != "":
			return nil, "", c.MemberID, perr.UnknownMemberId, ""
		case owner != nil && owner.said.Member != c.MemberID:
			return nil, "", c.MemberID, perr.FencedInstanceId, ""
		}
	}
	if m = b.g.members[c.MemberID]; m != nil {
		return m, "", c.MemberID, 0, ""
	}
	code, text = b.full()
	switch id = c.MemberID; {
	case code != 0:
	case id == "" && c.NeedsKnownID:
		return nil, "", c.NewMemberID, perr.MemberIdRequired, ""
	case id == "":
		id = c.NewMemberID
	}
	return nil, "", id, code, text
}

// classicOf is the classic member that a request comes from.
func (g *consumers) classicOf(id string, instance *string, generation int32) (*consumer, perr.Code) {
	m := g.members[id]
	if instance != nil {
		switch owner := g.statics[*instance]; {
		case owner == "":
			return nil, perr.UnknownMemberId
		case owner != id:
			return nil, perr.FencedInstanceId
		}
	}
	switch {
	case m == nil || !m.classic():
		return nil, perr.UnknownMemberId
	case generation != m.epoch:
		return nil, perr.IllegalGeneration
	}
	return m, 0
}

// syncAsClassic tells a member what it has.
func (s *State) syncAsClassic(c SyncGroup, now core.Now) outcome {
	b := &beat{s: s, g: s.groups[c.Group].consumers, now: now, req: ConsumerBeat{Group: c.Group}}
	m, code := b.g.classicOf(c.MemberID, c.InstanceID, c.Generation)
	switch {
	case code != 0:
	case c.ProtocolType != nil && *c.ProtocolType != consumerType, c.Protocol != nil && *c.Protocol != m.said.Protocols[0].Name:
		code = perr.InconsistentGroupProtocol
	case m.epoch < b.g.epoch && m.stage != unrevoked:
		// One that is to give something up does so first, and joins again by itself.
		b.hear(*m, m.said.SessionMs*ms, b.now.Mono+m.said.RebalanceMs*ms)
		code = perr.RebalanceInProgress
	}
	if code != 0 {
		answer(&b.out, Synced{Ref: c.Ref, Code: code})
		return b.out
	}
	by := int64(0)
	if m.stage == unrevoked {
		by = b.now.Mono + m.said.RebalanceMs*ms
	}
	b.hear(*m, m.said.SessionMs*ms, by)
	answer(&b.out, Synced{Ref: c.Ref, ProtocolType: consumerType, Protocol: m.said.Protocols[0].Name, Assignment: b.g.written(m, m.assigned)})
	return b.out
}

// beatAsClassic keeps a session alive, and tells a member to join again when there is something to give up or to get.
func (s *State) beatAsClassic(c Heartbeat, now core.Now) outcome {
	b := &beat{s: s, g: s.groups[c.Group].consumers, now: now, req: ConsumerBeat{Group: c.Group}}
	m, code := b.g.classicOf(c.MemberID, c.InstanceID, c.Generation)
	if code != 0 {
		answer(&b.out, Beaten{Ref: c.Ref, Code: code})
		return b.out
	}
	if b.g.onlyClassic() && s.downgradable(b.g.inOrder()) { // the last member of the consumer protocol came back as a classic one
		events, at := s.downgrade(c.Group, b.g, b.g.inOrder(), now)
		b.out.Events = events
		s.arm(&b.out, at)
		answer(&b.out, Beaten{Ref: c.Ref, Code: perr.RebalanceInProgress})
		return b.out
	}
	by := int64(0)
	if k := s.beats[c.Group]; k != nil {
		by = k.rebalance[c.MemberID]
	}
	if m.epoch < b.g.epoch || m.stage == unrevoked || m.stage == unreleased && b.g.released(m) {
		code = perr.RebalanceInProgress
		if by == 0 {
			by = b.now.Mono + m.said.RebalanceMs*ms
		}
	}
	b.hear(*m, m.said.SessionMs*ms, by)
	answer(&b.out, Beaten{Ref: c.Ref, Code: code})
	return b.out
}

// onlyClassic is asked with every heartbeat, so it looks no further than it must.
func (g *consumers) onlyClassic() bool {
	for _, m := range g.members {
		if !m.classic() {
			return false
		}
	}
	return true
}

// released: nobody else has any more what a member waits for.
func (g *consumers) released(m *consumer) bool {
	for t, list := range g.targets[m.said.Member].Without(m.assigned) {
		for _, p := range list {
			if owner, held := g.owners[core.PartitionID{Topic: t, Index: p}]; held && owner != m.said.Member {
				return false
			}
		}
	}
	return true
}

// leaveAsClassic removes classic members, and by their instance ids any others.
func (s *State) leaveAsClassic(c LeaveGroup, now core.Now) outcome {
	g := s.groups[c.Group].consumers
	out := Left{Ref: c.Ref, Members: make([]LeftMember, len(c.Members))}
	var gone []string
	for i, who := range c.Members {
		out.Members[i] = LeftMember{MemberID: who.MemberID, InstanceID: who.InstanceID}
		id := who.MemberID
		if who.InstanceID != nil {
			owner := g.statics[*who.InstanceID]
			if id != "" && owner != "" && owner != id {
				out.Members[i].Code = perr.FencedInstanceId
				continue
			}
			id = owner
		}
		m := g.members[id]
		switch {
		case m == nil || who.InstanceID == nil && !m.classic():
			out.Members[i].Code = perr.UnknownMemberId
		case !slices.Contains(gone, id):
			gone = append(gone, id)
		}
	}
	var oc outcome
	if len(gone) > 0 {
		events, at := s.removeConsumers(c.Group, gone, now)
		oc.Events = events
		s.arm(&oc, at)
	}
	answer(&oc, out)
	return oc
}
