package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// DeleteGroups v0–3. v2 is flexible, v3 brings texts. A group with members is refused; an answer without an error
// means that the deletion is on a majority of the control volumes (compat-G04).
func (f *Front) deleteGroups(r *kmsg.DeleteGroupsRequest, from Client, slot *Slot) {
	r.Groups = once(r.Groups, itself)
	resp := r.ResponseKind().(*kmsg.DeleteGroupsResponse)
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(r.Groups))
	done := countdown(len(r.Groups), func() { slot.Reply(resp) })
	for i, id := range r.Groups {
		out := &resp.Groups[i]
		*out = kmsg.NewDeleteGroupsResponseGroup()
		out.Group = id
		if !f.may(from, access.Delete, access.Group, id) {
			out.ErrorCode, out.ErrorMessage = int16(perr.GroupAuthorizationFailed), text(denial(from, access.Delete, access.Group, id))
			done()
			continue
		}
		f.askGroup(id, func(ref core.RequestID) group.Command {
			return group.DeleteGroup{Ref: ref, Group: id}
		}, func(reply any, code perr.Code) {
			defer done()
			if code == perr.None {
				code = reply.(group.Deleted).Code
			}
			out.ErrorCode = int16(code)
			switch code {
			case perr.None:
			case perr.GroupIdNotFound:
				out.ErrorMessage = text("group " + id + " does not exist")
			case perr.NonEmptyGroup:
				out.ErrorMessage = text("group " + id + " has members; end them, or remove them, first")
			default:
				out.ErrorMessage = text(code.Message())
			}
		})
	}
}
