package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/protocol/perr"
)

// DescribeAcls v1–3: the bindings that one filter selects, by resource pattern. A null name, principal or host leaves it open.
// Without an authorizer that is said, which tools know: an empty list would say that somebody checks. v2 is flexible.

const noAuthorizer = "this cluster has no authorizer: everybody may do everything"

func (f *Front) describeACLs(r *kmsg.DescribeACLsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DescribeACLsResponse)
	filter := filterOf(kmsg.DeleteACLsRequestFilter{ResourceType: r.ResourceType, ResourceName: r.ResourceName, ResourcePatternType: r.ResourcePatternType,
		Principal: r.Principal, Host: r.Host, Operation: r.Operation, PermissionType: r.PermissionType})
	code, why := f.aclsRefused(from, access.Describe)
	if code == perr.None {
		if why = filter.Check(); why != "" {
			code = perr.InvalidRequest
		}
	}
	if code != perr.None {
		resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
		slot.Reply(resp)
		return
	}
	slot.Turn(func() (kmsg.Response, bool) {
		resp.Resources = resourcesOf(f.image().ACLs.Selected(filter))
		return resp, true
	})
}

// aclsRefused says why nobody, or not this client, may ask about ACLs.
func (f *Front) aclsRefused(from Client, op access.Operation) (perr.Code, string) {
	switch {
	case !f.access.On:
		return perr.SecurityDisabled, noAuthorizer
	case !f.mayCluster(from, op):
		return perr.ClusterAuthorizationFailed, perr.ClusterAuthorizationFailed.Message()
	default:
		return perr.None, ""
	}
}

func filterOf(f kmsg.DeleteACLsRequestFilter) access.Filter {
	return access.Filter{Type: access.ResourceType(f.ResourceType), Name: f.ResourceName, Kind: access.PatternType(f.ResourcePatternType),
		Principal: (*access.Principal)(f.Principal), Host: f.Host, Operation: access.Operation(f.Operation), Permission: access.Permission(f.PermissionType)}
}

// resourcesOf groups bindings, which are in order, by their pattern.
func resourcesOf(list []access.Binding) []kmsg.DescribeACLsResponseResource {
	resources := []kmsg.DescribeACLsResponseResource{}
	for i, b := range list {
		if i == 0 || list[i-1].Pattern != b.Pattern {
			r := kmsg.NewDescribeACLsResponseResource()
			r.ResourceType, r.ResourceName, r.ResourcePatternType = kmsg.ACLResourceType(b.Pattern.Type), b.Pattern.Name, kmsg.ACLResourcePatternType(b.Pattern.Kind)
			resources = append(resources, r)
		}
		acl := kmsg.NewDescribeACLsResponseResourceACL()
		acl.Principal, acl.Host, acl.Operation, acl.PermissionType = string(b.Principal), b.Host, kmsg.ACLOperation(b.Operation), kmsg.ACLPermissionType(b.Permission)
		last := &resources[len(resources)-1]
		last.ACLs = append(last.ACLs, acl)
	}
	return resources
}
