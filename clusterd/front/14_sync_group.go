package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// SyncGroup v0–5. v3 brings static members, v4 is flexible, v5 states protocol type and name both ways.

func (f *Front) syncGroup(r *kmsg.SyncGroupRequest, from Client, slot *Slot) {
	refuse := func(code perr.Code) {
		resp := r.ResponseKind().(*kmsg.SyncGroupResponse)
		resp.ErrorCode, resp.MemberAssignment = int16(code), []byte{}
		slot.Reply(resp)
	}
	cmd := group.SyncGroup{Group: r.Group, Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID}
	if r.Version >= 5 {
		if r.ProtocolType == nil || r.Protocol == nil { // as Kafka: from here on both are to be said
			refuse(perr.InconsistentGroupProtocol)
			return
		}
		cmd.ProtocolType, cmd.Protocol = r.ProtocolType, r.Protocol
	}
	if !f.may(from, access.Read, access.Group, r.Group) {
		refuse(perr.GroupAuthorizationFailed)
		return
	}
	for _, a := range r.GroupAssignment {
		cmd.Assignments = append(cmd.Assignments, group.Assignment{MemberID: a.MemberID, Data: a.MemberAssignment})
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
		resp := r.ResponseKind().(*kmsg.SyncGroupResponse)
		resp.MemberAssignment = []byte{}
		if code == perr.None {
			s := reply.(group.Synced)
			code = s.Code
			resp.ProtocolType, resp.Protocol = text(s.ProtocolType), text(s.Protocol)
			if s.Assignment != nil {
				resp.MemberAssignment = s.Assignment
			}
		}
		resp.ErrorCode = int16(code)
		slot.Reply(resp)
	})
}
