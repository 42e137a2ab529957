package front

import (
	"math"
	"net"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// JoinGroup v0–9. v1 brings the rebalance time-out, v4 MEMBER_ID_REQUIRED (compat-G03), v5 static
// members, v6 is flexible, v7 the protocol type, v8 a reason, v9 skipping the assignment.

func (f *Front) joinGroup(r *kmsg.JoinGroupRequest, from Client, slot *Slot) {
	if !f.may(from, access.Read, access.Group, r.Group) {
		slot.Reply(joined(r, group.Joined{Code: perr.GroupAuthorizationFailed, Generation: -1}))
		return
	}
	cmd := group.JoinGroup{
		Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID,
		ClientID: from.ID, ClientHost: clientHost(from),
		NeedsKnownID:       r.Version >= 4 && r.InstanceID == nil,
		SkipsAssignment:    r.Version >= 9,
		ProtocolType:       r.ProtocolType,
		SessionTimeoutMs:   int64(r.SessionTimeoutMillis),
		RebalanceTimeoutMs: int64(r.RebalanceTimeoutMillis),
		Image:              f.broker.Image(),
		Asker:              f.asker(from),
	}
	if r.Version == 0 {
		cmd.RebalanceTimeoutMs = cmd.SessionTimeoutMs
	}
	stem := from.ID
	if r.InstanceID != nil {
		stem = *r.InstanceID
	}
	cmd.NewMemberID = strings.ToValidUTF8(stem[:min(len(stem), maxStem)], "") + "-" + uuid.NewString()
	for _, p := range r.Protocols {
		cmd.Protocols = append(cmd.Protocols, group.Protocol{Name: p.Name, Metadata: p.Metadata})
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
		if code != perr.None {
			reply = group.Joined{Code: code, Generation: -1, MemberID: r.MemberID}
		}
		j := reply.(group.Joined)
		switch j.Code {
		case perr.MessageTooLarge, perr.GroupMaxSizeReached, perr.CoordinatorLoadInProgress:
			// The answer has no place for a text, and the remedy is the operator's.
			f.log.Warn("a member was not admitted", "group", r.Group, "client", from.ID, "address", from.Addr, "code", j.Code.Name(), "reason", j.Text)
		default: // the client's own affair
		}
		slot.Reply(joined(r, j))
	})
}

// maxStem is what is left for a name in the id of a member: others are told it, in every version.
const maxStem = math.MaxInt16 - len("-00000000-0000-0000-0000-000000000000")

func joined(r *kmsg.JoinGroupRequest, j group.Joined) *kmsg.JoinGroupResponse {
	resp := r.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.ErrorCode, resp.Generation = int16(j.Code), j.Generation
	resp.ProtocolType, resp.Protocol = text(j.ProtocolType), text(j.Protocol)
	if r.Version < 7 {
		resp.Protocol = &j.Protocol // not nullable yet
	}
	resp.LeaderID, resp.SkipAssignment, resp.MemberID = j.Leader, j.SkipAssignment, j.MemberID
	for _, m := range j.Members {
		out := kmsg.NewJoinGroupResponseMember()
		out.MemberID, out.InstanceID, out.ProtocolMetadata = m.MemberID, m.InstanceID, m.Metadata
		resp.Members = append(resp.Members, out)
	}
	return resp
}

// clientHost is the peer's address as Kafka writes it.
func clientHost(from Client) string {
	host, _, err := net.SplitHostPort(from.Addr)
	if err != nil {
		host = from.Addr
	}
	return "/" + host
}
