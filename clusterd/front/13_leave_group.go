package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// LeaveGroup v0–5. Up to v2 one member leaves and its code is the answer's; from v3 a list leaves and
// each has its own (compat-G07). v4 is flexible, v5 brings a reason.

func (f *Front) leaveGroup(r *kmsg.LeaveGroupRequest, from Client, slot *Slot) {
	if !f.may(from, access.Read, access.Group, r.Group) {
		resp := r.ResponseKind().(*kmsg.LeaveGroupResponse)
		resp.ErrorCode = int16(perr.GroupAuthorizationFailed)
		slot.Reply(resp)
		return
	}
	cmd := group.LeaveGroup{Group: r.Group}
	if r.Version < 3 {
		cmd.Members = []group.Leaver{{MemberID: r.MemberID}}
	}
	for _, m := range r.Members {
		cmd.Members = append(cmd.Members, group.Leaver{MemberID: m.MemberID, InstanceID: m.InstanceID})
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
		resp := r.ResponseKind().(*kmsg.LeaveGroupResponse)
		var left group.Left
		if code == perr.None {
			left = reply.(group.Left)
			code = left.Code
		}
		for _, m := range left.Members {
			if r.Version < 3 && code == perr.None {
				code = m.Code
			}
			out := kmsg.NewLeaveGroupResponseMember()
			out.MemberID, out.InstanceID, out.ErrorCode = m.MemberID, m.InstanceID, int16(m.Code)
			resp.Members = append(resp.Members, out)
		}
		resp.ErrorCode = int16(code)
		slot.Reply(resp)
	})
}
