package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// DeleteAcls v1–3: each filter removes what it selects and is answered with that. v2 is flexible.

func (f *Front) deleteACLs(r *kmsg.DeleteACLsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DeleteACLsResponse)
	resp.Results = make([]kmsg.DeleteACLsResponseResult, len(r.Filters))
	refuse := func(code perr.Code, why *string) {
		for i := range resp.Results {
			resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = int16(code), why
		}
		slot.Reply(resp)
	}
	if code, why := f.aclsRefused(from, access.Alter); code != perr.None {
		refuse(code, text(why))
		return
	}
	cmd := controller.DeleteACLs{Filters: make([]access.Filter, len(r.Filters))}
	for i, filter := range r.Filters {
		cmd.Filters[i] = filterOf(filter)
	}
	f.cluster.DeleteACLs(cmd, func(reply any) {
		switch e := reply.(type) {
		case controller.ACLsDeleted:
			var removed []access.Binding
			for i, result := range e.Results {
				resp.Results[i] = matchedBy(result)
				removed = append(removed, result.Removed...)
			}
			f.whenACLs(removed, func() { slot.Reply(resp) })
		case shell.Failed:
			refuse(perr.RequestTimedOut, text(e.Text))
		default:
			panic("front: unknown answer to DeleteACLs")
		}
	})
}

func matchedBy(result controller.ACLsMatched) kmsg.DeleteACLsResponseResult {
	out := kmsg.NewDeleteACLsResponseResult()
	out.ErrorCode, out.ErrorMessage = int16(result.Code), text(result.Text)
	for _, b := range result.Removed {
		acl := kmsg.NewDeleteACLsResponseResultMatchingACL()
		acl.ResourceType, acl.ResourceName, acl.ResourcePatternType = kmsg.ACLResourceType(b.Pattern.Type), b.Pattern.Name, kmsg.ACLResourcePatternType(b.Pattern.Kind)
		acl.Principal, acl.Host, acl.Operation, acl.PermissionType = string(b.Principal), b.Host, kmsg.ACLOperation(b.Operation), kmsg.ACLPermissionType(b.Permission)
		out.MatchingACLs = append(out.MatchingACLs, acl)
	}
	return out
}
