package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// DescribeGroups v0–6. v3 brings authorized operations, v4 static members, v5 is flexible, v6 tells an
// unknown group by GROUP_ID_NOT_FOUND instead of the state "Dead".

func (f *Front) describeGroups(r *kmsg.DescribeGroupsRequest, from Client, slot *Slot) {
	r.Groups = once(r.Groups, itself)
	resp := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(r.Groups))
	done := countdown(len(r.Groups), func() { slot.Reply(resp) })
	for i, id := range r.Groups {
		out := &resp.Groups[i]
		*out = kmsg.NewDescribeGroupsResponseGroup()
		out.Group, out.AuthorizedOperations = id, noOperations
		if !f.may(from, access.Describe, access.Group, id) {
			out.ErrorCode, out.ErrorMessage = int16(perr.GroupAuthorizationFailed), text(denial(from, access.Describe, access.Group, id))
			done()
			continue
		}
		f.askGroup(id, func(ref core.RequestID) group.Command {
			return group.DescribeGroup{Ref: ref, Group: id}
		}, func(reply any, code perr.Code) {
			defer done()
			if code != perr.None {
				out.ErrorCode, out.ErrorMessage = int16(code), text(code.Message())
				return
			}
			describeGroup(out, reply.(group.Described), r.Version)
			out.AuthorizedOperations = f.operations(from, access.Group, id, r.IncludeAuthorizedOperations && out.ErrorCode == 0)
		})
	}
}

func describeGroup(out *kmsg.DescribeGroupsResponseGroup, d group.Described, version int16) {
	if !d.Found && version >= 6 {
		out.ErrorCode, out.ErrorMessage = int16(perr.GroupIdNotFound), text("group "+out.Group+" does not exist")
		if d.Consumers {
			out.ErrorMessage = text("group " + out.Group + " is one of the consumer protocol; ask ConsumerGroupDescribe")
		}
	}
	g := d.Description
	out.State, out.ProtocolType, out.Protocol = g.State.String(), g.ProtocolType, g.Protocol
	for _, m := range g.Members {
		at := kmsg.NewDescribeGroupsResponseGroupMember()
		at.MemberID, at.InstanceID, at.ClientID, at.ClientHost = m.MemberID, m.InstanceID, m.ClientID, m.ClientHost
		at.ProtocolMetadata, at.MemberAssignment = m.Metadata, m.Assignment
		out.Members = append(out.Members, at)
	}
}
