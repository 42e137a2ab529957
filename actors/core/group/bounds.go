package group

import (
	"fmt"

	"lockstep/protocol/perr"
)

// What clients say of themselves stays in memory while their groups live, and what they commit for good; both are
// bounded for a shard as a whole, or one client with a new name for every group would take what it likes (I61). Costs
// are bytes of the texts plus a flat sum for what Go keeps beside them.
const (
	memberCost = 1 << 10
	offsetCost = 128
	groupCost  = 512
)

func (m *member) bytes() int64 {
	n := memberCost + len(m.id) + len(m.clientID) + len(m.clientHost) + len(m.assignment)
	if m.instance != nil {
		n += len(*m.instance)
	}
	return int64(n) + protocolBytes(m.protocols)
}

func protocolBytes(list []Protocol) (n int64) {
	for _, p := range list {
		n += int64(len(p.Name) + len(p.Metadata))
	}
	return n
}

func (l *live) bytes() int64 {
	n := int64(groupCost)
	for _, m := range l.members {
		n += m.bytes()
	}
	for id := range l.pending {
		n += int64(offsetCost + len(id))
	}
	return n
}

func (o *OffsetRecord) bytes() int64 { return int64(offsetCost + len(o.Topic) + len(o.Metadata)) }

func groupBytes(name string) int64 { return int64(groupCost + len(name)) }

// tooMuch judges what a join would add. A member that says more than one may is told so for good; where the shard is
// full it may come back, because sessions end.
func (t *turn) tooMuch(c JoinGroup) (perr.Code, string) {
	if !boundGroups {
		return 0, ""
	}
	said := protocolBytes(c.Protocols)
	if said > int64(t.settings.MaxMemberBytes) {
		return perr.MessageTooLarge, fmt.Sprintf("the protocols of a member of group %s have %d bytes, lockstep.group.member.max.bytes is %d: subscribe to less, or raise it", c.Group, said, t.settings.MaxMemberBytes)
	}
	more := said + memberCost + int64(len(c.MemberID)+len(c.NewMemberID)+len(c.ClientID)+len(c.ClientHost))
	if m := t.members[c.MemberID]; m != nil {
		more -= m.bytes()
	}
	return t.noRoom(more)
}

// noRoom says whether the shard can hold so many bytes more.
func (t *turn) noRoom(more int64) (perr.Code, string) {
	fresh := int64(0)
	if !t.known {
		fresh = groupBytes(t.group)
	}
	limit := t.settings.MaxShardBytes
	if !boundGroups || more <= 0 || t.held+more <= limit && t.kept+fresh <= limit {
		return 0, ""
	}
	return perr.CoordinatorLoadInProgress, fmt.Sprintf("the coordinator of group %s holds %d bytes of members and %d of groups and offsets, lockstep.group.shard.max.bytes is %d: end unused members, or raise it",
		t.group, t.held, t.kept, limit)
}

// assigned judges a leader's assignments, which replace those before.
func (t *turn) tooMuchAssigned(given []Assignment) bool {
	more := int64(0)
	for _, a := range given {
		more += int64(len(a.Data))
	}
	for _, m := range t.members {
		more -= int64(len(m.assignment))
	}
	code, _ := t.noRoom(more)
	return code != 0
}
