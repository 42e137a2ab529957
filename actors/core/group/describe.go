package group

import (
	"slices"
	"strings"

	"lockstep/actors/core/assignor"
)

// Kinds of groups (ListGroups v5).
const (
	classicKind  = "classic"
	consumerKind = "consumer"
)

func (s *State) describe(c DescribeGroup, now int64) outcome {
	var out outcome
	d := Description{Group: c.Group, State: Dead, Generation: -1}
	known := s.known(c.Group) && !s.isConsumers(c.Group)
	if known {
		d = s.current(c.Group, now).description(c.Group)
	}
	answer(&out, Described{Ref: c.Ref, Found: known, Consumers: s.isConsumers(c.Group), Description: d})
	return out
}

func (s *State) known(group string) bool { return s.groups[group] != nil || s.live[group] != nil }

func (l *live) description(group string) Description {
	d := Description{Group: group, State: l.phase, ProtocolType: l.protocolType, Generation: l.generation, Leader: l.leader}
	stable := l.phase == Stable
	if stable {
		d.Protocol = l.protocol
	}
	for _, m := range l.inOrder() {
		out := DescribedMember{MemberID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost}
		if stable {
			out.Metadata, out.Assignment = m.metadata(l.protocol), m.assignment
		}
		d.Members = append(d.Members, out)
	}
	return d
}

func (s *State) list(c ListGroups, now int64) outcome {
	listed := Listed{Ref: c.Ref}
	states, types := wanted(c.States), wanted(c.Types)
	for _, name := range s.names() {
		l := s.current(name, now)
		line := ListedGroup{Group: name, ProtocolType: l.protocolType, State: l.phase.String(), Type: classicKind}
		if s.isConsumers(name) {
			line.ProtocolType, line.State, line.Type = consumerType, s.groups[name].consumers.state(), consumerKind
		}
		if states(line.State) && types(line.Type) {
			listed.Groups = append(listed.Groups, line)
		}
	}
	var out outcome
	answer(&out, listed)
	return out
}

// isConsumers: the group is the consumer protocol's; one without members is, until a classic member joins.
func (s *State) isConsumers(group string) bool {
	c := s.groups[group]
	return c != nil && c.consumers != nil && s.live[group] == nil
}

// hasConsumers: it has members, too.
func (s *State) hasConsumers(group string) bool {
	return s.isConsumers(group) && len(s.groups[group].consumers.members) > 0
}

func (s *State) describeConsumers(c DescribeConsumers) outcome {
	var out outcome
	d := ConsumersDescribed{Ref: c.Ref, Found: s.isConsumers(c.Group)}
	if d.Found {
		g := s.groups[c.Group].consumers
		d.State, d.Epoch, d.TargetEpoch, d.Assignor = g.state(), g.epoch, g.targetEpoch, g.assignor
		if d.Assignor == "" {
			d.Assignor = assignor.Names[0]
		}
		for _, m := range g.inOrder() {
			d.Members = append(d.Members, DescribedConsumer{Said: m.said, Epoch: m.epoch, Assigned: m.assigned, Target: g.targets[m.said.Member]})
		}
	}
	answer(&out, d)
	return out
}

func (s *State) names() []string {
	var names []string
	for name := range s.groups {
		names = append(names, name)
	}
	for name := range s.live {
		if s.groups[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wanted makes the question whether a filter lets a value through, which is asked for every group: a filter may be long.
// It compares without case, because clients spell states in several ways (G08).
func wanted(filter []string) func(value string) bool {
	set := make(map[string]bool, min(len(filter), 1024))
	for _, f := range filter {
		set[strings.ToLower(f)] = true
	}
	return func(value string) bool { return len(set) == 0 || set[strings.ToLower(value)] }
}
