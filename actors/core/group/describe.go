package group

import (
	"slices"
	"strings"
)

// kind is the type of every group here (ListGroups v5).
const kind = "classic"

func (s *State) describe(c DescribeGroup, now int64) outcome {
	var out outcome
	d := Description{Group: c.Group, State: Dead, Generation: -1}
	known := s.known(c.Group)
	if known {
		d = s.current(c.Group, now).description(c.Group)
	}
	answer(&out, Described{Ref: c.Ref, Found: known, Description: d})
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
	for _, name := range s.names() {
		l := s.current(name, now)
		if wanted(c.States, l.phase.String()) && wanted(c.Types, kind) {
			listed.Groups = append(listed.Groups, ListedGroup{Group: name, ProtocolType: l.protocolType, State: l.phase, Type: kind})
		}
	}
	var out outcome
	answer(&out, listed)
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

// wanted compares without case: clients spell states in several ways (G08).
func wanted(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
}
