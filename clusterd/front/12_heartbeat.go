package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// Heartbeat v0–4. v3 brings static members, v4 is flexible.

func (f *Front) heartbeat(r *kmsg.HeartbeatRequest, from Client, slot *Slot) {
	if !f.may(from, access.Read, access.Group, r.Group) {
		resp := r.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = int16(perr.GroupAuthorizationFailed)
		slot.Reply(resp)
		return
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command {
		return group.Heartbeat{Ref: ref, Group: r.Group, Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID}
	}, func(reply any, code perr.Code) {
		if code == perr.None {
			code = reply.(group.Beaten).Code
		}
		resp := r.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = int16(code)
		slot.Reply(resp)
	})
}
