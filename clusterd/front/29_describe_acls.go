package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// DescribeAcls v1–3. There is no authorizer, and that is an answer tools know: an empty list would say that somebody
// checks.

const noAuthorizer = "this cluster has no authorizer: everybody may do everything"

func (f *Front) describeACLs(r *kmsg.DescribeACLsRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DescribeACLsResponse)
	resp.ErrorCode, resp.ErrorMessage = int16(perr.SecurityDisabled), text(noAuthorizer)
	slot.Reply(resp)
}
