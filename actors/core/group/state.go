// Package group is consumer groups, one shard of them at a time: the classic protocol (join.go to session.go) and the
// consumer protocol of KIP-848 (beat.go, consumers.go, reconcile.go, target.go). They are one machine because a group is
// of one kind at a time, keeps its offsets when the kind changes, and is listed, deleted and expired either way.
package group

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"

	"lockstep/actors/core"
)

// Shards is the number of shards; it is part of the data on disk and never changes (D25).
const Shards = 16

// Shard is the shard a group belongs to, 0 to Shards-1.
func Shard(group string) int32 {
	h := fnv.New32a()
	h.Write([]byte(group))
	return int32(h.Sum32() % Shards)
}

// State has a hard part, groups, and a soft part, the rest.
type State struct {
	groups  map[string]*committed
	pending map[string]*heldOffsets      // positions of open transactions by group
	kept    int64                        // bytes of groups and their offsets, by bounds.go; follows from groups and pending
	configs map[string]map[string]string // settings that a group has of its own
	age     int64                        // ms that the shard has lived, as far as durable events say

	settings Settings
	live     map[string]*live
	beats    map[string]*beats // of groups of the consumer protocol
	held     int64             // bytes of live, by bounds.go; follows from it
	armed    int64             // mono ns of the earliest outstanding Tick; 0: none

	looked              bool // since Resume, at lookedAt (mono ns), when the shard had lived lookedAge ms
	lookedAt, lookedAge int64
}

// committed is what durable events say of a group.
type committed struct {
	generation   int32
	assigned     int32 // generation of members
	protocolType string
	protocol     string
	leader       string
	members      []MemberRecord
	emptyAge     int64      // of the shard, when the last member went
	consumers    *consumers // nil: a classic group
	offsets      map[position]OffsetRecord
}

type position struct {
	topic     string
	partition int32
}

// live is a group with somebody in it, or on the way in. Decide changes only copies.
type live struct {
	phase        Phase
	generation   int32
	protocolType string
	protocol     string
	leader       string
	members      map[string]*member
	statics      map[string]string // instance id to member id
	pending      map[string]int64  // ids handed out with MEMBER_ID_REQUIRED, and until when they are good
	joinBy       int64             // Preparing: when the round ends without the missing
	syncBy       int64             // when members that have not synced are removed; 0: all have
	initial      bool              // the first round of an empty group only ends by time
	newcomer     bool              // somebody joined during the initial delay
	delayLeft    int64             // how much longer it may be extended, ns
	size         int64             // bytes when it was put into the state
}

type member struct {
	id, clientID, clientHost string
	instance                 *string
	sessionMs, rebalanceMs   int64
	protocols                []Protocol
	assignment               []byte
	deadline                 int64 // session, mono ns
	fresh                    bool  // has not completed a round yet
	joining, syncing         bool  // an answer is owed to joinRef, syncRef
	joinRef, syncRef         core.RequestID
	synced                   bool // of this generation
	skips                    bool
}

const ms = int64(1_000_000)

// newMemberJoin is how long a newcomer's unanswered join keeps its place (Kafka: 5 minutes).
const newMemberJoin = 300_000 * ms

func newState() *State {
	return &State{configs: map[string]map[string]string{}, groups: map[string]*committed{}, pending: map[string]*heldOffsets{}, settings: DefaultSettings(), live: map[string]*live{}, beats: map[string]*beats{}}
}

func newCommitted() *committed { return &committed{offsets: map[position]OffsetRecord{}} }

func (l *live) clone() *live {
	c := *l
	c.members = make(map[string]*member, len(l.members))
	for id, m := range l.members {
		copied := *m
		c.members[id] = &copied
	}
	c.statics, c.pending = maps.Clone(l.statics), maps.Clone(l.pending)
	return &c
}

// current is a copy of what is live of a group. After a restart that is what the newest assignment
// says, with fresh sessions: members go on as after a coordinator move in Kafka. When a newer
// generation had begun, its number is spent and everybody has to join again.
func (s *State) current(group string, now int64) *live {
	if l := s.live[group]; l != nil {
		return l.clone()
	}
	l := &live{phase: Empty, members: map[string]*member{}, statics: map[string]string{}, pending: map[string]int64{}}
	c := s.groups[group]
	if c == nil {
		return l
	}
	l.generation, l.protocolType = c.generation, c.protocolType
	for _, r := range c.restored() {
		m := &member{id: r.Member, clientID: r.ClientID, clientHost: r.ClientHost, instance: r.Instance,
			sessionMs: r.SessionMs, rebalanceMs: r.RebalanceMs, assignment: r.Assignment, synced: true}
		for _, p := range r.Protocols {
			m.protocols = append(m.protocols, Protocol(p))
		}
		m.deadline = now + m.sessionMs*ms
		l.put(m)
	}
	switch {
	case len(l.members) == 0:
	case c.assigned == c.generation:
		l.phase, l.protocol, l.leader = Stable, c.protocol, c.leader
	default:
		l.phase, l.leader = Preparing, c.leader
		l.joinBy = now + l.rebalance()
	}
	return l
}

func (l *live) put(m *member) {
	if len(l.members) == 0 {
		l.leader = m.id
	}
	l.members[m.id] = m
	if m.instance != nil {
		l.statics[*m.instance] = m.id
	}
}

// inOrder lists members by id, so that decisions do not depend on map order.
func (l *live) inOrder() []*member {
	return slices.SortedFunc(maps.Values(l.members), func(a, b *member) int { return cmp.Compare(a.id, b.id) })
}

// rebalance is the longest time any member asked for, ns.
func (l *live) rebalance() int64 {
	longest := int64(0)
	for _, m := range l.members {
		longest = max(longest, m.rebalanceMs*ms)
	}
	return longest
}

// earliest is the first instant at which the group must be looked at, 0 if none.
func (l *live) earliest() int64 {
	first := int64(0)
	look := func(at int64) {
		if at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	if l.phase == Preparing {
		look(l.joinBy)
	}
	look(l.syncBy)
	for _, m := range l.members {
		if !m.sessionHeld() {
			look(m.deadline)
		}
	}
	for _, at := range l.pending {
		look(at)
	}
	return first
}

// sessionHeld: a member that waits for our answer cannot be expected to send heartbeats.
func (m *member) sessionHeld() bool { return m.joining && !m.fresh || m.syncing }

func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

func (c *committed) restored() []MemberRecord {
	if !keepMembersOnRestart {
		return nil
	}
	return c.members
}
